"""What noise hides: a difference that was not told, and lives of one engine that differ more than any K explains."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tuner.analysis.comparison import loads_at, speedup_estimate
from tuner.analysis.diagnoses.measured import Line, Measured, Point
from tuner.analysis.diagnoses.phrases import steps, where
from tuner.analysis.statistics import exp
from tuner.analysis.wording import effect_words
from tuner.records import Confidence, Diagnosis, Limit, Resolution, Verdict

_MORE = {
    Limit.REPEATS: ("its repeats differ", "protocol.max_repeats: {n} in the search space"),
    Limit.LIVES: ("engine lives differ", "protocol.max_lives: {n} in the search space"),
    Limit.PROMPTS: ("prompts differ", "an eval set of {n} prompts"),
    Limit.DRIFT: ("the baseline drifts", ""),
}


def too_noisy(seen: Measured) -> Iterator[Diagnosis]:
    """The answer is open because the interval of what came nearest includes 1."""
    for answer in seen.findings.answers:
        fine, near = answer.resolution, answer.runner_up
        if answer.verdict is not Verdict.INCONCLUSIVE or fine is None or near is None:
            continue
        pools = (seen.findings.finals, seen.findings.trials) if answer.lives > 1 else (seen.findings.trials,)
        trial = next((one for pool in pools for one in pool if one.candidate.key == near.key), None)
        estimate = speedup_estimate(trial, loads_at(trial, answer.temperature)) if trial else None
        interval = estimate.interval() if estimate else None
        if trial is None or estimate is None or interval is None or not interval[0] <= 0.0 <= interval[1]:
            continue
        lives = f"{trial.lives} engine lives" if trial.lives > 1 else "one engine life"
        cause, _ = _MORE[fine.limited_by]
        yield Diagnosis(
            code="noise_too_large",
            subject=near.label,
            what=f"Noise is larger than what {near.label} brings or costs: this sweep cannot tell.",
            evidence=(
                f"{exp(estimate.mean):.2f}x of no speculation, 95 % {exp(interval[0]):.2f}-{exp(interval[1]):.2f} "
                f"({estimate.n} prompts, {lives}); no effect below {effect_words(fine.smallest_effect)} could be seen",
                f"the width comes from {fine.limited_by.value} most: {cause}",
            ),
            confidence=Confidence.HIGH,
            next_step=_remedy(fine),
        )


def lives_differ(seen: Measured) -> Iterator[Diagnosis]:
    """A step of a smaller K takes clearly longer than one of a larger K: not K, but the engine's life makes the "
    "time."""
    for line in seen.lines:
        found = rough_lives(line)
        if found is None:
            continue
        small, large = found
        assert small.growth is not None and large.growth is not None
        yield Diagnosis(
            code="lives_differ",
            subject=line.subject,
            what=(
                f"The times of {line.subject} differ from one engine life to the next by more than K makes: single "
                "lives "
                f"do not rank its K."
            ),
            evidence=(
                f"at {where(small.load_point, line.loads)} a step of K = {small.k} takes {steps(small.growth)} and one "
                "of "
                f"K = {large.k} only {steps(large.growth)}, though it does more ({small.growth.n} prompts each, one "
                f"engine life each)",
            ),
            confidence=Confidence.HIGH,
            next_step=(
                "Let the finalists' fresh lives decide (protocol.lives: 4 or more); tuner noise MODEL says how many."
            ),
        )


def rough_lives(line: Line) -> tuple[Point, Point] | None:
    """Return the widest pair, smaller K first, whose steps are clearly in the wrong order; None where there is none.

    More tokens in a step are more work for draft and target, so its time cannot fall with K. Only single lives are
    looked at.
    """
    pairs = []
    for load in line.loads:
        points = [p for _, p in sorted(line.at(load).items()) if p.growth is not None and p.trial.lives == 1]
        for small, large in combinations(points, 2):
            longer, shorter = small.growth, large.growth
            if longer and shorter and (longer.low or 0.0) > (shorter.high or float("inf")):
                pairs.append(((longer.value or 0.0) / (shorter.value or 1.0), small, large))
    if not pairs:
        return None
    _, small, large = max(pairs, key=lambda pair: pair[0])
    return small, large


def _remedy(fine: Resolution) -> str:
    more = _MORE[fine.limited_by][1]
    if fine.needed is None or not more:
        return "Measure again on a quiet machine; tuner noise MODEL tells what it can resolve."
    return f"To settle {effect_words(fine.effect)}: {more.format(n=fine.needed)}."
