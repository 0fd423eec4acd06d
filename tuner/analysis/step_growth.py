"""How many plain steps one speculating step takes, at K that were measured and at K that were not. Pure.

The growth of a step is t(c, K) over the TPOT of no speculation at the same concurrency c, with t(c, K) = TPOT(c, K) x
effective tokens per step. As the speedup is TPOT without over TPOT with speculation, it is tokens per step / speedup.
A step of K tokens is K passes of the draft and one verification, which takes at least a plain step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise

from tuner.analysis.apart import DraftApart, Verification
from tuner.records import Figure, LoadFigures

UNIT = "plain steps"
GROWTH = "effective tokens per step / speedup"
ALONE = "TPOT of the draft served alone / TPOT of no speculation"
FROM_NGRAM = "(step - step of n-gram at the same K) / K, over the TPOT of no speculation"
FULL_COVERAGE = 0.95
"""Share of the steps that must have had a draft: n-gram's others are plain ones, whose time says nothing of K."""
_WITHIN_NGRAM = "at least: n-gram's own cost counts as verification"


class Basis(StrEnum):
    """Where a step's growth at one K comes from.

    INTERPOLATED: linear between the measured K beside it.  EXTRAPOLATED: on the line through the two nearest measured
    K, never below a plain step.  DRAFT_TIME: moved by the draft's own time per token from a measured K or from a slower
    draft.  AT_LEAST, AT_MOST: that of the only measured K, below or above this one: a longer step takes no less time.
    """

    MEASURED = "measured"
    INTERPOLATED = "interpolated"
    EXTRAPOLATED = "extrapolated"
    DRAFT_TIME = "draft time"
    AT_LEAST = "at least"
    AT_MOST = "at most"


BOUNDS = frozenset({Basis.AT_LEAST, Basis.AT_MOST})


def measured_growth(load: LoadFigures) -> Figure | None:
    """Return the growth of a step from the figures of one speculating candidate.

    None without speedup or counters, or where fewer than FULL_COVERAGE of the steps had a draft.
    Its interval is the speedup's: over prompts and repeats. That contains what acceptance differs by from prompt to
    prompt, which the time of a step does not, so it is on the wide side.
    """
    speedup, tokens = load.figures.get("speedup_tpot"), load.figures["effective_tokens_per_step"]
    covered = (load.figures["draft_coverage"].value or 0.0) >= FULL_COVERAGE
    if speedup is None or not speedup.value or not tokens.value or not covered:
        return None
    return Figure(
        value=tokens.value / speedup.value,
        unit=UNIT,
        estimator=GROWTH,
        n=speedup.n,
        n_of=speedup.n_of,
        low=tokens.value / speedup.high if speedup.high else None,
        high=tokens.value / speedup.low if speedup.low else None,
        note=speedup.note,
    )


def step_time(load: LoadFigures) -> float | None:
    """Return what a step of a candidate took, seconds: its own TPOT x its tokens per step; None without counters."""
    own, tokens = load.figures["tpot_s"].value, load.figures["effective_tokens_per_step"].value
    return None if own is None or tokens is None else own * tokens


def plain_time(load: LoadFigures) -> float | None:
    """Return the TPOT of no speculation that a candidate's ratios refer to, seconds: its own TPOT x its speedup.

    Where the baseline has several lives, that is their geometric mean and none of theirs: a ratio to all of them times
    the seconds of one would be the time of nothing that ran.
    """
    own, speedup = load.figures["tpot_s"].value, load.figures.get("speedup_tpot")
    return None if own is None or speedup is None or speedup.value is None else own * speedup.value


