"""Whether a trial's answers are its baseline's own.

At temperature 0, by token id. An answer is equal if it equals any of the baseline's own answers to that prompt, from
any repeat of any of its lives or from its reference pass: a baseline that runs several requests at a time may differ
from itself. What is not equal is judged by where it first parts from the nearest of the baseline's answers, and by the
gap there: the baseline's own log probability of its first choice minus that of its second, from the reference pass.

Above temperature 0 nothing but the distribution can be compared: see tuner.analysis.distribution.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tuner.analysis.distribution import ERROR_RATE, distribution_groups, first_tokens, prefix_test
from tuner.analysis.divergence import Arm, against_baseline, against_itself, reference_answers, timed_answers
from tuner.analysis.statistics import fisher_more
from tuner.records import Divergence, LoadPoint, Losslessness, SameOutput, Trial

SIGNIFICANCE = 0.01
MAX_DIVERGENCES = 20
_EPSILON = 1e-9  # Shares are sums of fractions.


def sameness(trial: Trial, baseline_lives: Sequence[Trial], load_point: LoadPoint) -> Losslessness:
    """Compare a trial's outputs at one load point with its baseline's.

    baseline_lives: lives of its own baseline, in any number and order. Answers count from valid repeats only.
    At temperature 0 the verdict is IDENTICAL if every answer is equal; NEAR_TIES if every other one parts at a gap of
    at most NEAR_TIE_NATS, or if the baseline differs from itself as much; else DIFFERS (see `_verdict`); NOT_COMPARED
    without token ids or without a baseline. Above, DIFFERS or NO_DIFFERENCE_FOUND where first tokens were sampled.
    """
    if load_point.sampling.temperature > 0.0:
        return _sampled(trial, baseline_lives, load_point)
    own, base = timed_answers([trial], load_point), timed_answers(baseline_lives, load_point)
    references = reference_answers(baseline_lives, load_point)
    arm, itself = against_baseline(own, base, references), against_itself(base, references)
    if not own or not base or not arm.compared:
        whose = "the trial" if not own else "its baseline" if not base else "both to any one prompt"
        return _not_compared(f"there are no answers with token ids of {whose} at this load point")
    verdict, why = _verdict(arm, itself, load_point.concurrency)
    return Losslessness(
        verdict=verdict,
        equal=arm.equal,
        compared=arm.compared,
        self_equal=itself.equal,
        self_compared=itself.compared,
        divergences=_most_telling(arm.unequal),
        note="; ".join(part for part in (_shares(arm, itself), why, _unknown(arm)) if part),
    )


def _verdict(arm: Arm, itself: Arm, concurrency: int) -> tuple[SameOutput, str]:
    """Return the verdict and its reason.

    Unexplained is an answer that parts where there is no near-tie, or where the gap is not known. Whether there are
    more of them than the baseline has against itself is a one-sided Fisher test at SIGNIFICANCE. Its unit is the
    prompt, as the repeats of one prompt are not independent: a prompt counts with the share of its answers that are
    unexplained, and the sums are rounded in the trial's favour. A baseline with a single answer per prompt is taken to
    equal itself at concurrency 1, where a request has no batch to depend on. A clear preference is no matter of
    numbers: where the baseline never parts from itself so clearly, one answer is enough.
    """
    if not arm.unequal:
        return SameOutput.IDENTICAL, ""
    if not arm.unexplained:
        largest = max(divergence.gap or 0.0 for divergence in arm.unequal)
        return SameOutput.NEAR_TIES, f"the others part where its two best tokens are at most {largest:.2g} nats apart"
    if arm.clear and not itself.clear:
        worst = max(arm.clear, key=lambda divergence: divergence.gap or 0.0)
        where = f"token {worst.position + 1} of {worst.prompt_id}"
        return SameOutput.DIFFERS, f"at {where} it prefers its own token by {worst.gap:.2g} nats, which is no rounding"
    if not itself.compared and concurrency > 1:
        return SameOutput.NOT_COMPARED, "how far it differs from itself is not known from one repeat"
    p = fisher_more(
        hits=math.floor(arm.unexplained_prompts + _EPSILON),
        of=len(arm.counts),
        other_hits=math.ceil(itself.unexplained_prompts - _EPSILON),
        other_of=len(itself.counts) or len(arm.counts),
    )
    if p < SIGNIFICANCE:
        return SameOutput.DIFFERS, f"more than its own differences explain (p = {p:.2g})"
    return SameOutput.UNEXPLAINED, f"not clearly more than it differs from itself (p = {p:.2g})"


def _shares(arm: Arm, itself: Arm) -> str:
    own = f"{itself.equal} of {itself.compared}" if itself.compared else "not known"
    return f"{arm.equal} of {arm.compared} answers have the baseline's token ids (its own among themselves: {own})"


def _unknown(arm: Arm) -> str:
    unknown = sum(divergence.gap is None for divergence in arm.unequal)
    return f"its probabilities are not known where {unknown} of them part" if unknown else ""


def _most_telling(divergences: Iterable[Divergence]) -> tuple[Divergence, ...]:
    """Return each place once, the largest gaps first, unknown ones last."""
    unique = sorted(set(divergences), key=lambda d: (-(-1.0 if d.gap is None else d.gap), d.prompt_id, d.position))
    return tuple(unique[:MAX_DIVERGENCES])


def _not_compared(note: str) -> Losslessness:
    return Losslessness(SameOutput.NOT_COMPARED, 0, 0, 0, 0, note=note)


def _sampled(trial: Trial, lives: Sequence[Trial], load_point: LoadPoint) -> Losslessness:
    """Return the result of the test on sampled first tokens; one result holds for all load points of a group."""
    groups = distribution_groups([load.load_point for load in trial.record.loads])
    keys = {load.key for group in groups if load_point.key in {x.key for x in group} for load in group}
    own = first_tokens(trial.samples, keys)
    base = next((found for found in (first_tokens(life.samples, keys) for life in lives) if found), {})
    pairs = {prompt: (own[prompt], base[prompt]) for prompt in own if prompt in base}
    if not pairs:
        return _not_compared("sampled answers differ by chance; --check-distribution compares their distribution")
    p = min(1.0, len(groups) * prefix_test(pairs))
    answers = sum(len(mine) for mine, _ in pairs.values())
    return Losslessness(
        verdict=SameOutput.DIFFERS if p < ERROR_RATE else SameOutput.NO_DIFFERENCE_FOUND,
        equal=0,
        compared=0,
        self_equal=0,
        self_compared=0,
        p_value=p,
        note=f"first tokens of {answers} sampled answers to {len(pairs)} prompts against the baseline's: p = {p:.2g}",
    )
