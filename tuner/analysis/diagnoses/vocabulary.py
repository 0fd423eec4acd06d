"""Next to nothing is accepted: draft and target do not speak of the same tokens."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.diagnoses.measured import Line, Measured, Point
from tuner.analysis.diagnoses.phrases import number, percent, where
from tuner.records import Confidence, Diagnosis, Figure, Notice

NEAR_ZERO = 0.05
"""Share of first tokens below which two models hardly speak one language. Drafts of another vocabulary of the same size
hit by chance alone; the weakest draft with the right one on the recorded runs has 65 %."""

SEEN_BEFORE = frozenset(
    {
        "different_vocabulary",
        "different_tokenizer_same_size",
        "little_shared_vocabulary",
        "head_for_another_target",
        "other_kind_of_head",
    }
)
"""Codes of notices (tuner.preflight) that foretell it."""


def other_vocabulary(seen: Measured) -> Iterator[Diagnosis]:
    """Next to nothing is accepted at every position: the draft's token numbers mean other words."""
    for line in seen.lines:
        if line.draft is None or not near_zero(line) or seen.wins(line):
            continue
        told = [notice for notice in seen.notices if _tells(notice, line)]
        head = line.method != "draft_model"
        why = "a head of another target, or a broken one" if head else "its vocabulary or tokenizer is another one"
        point, share = max(((p, _first(p)) for p in line.points()), key=lambda one: one[1].value or 0.0)
        sure = Confidence.MEDIUM if line.temperature == 0 else Confidence.LOW
        yield Diagnosis(
            code="head_of_another_target" if head else "vocabulary_mismatch",
            subject=line.subject,
            what=f"What {line.subject} proposes is accepted next to never, at any position: {why}.",
            evidence=(
                f"at most {percent(share.value or 0.0)} of its first tokens are accepted ({number(share)}, "
                f"{where(point.load_point, line.loads)}, K = {point.k})",
                *(f"before the start, of {notice.subject}: {notice.what}" for notice in told),
            ),
            confidence=Confidence.HIGH if told else sure,
            next_step=(
                "Take a head that was trained for exactly this target."
                if head
                else "tuner preflight compares both token maps; take a draft of the target's own family."
            ),
        )


def near_zero(line: Line) -> bool:
    """Whether the line's first tokens are accepted next to never, at each of its load points."""
    points = line.points()
    firsts = [_first(point).value for point in points if point.load.acceptance_by_position]
    return len(firsts) == len(points) > 0 and all(value is not None and value < NEAR_ZERO for value in firsts)


def _first(point: Point) -> Figure:
    return point.load.acceptance_by_position[0]


def _tells(notice: Notice, line: Line) -> bool:
    """Whether files showed it of this draft before the start."""
    return notice.code in SEEN_BEFORE and notice.subject in (line.first.draft_name, line.draft)
