"""Draft and target timed apart, and the growth of verification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tuner.analysis.apart import RULES, Apart
from tuner.words import milliseconds, plain, times

_ABOUT = (
    "Each model served alone with the same engine arguments: geometric means over prompts, with 95 % intervals. The "
    "two models answer with different texts, so the ratio is not paired by prompt. A draft should be 5x, better 10x, "
    "faster than its target."
)
_VERIFICATION = (
    "n-gram proposes without a model, so its step over a plain step shows what verifying K tokens costs: TPOT x "
    "effective tokens per step / TPOT of the baseline. Its proposing costs little, not nothing, and what speculation "
    "makes the engine change is in it. Steps without a match (1 - coverage) are plain ones: a step with a "
    "draft grew by more."
)


def apart_section(apart: Apart, heads: Mapping[str, str] | None = None, *, asked: bool = False) -> Iterator[str]:
    """Yield the section; nothing where no draft was served alone.

    heads: draft -> why it cannot be served alone.
    asked: whether it was asked for; then n-gram or a head alone is reason enough.
    """
    if not apart.drafts and not apart.failed and not (asked and (apart.verification or heads)):
        return
    yield "## Draft and target apart"
    yield ""
    if apart.drafts:
        rules = [f"{rule:g}x faster" for rule in RULES]
        yield f"| draft | load point | draft TPOT | target TPOT | target / draft (95 %) | {' | '.join(rules)} |"
        yield "|---|---|---:|---:|---:|---|---|"
        for row in apart.drafts:
            cells = [
                row.draft,
                row.load_point.label,
                milliseconds(row.draft_tpot),
                milliseconds(row.target_tpot),
                times(row.ratio),
                *(rule_words(kept) for kept in row.rules),
            ]
            yield f"| {' | '.join(cells)} |"
        yield ""
        yield _ABOUT
        yield ""
    for draft, why in apart.failed.items():
        yield f"- {draft} could not be served alone: {why}"
        yield ""
    for draft, why in (heads or {}).items():
        yield f"- {draft} was not served alone: {why}"
        yield ""
    if apart.verification:
        yield from _verification(apart)


def _verification(apart: Apart) -> Iterator[str]:
    yield "| without a draft model | K | load point | step | over a plain step (95 %) | coverage |"
    yield "|---|---:|---|---:|---:|---:|"
    for row in apart.verification:
        cells = [
            row.candidate.draft_name,
            str(row.candidate.k),
            row.load_point.label,
            milliseconds(row.step),
            times(row.growth),
            plain(row.coverage),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield _VERIFICATION
    yield ""


def rule_words(kept: bool | None) -> str:
    """Return whether a rule is kept: "yes", "no", or "open" where the interval includes it."""
    return "open" if kept is None else "yes" if kept else "no"
