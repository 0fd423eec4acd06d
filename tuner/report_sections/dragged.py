"""What speculation drags along, where a second baseline was measured with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.analysis.dragged import Split
from tuner.words import times

_ABOUT = (
    "speedup = (settings alone) x (speculation alone). Settings alone: the second baseline over the plain one; below 1 "
    "the settings cost, whoever uses them. Speculation alone: the candidate over the second baseline. The second "
    "baseline was measured in one engine life."
)


@dataclass(frozen=True)
class SecondBaseline:
    """How an engine without speculation was made to run as under it.

    changes: what was changed, in words.  how: flags and variables.  others: what could not be reproduced.
    """

    changes: tuple[str, ...]
    how: str
    splits: tuple[Split, ...]
    others: tuple[str, ...] = ()


def dragged_section(found: Sequence[SecondBaseline]) -> Iterator[str]:
    """Yield the section; nothing where no second baseline was measured."""
    if not any(one.splits for one in found):
        return
    yield "## What speculation drags along"
    yield ""
    for one in (one for one in found if one.splits):
        yield f"A second baseline without speculation, with {', '.join(one.changes)} (`{one.how}`):"
        yield ""
        yield "| candidate | load point | speedup (95 %) | settings alone (95 %) | speculation alone (95 %) |"
        yield "|---|---|---:|---:|---:|"
        for split in one.splits:
            cells = [split.candidate.label, split.load_point.label]
            cells += [times(figure) for figure in (split.speedup, split.settings, split.speculation)]
            yield f"| {' | '.join(cells)} |"
        yield ""
        for line in one.others:
            yield f"- changed too, and not reproducible without speculation: `{line}`"
        if one.others:
            yield ""
    yield _ABOUT
    yield ""
