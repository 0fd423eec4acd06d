"""The history page's table of contents."""

from __future__ import annotations

from tuner.page.past.charts import length_blocks, speedup_blocks, tpot_blocks
from tuner.page.past.given import Over
from tuner.page.past.sweeps import broken_blocks, now_blocks, sweep_blocks
from tuner.page.render import page_html
from tuner.page.rows import Row, sections
from tuner.page.view import Page
from tuner.page.words import Words
from tuner.registry import History
from tuner.version import tuner_version

_SECTIONS = (
    Row("answer", now_blocks),
    Row("speedups", speedup_blocks),
    Row("lengths", length_blocks),
    Row("tpots", tpot_blocks),
    Row("sweeps", sweep_blocks),
    Row("broken", broken_blocks),
)


def history_view(of: Over) -> Page:
    """Return everything that stands on the page of a target; no section where no sweep can be read."""
    words, past = of.words, of.found.past
    days = [f"{one.entry.kept_at:%Y-%m-%d}" for one in past]
    subtitle = ""
    if days:
        name = "history_of" if len(days) > 1 else "history_of_one"
        subtitle = words(name, n=len(days), first=days[0], last=days[-1])
    return Page(
        title=words("history_title", target=of.found.target),
        subtitle=subtitle,
        source=words("source_history"),
        loads=(),
        sections=sections(_SECTIONS if past else _SECTIONS[-1:], of, words),
    )


def history_html(found: History, words: Words) -> str:
    """Return a target's sweeps as one HTML page that loads nothing."""
    return page_html(history_view(Over(found, words)), words, tuner_version())
