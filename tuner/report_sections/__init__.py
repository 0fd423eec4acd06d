"""Parts of the report page that have a file of their own."""
