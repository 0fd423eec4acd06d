"""Whether the answers are the target's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tuner.records import Findings, Losslessness, SameOutput
from tuner.words import SAME_WORDS, full_label

_ABOUT = (
    "Answers at temperature 0 are compared by token id with the baseline's own, and the baseline's with one another. "
    "Where answers part at a near-tie, rounding decides and either token is the target's choice. How near is said in "
    "nats, the natural logarithm of how many times as likely one token is as the other: 0 nats is a tie."
)

_COUNTED = re.compile(r"\d+ of \d+(?= answers have the baseline's token ids)")


def sameness_section(findings: Findings, names: Sequence[str]) -> Iterator[str]:
    """Yield the section; nothing where nothing could be compared.  names: arguments that tell candidates apart."""
    rows = [
        (full_label(trial.candidate, names), load.load_point.label, load.sameness)
        for trial in findings.trials
        for load in trial.loads
        if load.sameness is not None and load.sameness.verdict is not SameOutput.NOT_COMPARED
    ]
    if not rows:
        return
    yield "## Same output"
    yield ""
    yield _ABOUT
    yield ""
    yield "| candidate | load point | outputs | equal answers | baseline and itself | evidence |"
    yield "|---|---|---|---:|---:|---|"
    for name, label, same in rows:
        cells = [name, label, SAME_WORDS[same.verdict], *_counts(same), _evidence(same)]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _counts(same: Losslessness) -> tuple[str, str]:
    equal = f"{same.equal} of {same.compared}" if same.compared else ""
    itself = f"{same.self_equal} of {same.self_compared}" if same.self_compared else ""
    return equal, itself


def _evidence(same: Losslessness) -> str:
    """Return the note without what the columns beside it say in figures already."""
    counted, _, more = same.note.partition("; ")
    return more if (found := _COUNTED.match(counted)) and found[0] == f"{same.equal} of {same.compared}" else same.note
