"""From the artifact of the last sweep to where the search begins. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tuner.artifact import BestConfig, recommended_candidate
from tuner.artifact.figures import MeasuredFigure
from tuner.artifact.measured import Curve
from tuner.artifact.model import Answer
from tuner.compare.from_artifact import load_point
from tuner.compare.tolerances import Tolerances
from tuner.records import SCHEDULE, Candidate, Goal, Json, LoadPoint, Verdict
from tuner.search.known import Expected, KnownBest, Range, Start
from tuner.upgrade.last import LastSweep

__all__ = ["Start", "not_tried", "start_from"]

_CERTAIN = 2.0
"""Standard errors to either side of a sampled acceptance length."""


def start_from(
    last: LastSweep,
    candidates: Sequence[Candidate],
    loads: Sequence[LoadPoint],
    drafts: Mapping[str, Mapping[str, Json]],
    goal: Goal,
    tolerances: Tolerances | None = None,
) -> tuple[Start | None, str]:
    """Return where the search begins, or None and why the last sweep gives no start.

    candidates, loads, goal: of this sweep.  drafts: what identifies their models, by name (see tuner.provenance).
    tolerances: by how much a figure may change before it has moved.
    """
    if {load.key for load in loads} != set(_load_points(last.config)):
        return None, "it has other load points"
    tolerances = tolerances or Tolerances()
    best = []
    for answer in last.config.answers:
        if answer.verdict is Verdict.INCONCLUSIVE:
            return None, "its answer was inconclusive"
        known = _known_best(last.config, answer, candidates, tolerances)
        if known is None:
            return None, "its best is not among the candidates"
        best.append(known)
    return Start(tuple(best), _open_for(last, best, candidates, drafts, goal)), ""


def _load_points(config: BestConfig) -> tuple[str, ...]:
    known: Any = config.fingerprint.get("load_points")
    return tuple(known or ())


def _known_best(
    config: BestConfig, answer: Answer, candidates: Sequence[Candidate], tolerances: Tolerances
) -> KnownBest | None:
    wanted = recommended_candidate(config, answer.recommended.limit or answer.recommended)
    resolution = answer.measured.resolution
    life_sd = (resolution.life_sd or 0.0) if resolution else 0.0
    if answer.verdict is Verdict.DO_NOT:
        curve_k = _nearest(answer)
        here = curve_k and _of_curve(*curve_k, candidates)
        if not here or not curve_k:
            return None
        return KnownBest(answer.temperature, here, False, _of_points(answer, *curve_k, tolerances), life_sd)
    best = next((one for one in candidates if _same(wanted, one)), None)
    if best is None:
        return None
    up_to = answer.recommended.limit.up_to_concurrency if answer.recommended.limit else math.inf
    lives = answer.measured.engine_lives
    loads = {
        load_point(result.load_point).key: Expected(
            _widened(result.figures.get("speedup_tpot"), tolerances.speedup),
            _length(
                result.figures.get("mean_acceptance_length"),
                [figure.value for figure in result.acceptance_by_position],
                tolerances.acceptance_length,
                lives,
                sampled=result.load_point.sampling.temperature > 0,
            ),
        )
        for result in answer.measured.load_points
        if result.load_point.concurrency <= up_to
    }
    return KnownBest(answer.temperature, best, True, loads, life_sd)


def _same(known: Candidate, here: Candidate) -> bool:
    """Whether a recommendation is this candidate: by the draft's name or its model, as either may be called anew."""
    one, other = known.speculation, here.speculation
    if one is None or other is None:
        return False
    options = {name: value for name, value in one.options.items() if name != SCHEDULE}
    return (
        (one.method, one.num_speculative_tokens, options, dict(known.engine_args))
        == (other.method, other.num_speculative_tokens, dict(other.options), dict(here.engine_args))
    ) and (one.draft_name == other.draft_name or one.draft == other.draft)


# ---- where no speculation was the best


def _nearest(answer: Answer) -> tuple[Curve, int] | None:
    """Return the curve and the K that came nearest to the engine without speculation, over all load points."""
    points: dict[tuple[str, str, int], list[float]] = {}
    curves: dict[tuple[str, str, int], Curve] = {}
    for curve in answer.measured.curves:
        for point in curve.points:
            if point.k and point.speedup.value:
                name = (curve.draft, repr(sorted(curve.engine_args.items())), point.k)
                points.setdefault(name, []).append(math.log(point.speedup.value))
                curves[name] = curve
    whole = max(map(len, points.values()), default=0)
    complete = {name: math.fsum(logs) for name, logs in points.items() if len(logs) == whole}
    nearest = max(complete, key=lambda name: complete[name], default=None)
    return None if nearest is None else (curves[nearest], nearest[2])


