"""The report as one HTML page that needs nothing else, and as Markdown for a pull request.

Records and findings in, view data out (`page_view`, pure), then a template. Charts are SVG that the template draws from
view data: their colours follow the theme, their words are text, and they print as sharp as the page.
"""
