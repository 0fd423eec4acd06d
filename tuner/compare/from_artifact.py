"""What an artifact alone says of a sweep: figures with the intervals that it gives them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tuner.analysis.levels import look_confidence, looks
from tuner.analysis.statistics import CONFIDENCE
from tuner.artifact import BestConfig, recommended_candidate
from tuner.artifact.measured import LoadPoint as ArtifactLoadPoint
from tuner.artifact.measured import LoadResult
from tuner.artifact.model import Answer
from tuner.compare.quantity import WHOLE, Quantity, from_figure
from tuner.compare.sides import Arm, SettingKey, Side, SideAnswer, SideLoad, setting_key, with_step_cost
from tuner.records import SCHEDULE, Candidate, LoadPoint, Metric, Sampling, Speculation, canonical_json

_SINGLE_LIFE = 1


def side_of(where: str, config: BestConfig) -> Side:
    """Return a sweep as its artifact has it.  where: it was read from."""
    return Side(
        where=where,
        config=config,
        loads=tuple(load for answer in config.answers for load in _loads(config, answer)),
        answers=tuple(_answer(config, answer) for answer in config.answers),
        confidence=max(_confidence(config, answer) for answer in config.answers),
    )


def _confidence(config: BestConfig, answer: Answer) -> float:
    """Return the confidence of the intervals over lives: stricter where their number was adapted to what they said."""
    lives, most = (config.protocol.get(name) for name in ("lives", "max_lives"))
    if not isinstance(lives, int) or not isinstance(most, int):
        return CONFIDENCE
    first, *more = looks(lives, most)
    return look_confidence(more[-1] if more and answer.measured.engine_lives > lives else first)


def _answer(config: BestConfig, answer: Answer) -> SideAnswer:
    best = recommended_candidate(config, answer.recommended.limit or answer.recommended)
    schedule = best.speculation.options.get(SCHEDULE) if best.speculation else None
    rounds = [set(map(int, load.speedup_by_round)) for load in answer.measured.load_points]
    return SideAnswer(
        temperature=answer.temperature,
        verdict=answer.verdict,
        best=best,
        up_to=answer.recommended.limit.up_to_concurrency if answer.recommended.limit else None,
        schedule=None if schedule is None else canonical_json(schedule),
        rounds=frozenset(set.intersection(*rounds) if rounds else ()),
    )


def _loads(config: BestConfig, answer: Answer) -> Iterator[SideLoad]:
    hashes: Mapping[str, Any] = config.fingerprint.get("eval_sets") or {}  # type: ignore[assignment]
    best = recommended_candidate(config, answer.recommended.limit or answer.recommended)
    plain = {load.label: load for load in answer.measured.baseline_load_points}
    for result in answer.measured.load_points:
        load = load_point(result.load_point)
        arms = dict(_curve_arms(answer, load))
        baseline = arms.pop("none", {})
        if best.k:
            arms[setting_key(best)] = _arm(config, answer, result)
        own = result if not best.k else plain.get(result.label)
        if own is not None:
            baseline = _arm(config, answer, own)
        yield SideLoad(load, hashes.get(load.eval_set), baseline, {k: with_step_cost(arm) for k, arm in arms.items()})


def load_point(written: ArtifactLoadPoint) -> LoadPoint:
    """Return a load point of an artifact as the analysis has it, with its key and its words."""
    fields = written.model_dump()
    return LoadPoint(**{**fields, "sampling": Sampling(**fields["sampling"])})


def _arm(config: BestConfig, answer: Answer, result: LoadResult) -> Arm:
    lives = answer.measured.engine_lives
    confidence = _confidence(config, answer)

    def quantity(name: str) -> Quantity:
        return from_figure(result.figures.get(name), lives, confidence)

    arm = {
        "acceptance_length": quantity("mean_acceptance_length"),
        "tokens_per_step": quantity("effective_tokens_per_step"),
        "tpot": quantity("tpot_s"),
        "ttft": quantity("ttft_s"),
        "speedup": quantity("speedup_tpot"),
    }
    by_round = result.speedup_by_round
    if len(by_round) > 1 and config.objective.metric is Metric.TPOT:  # the rounds are of the metric that decides
        arm["speedup"] = Quantity(tuple({WHOLE: math.log(speedup)} for speedup in by_round.values()))
    return arm


def _curve_arms(answer: Answer, load: LoadPoint) -> Iterator[tuple[SettingKey, Arm]]:
    """Yield what single engine lives showed of every setting, without speculation under "none"."""
    for curve in answer.measured.curves:
        if curve.load_point != load.label:
            continue
        for point in curve.points:
            spec = Speculation(curve.method, point.k, curve.draft, None)
            arm = {
                "acceptance_length": from_figure(point.mean_acceptance_length, _SINGLE_LIFE, CONFIDENCE),
                "tpot": from_figure(point.tpot_s, _SINGLE_LIFE, CONFIDENCE),
                "speedup": from_figure(point.speedup, _SINGLE_LIFE, CONFIDENCE),
            }
            yield setting_key(Candidate({}, spec) if point.k else Candidate()), arm
