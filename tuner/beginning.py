"""What a sweep begins with: the last sweep of its target, found once and kept for every later call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from tuner.compare.from_artifact import load_point
from tuner.freshness import devices_here
from tuner.identity import Difference, EngineSetup, Setup, artifact_setup, differences, model_setup
from tuner.prepare import Prepared
from tuner.records import Json
from tuner.registry import Registry
from tuner.search.observing import QUESTIONS
from tuner.session import SweepOptions
from tuner.store import RunStore
from tuner.upgrade import LastSweep, find_last, keep_last, kept_last, start_from
from tuner.upgrade.begun import Begun
from tuner.upgrade.last import has_begun
from tuner.upgrade.start import not_tried


def begin(
    prepared: Prepared, options: SweepOptions, store: RunStore, registry: Registry | None, last: LastSweep | None
) -> tuple[SweepOptions, Begun | None]:
    """Return the options with where the search begins, and that in words; None where there was no last sweep.

    A run that has begun goes on as it began, whatever is in the registry by now.  last: what a new run begins with,
    None for the last one of the target in the registry.
    """
    if has_begun(store.path):
        last = kept_last(store.path)
    elif any(record.role in QUESTIONS for record in store.records()):
        last = None  # the search of a release that began with nothing
    else:
        last = last or (last_sweep(prepared, registry) if registry else None)
        keep_last(store, last)
    if last is None or options.fresh_search:
        return options, None
    drafts: Any = prepared.fingerprint["drafts"]
    start, why_not = start_from(last, prepared.candidates, prepared.space.load_points, drafts, prepared.manifest.goal)
    first = tuple(one.label for one in start.candidates(prepared.candidates)) if start else ()
    return replace(options, start=start), Begun(last, why_not, first)


def last_sweep(prepared: Prepared, registry: Registry) -> LastSweep | None:
    """Return the last sweep of the target in the registry, at the same load points; None if it has none."""
    devices = [device.name for device in devices_here(prepared.engine)]
    return find_last(registry, prepared.target, _load_points(prepared), devices)


def setup_of(prepared: Prepared) -> Setup:
    """Return what a sweep would measure with, in the shape in which artifacts have it."""
    known: Any = prepared.fingerprint
    manifest = prepared.manifest
    engine = prepared.engine
    models = {draft.name: draft.model for draft in prepared.space.drafts if draft.model is not None}
    return Setup(
        engine=EngineSetup(engine.version, engine.build, known["engine"]["profile"]),
        devices=devices_here(engine),
        target=model_setup(prepared.target, known["target"], manifest.target_revision),
        drafts={
            name: model_setup(models[name], identity, manifest.draft_revisions.get(name))
            for name, identity in known["drafts"].items()
        },
        env=manifest.env,
        eval_sets=known["eval_sets"],
        engine_args=known["engine_args"],
        load_points=_load_points(prepared),
    )


def _load_points(prepared: Prepared) -> tuple[str, ...]:
    return tuple(point.key for point in prepared.space.load_points)


def stale_for(last: LastSweep, prepared: Prepared) -> tuple[Difference, ...]:
    """Return what differs between the last sweep and the one that would be run now; no engine is started.

    Beside what `differences` compares: candidates that were not tried then, weights of load points, the objective and
    the protocol, all of which may lead to another answer.
    """
    return (*differences(artifact_setup(last.config), setup_of(prepared)), *_questions(last, prepared))


def _questions(last: LastSweep, prepared: Prepared) -> Iterator[Difference]:
    config, manifest = last.config, prepared.manifest
    new: list[Json] = [*not_tried(last, prepared.candidates)]
    if new:
        yield Difference("candidates", None, new, "they were not tried then, and one may be the better one")
    goal = {**asdict(manifest.goal)}
    limits = {name: limit for name, limit in goal.items() if name != "metric" and limit is not None}
    asked = (manifest.goal.metric.value, limits)
    if asked != (config.objective.metric.value, config.objective.limits):
        then: dict[str, Json] = {"metric": config.objective.metric.value, **config.objective.limits}
        yield Difference("objective", then, {"metric": asked[0], **limits}, "another objective may have another best")
    weights: dict[str, Json] = {point.key: point.weight for point in prepared.space.load_points}
    then_at = [result.load_point for answer in config.answers for result in answer.measured.load_points]
    weighed: dict[str, Json] = {load_point(point).key: point.weight for point in then_at}
    if any(weight != weighed.get(key, weight) for key, weight in weights.items()):
        yield Difference("weights", weighed, weights, "other traffic may have another best")
    yield from _protocol(config.protocol, asdict(manifest.protocol))


def _protocol(then: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[Difference]:
    """Yield what is measured otherwise; what only one of the two releases of tuner knows is not compared."""
    for name, value in now.items():
        if name != "reduced" and name in then and then[name] != value:
            yield Difference(f"protocol.{name}", then[name], value, "it was measured otherwise")
