"""Sections that are the Markdown report's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tuner.page.given import Given
from tuner.page.view import Block, Details, Markdown, Points
from tuner.records import SameOutput
from tuner.words import SAME_WORDS


def part(name: str, *, folded: str = "", headed: bool = False) -> Callable[[Given], Iterator[Block]]:
    """Return a function that yields a part of the report without its heading.

    folded: name of the sentence under which it is folded away, "" where it is open.  headed: whether it keeps its
    heading, as it may have several.
    """

    def blocks(given: Given) -> Iterator[Block]:
        lines = tuple(given.parts[name])
        if not lines:
            return
        shown = Markdown(lines if headed else lines[1:])
        yield Details(given.words(folded), (shown,)) if folded else shown

    return blocks


def output_blocks(given: Given) -> Iterator[Block]:
    """Yield how many candidates answer as the baseline does, and the table."""
    found = [load.sameness.verdict for trial in given.findings.trials for load in trial.loads if load.sameness]
    if found:
        counts = Counter(found)
        yield Points(
            tuple(
                given.words("outputs_count", verdict=SAME_WORDS[verdict], n=counts[verdict], of=len(found))
                for verdict in SameOutput
                if counts[verdict]
            )
        )
    yield from part("sameness", folded="outputs_table")(given)


def explained_blocks(given: Given) -> Iterator[Block]:
    """Yield what was measured to explain the answer, and what was not measured."""
    if given.explained:
        yield Markdown(tuple(given.explained))
