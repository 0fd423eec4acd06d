"""`tuner noise`: an engine against itself in separate lives, in the run directory of a sweep of the same space."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.analysis.noise import ArmNoise, noise
from tuner.engine.ability import ability
from tuner.errors import NothingMeasured, SpaceError
from tuner.export.noise import noise_document
from tuner.prepare import Prepared
from tuner.progress import SweepView
from tuner.records import Candidate, Json, Speculation
from tuner.report import manifest_json, write_report
from tuner.session import Session, SweepOptions, measure, tell_where
from tuner.sources import Source
from tuner.sources.again import LivesAgain
from tuner.space.model_refs import settle_model
from tuner.space.schema import load_space
from tuner.store import RunStore, read_run

NOISE = "noise.json"


@dataclass(frozen=True)
class NoiseResult:
    """arms: what the lives say, of the arms that were asked for.  engine_starts: of this call."""

    run: Path
    arms: tuple[ArmNoise, ...]
    engine_starts: int

    @property
    def document(self) -> dict[str, Json]:
        """What stands in noise.json and is printed as JSON."""
        return {"run": str(self.run), "engine_starts": self.engine_starts, **noise_document(self.arms)}


def run_noise(
    prepared: Prepared, candidate: Candidate | None, lives: int, options: SweepOptions, view: SweepView
) -> NoiseResult:
    """Measure the baseline, and `candidate` if there is one, until each has `lives` engine lives on one device.

    A sweep's lives count, and a later sweep uses these. Writes noise.json, and the report again where there is one.
    Raises OutputError before anything starts, PoolError, and NothingMeasured when no arm has two lives.
    """
    baseline = candidate.baseline if candidate else prepared.candidates[0]
    arms = [baseline, *([candidate] if candidate else [])]

    def sources(session: Session) -> tuple[Source, ...]:
        device = session.pool.workers[0].device_key
        return (LivesAgain(arms, lives, device, session.done, session.budget),)

    with RunStore.open(options.out, prepared.fingerprint, _manifest(prepared, options.out)) as store:
        tell_where(options, store, view, prepared.fingerprint)
        summary = store.summary
        measured = measure(prepared, replace(options, max_workers=1), store, view, sources)
        keys = [arm.key for arm in arms]
        found = noise(store.trials(), prepared.space.load_points, prepared.space.protocol)
        result = NoiseResult(
            store.path, tuple(arm for arm in found if arm.candidate.key in keys), measured.engine_starts
        )
        if not result.arms:
            raise _too_few(measured.engine_starts)
        store.write_text(NOISE, json.dumps(result.document, indent=2) + "\n")
        if summary is not None:
            store.finish(summary)
            write_report(store.path, finished=True)
    return result


def unnamed_drafts(space: str, drafts: Sequence[str]) -> tuple[str, ...]:
    """Return those of `drafts` that are no names of drafts in the search space: models to add to it."""
    names = {draft.name for draft in load_space(space).drafts}
    return tuple(draft for draft in drafts if draft not in names)


def noise_arm(prepared: Prepared, draft: str, k: int) -> Candidate:
    """Return the candidate of a draft, named as in the space or as a model, at any K.

    Raises SpaceError where there is no such draft or this engine cannot run it.
    """
    drafts = prepared.space.drafts
    model = settle_model(draft)
    found = next((spec for spec in drafts if spec.name == draft or spec.model == model), None)
    if found is None:
        names = ", ".join(spec.name for spec in drafts)
        raise SpaceError(f"Search space {prepared.space.name!r} has no draft {draft!r}.", f"Name one of {names}.")
    speculation = Speculation(found.method, k, found.name, found.model, found.options)
    candidate = replace(prepared.candidates[0], speculation=speculation)
    if reason := ability(prepared.space, prepared.engine).refusal(candidate):
        raise SpaceError(f"The engine cannot run {candidate.label}: {reason}.", "Name another draft.")
    return candidate


def _manifest(prepared: Prepared, out: Path) -> Mapping[str, Json]:
    """Return the manifest of the sweep that the run directory belongs to, if there is one: noise is a guest there."""
    if (out / "run.json").is_file():
        kept = read_run(out)[0]
        if dict(kept.fingerprint) == json.loads(json.dumps(prepared.fingerprint)):
            return kept.details
    return manifest_json(prepared.manifest)


def _too_few(engine_starts: int) -> NothingMeasured:
    message = f"No engine was measured in two lives: there is nothing to compare ({engine_starts} were started now)."
    return NothingMeasured(message, "See trials/*/engine.log, and call the same command again: it goes on.")
