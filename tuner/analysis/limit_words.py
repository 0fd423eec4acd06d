"""What limits on latency leave to a verdict: how far speculation keeps to them, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.analysis.eligibility import Contender
from tuner.analysis.levels import Loads


def within_reach(able: Sequence[Contender], loads: Loads) -> Loads:
    """Return the load points up to the largest concurrency to which some candidate keeps to all limits.

    `loads` itself where there is none to be broken, () where nobody keeps to them at the lowest concurrency.
    """
    steps = sorted({load.concurrency for load in loads})
    for up_to in reversed(steps):
        low = tuple(load for load in loads if load.concurrency <= up_to)
        if any(not contender.over(low) for contender in able):
            return loads if up_to == steps[-1] else low
    return ()


def nobody_within(able: Sequence[Contender], loads: Loads) -> str:
    """Return that no candidate keeps to the limits even at the lowest concurrency, with the evidence of the first."""
    least = min(load.concurrency for load in loads)
    check = able[0].over(tuple(load for load in loads if load.concurrency == least))[0]
    return f"No speculative candidate keeps to the limits at concurrency {least}. {able[0].name}: {check.words}."


def limit_words(best: Contender, baseline: Contender, able: Sequence[Contender], loads: Loads) -> str:
    """Return sentences on limits that the baseline breaks, and on whatever decided near one; "" without limits.

    best: what is recommended.  able: candidates that may win.
    """
    sentences = []
    for step in sorted({load.concurrency for load in loads}):
        at = tuple(load for load in loads if load.concurrency == step)
        broken = baseline.over(at)
        if broken:
            sentences.append(_baseline_words(step, broken[0].words, [c for c in able if not c.over(at)], best))
    for contender in (best,) if best is baseline else (best, baseline):
        sentences += [
            f"{contender.name} at {check.load.label}: {check.words}; another measurement may decide otherwise."
            for check in contender.checks
            if check.near
        ]
    return "".join(f" {sentence}" for sentence in sentences)


def _baseline_words(step: int, evidence: str, within: Sequence[Contender], best: Contender) -> str:
    if not within:
        return f"No setting of this engine keeps to the limits at concurrency {step} (without speculation: {evidence})."
    who = best if best in within else within[0]
    return f"At concurrency {step} only speculation keeps to the limits ({who.name}; without: {evidence})."