def growth_at(k: int, measured: Mapping[int, Figure], draft_time: Figure | None) -> tuple[Figure, Basis]:
    """Return the growth of a step of `k` tokens, and where it comes from.

    measured: by K, at least one.  draft_time: the draft's passes for one token, in plain steps; None if not known.
    """
    if k in measured:
        return measured[k], Basis.MEASURED
    for low, high in pairwise(sorted(measured)):
        if low < k < high:
            share = (k - low) / (high - low)
            return _weighted([(1 - share, measured[low]), (share, measured[high])]), Basis.INTERPOLATED
    ks = sorted(measured)
    nearest = min(ks, key=lambda known: abs(known - k))
    if len(ks) > 1:
        other = ks[-2] if nearest == ks[-1] else ks[1]
        share = (k - nearest) / (other - nearest)
        line = _weighted([(1 - share, measured[nearest]), (share, measured[other])])
        return _at_least_plain(line), Basis.EXTRAPOLATED
    if draft_time is not None:
        return _at_least_plain(_weighted([(1, measured[nearest]), (k - nearest, draft_time)])), Basis.DRAFT_TIME
    return measured[nearest], Basis.AT_LEAST if nearest < k else Basis.AT_MOST


def with_draft_speed(growth: Figure, k: int, draft_time: Figure, factor: float) -> Figure:
    """Return the growth with a draft `factor` times as fast: k passes shrink, verification stays.

    Drafting counts with no more than what the step takes beyond a plain one, as verification takes at least that.
    """

    def at(step: float, of_draft: float) -> float:
        drafting = min(k * of_draft, max(step - 1.0, 0.0))
        return step - drafting * (1 - 1 / factor)

    low, high = growth.low, growth.high
    # A draft that takes more of the step leaves less of it when it gets faster, and more when it gets slower.
    lows, highs = (draft_time.high, draft_time.low) if factor >= 1 else (draft_time.low, draft_time.high)
    return replace(
        growth,
        value=at(growth.value or 0.0, draft_time.value or 0.0),
        low=None if low is None or lows is None else at(low, lows),
        high=None if high is None or highs is None else at(high, highs),
    )


def draft_time(
    measured: Mapping[int, Figure], alone: DraftApart | None, ngram: Sequence[Verification]
) -> Figure | None:
    """Return what the draft takes for one token, in plain steps; None where nothing tells it from verification.

    alone: the draft served alone; first choice. It contains what an engine of its own costs beside the model.
    ngram: n-gram at the same load point. At the smallest K that both were measured at, or between two of the draft's,
    its step is taken for verification: too long by n-gram's own cost, so that the draft's time is at least this.
    """
    if alone is not None and alone.ratio.value:
        ratio = alone.ratio
        low, high = (1 / bound if bound else None for bound in (ratio.high, ratio.low))
        return Figure(1 / alone.ratio.value, UNIT, ALONE, ratio.n, ratio.n_of, low, high, "served alone")
    for row in sorted(ngram, key=lambda row: (row.candidate.k not in measured, row.candidate.k)):
        k = row.candidate.k
        if row.growth.value is None or (row.coverage.value or 0.0) < FULL_COVERAGE or not measured:
            continue
        growth, basis = growth_at(k, measured, None)
        if basis in (Basis.MEASURED, Basis.INTERPOLATED):
            apart = _weighted([(1 / k, growth), (-1 / k, row.growth)])
            if (apart.value or 0.0) > 0:
                low = None if apart.low is None else max(apart.low, 0.0)
                return replace(apart, low=low, estimator=FROM_NGRAM, note=_WITHIN_NGRAM)
    return None


def _weighted(parts: Sequence[tuple[float, Figure]]) -> Figure:
    """Return the weighted sum; its interval takes the unfavourable end of each part, whatever their dependence."""
    ends = [(part.low, part.high) if weight >= 0 else (part.high, part.low) for weight, part in parts]
    weights = [weight for weight, _ in parts]
    fewest = min((part for _, part in parts), key=lambda part: part.n)
    return replace(
        fewest,
        unit=UNIT,
        estimator=GROWTH,
        value=sum(weight * (part.value or 0.0) for weight, part in parts),
        low=_sum(weights, [low for low, _ in ends]),
        high=_sum(weights, [high for _, high in ends]),
    )


def _sum(weights: Sequence[float], bounds: Sequence[float | None]) -> float | None:
    known = [bound for bound in bounds if bound is not None]
    return sum(w * bound for w, bound in zip(weights, known, strict=True)) if len(known) == len(bounds) else None


def _at_least_plain(growth: Figure) -> Figure:
    low, high = (None if bound is None else max(bound, 1.0) for bound in (growth.low, growth.high))
    return replace(growth, value=max(growth.value or 1.0, 1.0), low=low, high=high)
