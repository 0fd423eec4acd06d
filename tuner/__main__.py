"""`python -m tuner` is the same as `tuner`."""

from tuner.cli import main

main()
