"""Write the reference pages anew from the code: `python -m tests.reference`."""

from __future__ import annotations

from tests.reference.pages import DIRECTORY, PAGES

if __name__ == "__main__":
    DIRECTORY.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (DIRECTORY / name).write_text(page(), encoding="utf-8")
