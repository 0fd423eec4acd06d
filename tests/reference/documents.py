"""The project's Markdown as tests look at it: links, headings, lines of code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
_PARSER = MarkdownIt("commonmark").enable("table")


def pages() -> list[Path]:
    """Return every Markdown file of the project."""
    below = (path for folder in ("docs", "tests", "tuner") for path in (ROOT / folder).rglob("*.md"))
    return sorted([*ROOT.glob("*.md"), *(path for path in below if "golden" not in path.parts)])


def notebooks() -> list[Path]:
    """Return every notebook."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def text_of(path: Path) -> str:
    """Return the text of a page, or of the words between a notebook's cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    words = (cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return "\n\n".join("".join(lines) for lines in words)


def links(text: str) -> list[str]:
    """Return where links and pictures point to."""
    found = (token.attrGet("href") or token.attrGet("src") for token in _tokens(text))
    return [str(one) for one in found if one]


def anchors(text: str) -> set[str]:
    """Return the names by which GitHub lets a link point to a heading."""
    found: set[str] = set()
    tokens = _PARSER.parse(text)
    for before, inline in pairwise(tokens):
        if before.type == "heading_open":
            words = "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            times = sum(one == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", one) is not None for one in found)
            found.add(f"{slug}-{times}" if times else slug)
    return found


def shown_lines(text: str) -> list[str]:
    """Return the lines of blocks of code, one that goes on behind a backslash as a whole."""
    blocks = (token.content.replace("\\\n", " ") for token in _PARSER.parse(text) if token.type == "fence")
    return [line for block in blocks for line in block.splitlines()]


def _tokens(text: str) -> Iterator[Token]:
    for token in _PARSER.parse(text):
        yield from token.children or []
