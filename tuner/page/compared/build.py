"""The comparison page's table of contents."""

from __future__ import annotations

from tuner.compare import Comparison, Read
from tuner.page.compared.answer import advice_blocks, answer_blocks, note_blocks
from tuner.page.compared.curves import curve_blocks
from tuner.page.compared.figures import apart_blocks, figure_blocks
from tuner.page.compared.given import Compared
from tuner.page.compared.setups import room_blocks, setup_blocks
from tuner.page.render import page_html
from tuner.page.rows import Row, sections
from tuner.page.view import Page
from tuner.page.words import Words
from tuner.version import tuner_version

_SECTIONS = (
    Row("answer", answer_blocks),
    Row("do", advice_blocks),
    Row("both", curve_blocks),
    Row("rows", figure_blocks),
    Row("apart", apart_blocks),
    Row("setups", setup_blocks),
    Row("room", room_blocks),
    Row("known", note_blocks),
)


def comparison_view(of: Compared) -> Page:
    """Return everything that stands on the page of a comparison."""
    words, found = of.words, of.found
    return Page(
        title=words("compared_title", target=of.new.side.config.target),
        subtitle=words("compared_of", old=found.old, new=found.new),
        source=words("source_comparison"),
        loads=tuple((load.key, load.label) for load in of.loads),
        sections=sections(_SECTIONS, of, words),
    )


def comparison_html(found: Comparison, old: Read, new: Read, words: Words) -> str:
    """Return a comparison as one HTML page that loads nothing.  old, new: the sweeps that `found` is of."""
    return page_html(comparison_view(Compared(found, old, new, words)), words, tuner_version())
