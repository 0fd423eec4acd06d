"""A comparison as Markdown: what a pull request gets as a comment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tuner.compare.comparison import Comparison
from tuner.compare.words import COLUMNS, cells, confidence_words, headline, notes, open_words, sentence, taken_apart

MARKER = "<!-- tuner compare -->"
"""First line, by which a bot finds the comment that it wrote before."""


def markdown(found: Comparison) -> str:
    """Return the whole comparison, ending with a line break."""
    lines = [
        MARKER,
        f"## Speculative decoding: {headline(found)}",
        "",
        _escaped(sentence(found)),
        "",
        _escaped(found.attribution.words),
        "",
        *_sweeps(found),
        *_table(("temperature", "OLD recommends", "NEW recommends"), _best(found)),
        "",
        *_table(COLUMNS, (cells(row) for row in found.rows)),
        "",
        *_list("The speedup taken apart (NEW / OLD)", taken_apart(found)),
        *_list("Open", open_words(found)),
        *_list("What changed", [change.words for change in found.attribution.changes]),
        *_list("Not compared", found.not_compared),
        *_list("Notes", notes(found)),
        f"{confidence_words(found)} OLD: {_escaped(found.old)}, NEW: {_escaped(found.new)}.",
    ]
    return "\n".join(lines) + "\n"


def _best(found: Comparison) -> Iterable[Sequence[str]]:
    return ((f"{best.temperature:g}", best.old, best.new) for best in found.best)


def _sweeps(found: Comparison) -> list[str]:
    sweeps = found.attribution.sweeps
    if not sweeps:
        return []
    return ["What would tell:", "", *(f"{n}. {_escaped(sweep)}" for n, sweep in enumerate(sweeps, start=1)), ""]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(columns), _row(["---"] * len(columns)), *(_row([_escaped(cell) for cell in row]) for row in rows)]


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _list(title: str, lines: Sequence[str]) -> list[str]:
    return [f"**{title}**", "", *(f"- {_escaped(line)}" for line in lines), ""] if lines else []


def _escaped(text: str) -> str:
    """Return a text that names from outside (paths, drafts) cannot break a table or a page with."""
    for character in "\\|<":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())