def _of_curve(curve: Curve, k: int, candidates: Sequence[Candidate]) -> Candidate | None:
    wanted = (curve.draft, curve.method, k, curve.engine_args)
    here = ((one, one.speculation) for one in candidates)
    return next(
        (one for one, spec in here if spec and wanted == (spec.draft_name, spec.method, one.k, dict(one.engine_args))),
        None,
    )


def _of_points(answer: Answer, curve: Curve, k: int, tolerances: Tolerances) -> dict[str, Expected]:
    """Return what single lives showed of that K, by load point."""
    keys = {result.label: load_point(result.load_point) for result in answer.measured.load_points}
    found = {}
    for one in answer.measured.curves:
        if (one.draft, one.engine_args) != (curve.draft, curve.engine_args) or one.load_point not in keys:
            continue
        load = keys[one.load_point]
        for point in one.points:
            if point.k == k:
                length = None
                if not load.sampling.temperature:
                    length = _widened(point.mean_acceptance_length, tolerances.acceptance_length)
                found[load.key] = Expected(_widened(point.speedup, tolerances.speedup), length)
    return found


# ---- what is expected


def _widened(figure: MeasuredFigure | None, tolerance: float) -> Range | None:
    """Return a figure's interval, or its value where there is none, widened to either side by a fraction."""
    if figure is None or figure.value is None:
        return None
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    return low / (1 + tolerance), high * (1 + tolerance)


def _length(
    figure: MeasuredFigure | None, reached: Sequence[float | None], tolerance: float, lives: int, *, sampled: bool
) -> Range | None:
    """Return where the acceptance length of one more life should be.

    reached: A_i/D for i = 1, 2, ...  At temperature 0 the same prompts are accepted alike. Above it a life is a sample:
    with N the accepted tokens of a draft, Var N = sum of (2i - 1) A_i/D - (sum of A_i/D)^2, drafts taken to be
    independent; the earlier lives' error and that of one more are added.
    """
    plain = _widened(figure, tolerance)
    shares = [share for share in reached if share is not None]
    if plain is None or figure is None or not sampled or not shares or not figure.n:
        return plain
    variance = math.fsum((2 * i - 1) * share for i, share in enumerate(shares, 1)) - math.fsum(shares) ** 2
    error = _CERTAIN * math.sqrt(max(0.0, variance) / figure.n * (1 + lives))
    return plain[0] - error, plain[1] + error


# ---- why the search goes on all the same


def _open_for(
    last: LastSweep,
    best: Sequence[KnownBest],
    candidates: Sequence[Candidate],
    drafts: Mapping[str, Mapping[str, Json]],
    goal: Goal,
) -> str:
    """Return what this sweep may find that the last one could not, "" for nothing."""
    config = last.config
    if config.objective.metric is not goal.metric or config.objective.limits:
        return "the last sweep had another objective"
    new = not_tried(last, candidates)
    if new:
        return f"the last sweep could not measure {', '.join(new[:3])}{' and others' if len(new) > 3 else ''}"
    then: Any = config.fingerprint.get("drafts") or {}
    chosen = {one.candidate.draft_name for one in best}
    changed = [
        name
        for name, identity in drafts.items()
        if name not in chosen and identity.get("hash") != (then.get(name) or {}).get("hash")
    ]
    return f"the content of {', '.join(changed)} is another than in the last sweep" if changed else ""


def not_tried(last: LastSweep, candidates: Sequence[Candidate]) -> list[str]:
    """Return the labels of what the last sweep could not measure: another draft, K or engine argument."""
    return [one.label for one in candidates if one.k and not _could_be_measured(one, last, candidates)]


def _could_be_measured(candidate: Candidate, last: LastSweep, candidates: Sequence[Candidate]) -> bool:
    if candidate.key in last.candidates:
        return True
    # Models may lie elsewhere now, which changes the key: then the name decides, as long as nothing but K varies.
    one_group = len({one.args_key for one in candidates}) == 1
    same_args = dict(candidate.engine_args) == last.config.fingerprint.get("engine_args")
    return one_group and same_args and candidate.k in last.draft_ks.get(candidate.draft_name, ())
