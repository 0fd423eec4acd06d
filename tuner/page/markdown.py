"""The Markdown report's tables and lists as HTML. The only door to markdown-it.

Only the marks that the report itself uses are read. HTML, links and images are not, so that a log line or a model's
name can be nothing but text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_READ = ("table", "list", "heading", "backticks", "emphasis", "escape")
_DEEPER = 1
"""Levels by which headings go down: the page has titles of its own."""


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable(list(_READ))


def markdown_html(lines: Sequence[str], table_name: str) -> str:
    """Return escaped HTML.  table_name: said of a table that scrolls sideways."""
    reader = _reader()
    tokens = reader.parse("\n".join(lines))
    for token in tokens:
        _adapt(token)
    html = str(reader.renderer.render(tokens, reader.options, {}))
    opened = f'<div class="scroll" tabindex="0" role="group" aria-label="{table_name}"><table>'
    return html.replace("<table>", opened).replace("</table>", "</table></div>")


def _adapt(token: Token) -> None:
    """Replace inline styles, which the page's policy refuses, and make heads say what they are the head of."""
    if token.type in ("th_open", "td_open"):
        style = str(token.attrs.pop("style", ""))
        if "right" in style:
            token.attrSet("class", "n")
        if token.type == "th_open":
            token.attrSet("scope", "col")
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1]) + _DEEPER, 6)}"
