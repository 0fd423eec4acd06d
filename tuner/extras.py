"""Trials that explain an answer and never decide one: drafts served alone, baselines with what speculation drags along.

Pure functions of records. What is wanted depends on what was measured: on which device a baseline ran, and what an
engine said that it changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tuner.records import Candidate, Protocol, Role, TrialRecord
from tuner.search.schedule import Task
from tuner.space.side_effects import SideEffects, side_effects

SERVED_ALONE = "draft_model"
"""The method whose drafts are models of their own; heads of the target (eagle, mtp and the like) cannot run alone."""


@dataclass(frozen=True)
class Extra:
    """One extra trial.  device_key: where the lives ran that it is compared with."""

    task: Task
    device_key: str

    def is_measured_by(self, record: TrialRecord) -> bool:
        """Whether this record is of this trial."""
        same = (record.role, record.served, record.candidate.key, record.worker.device_key)
        if same != (self.task.role, self.task.served, self.task.candidate.key, self.device_key):
            return False
        env = record.engine.env if record.engine else self.task.env
        return all(env.get(name) == value for name, value in self.task.env.items())


@dataclass(frozen=True)
class Dragged:
    """What the speculative trials of one device and one set of engine arguments drag along in the same way.

    baseline: the plain engine's first life there.  trials: the single lives that do so, in order.
    """

    baseline: TrialRecord
    effects: SideEffects
    trials: tuple[TrialRecord, ...]

    @property
    def extra(self) -> Extra | None:
        """The baseline with those settings; None where there is none that a plain engine could be given."""
        effects, plain = self.effects, self.baseline
        if not effects.engine_args and not effects.env:
            return None
        candidate = Candidate({**plain.candidate.engine_args, **effects.engine_args})
        return Extra(Task(Role.SAME_RUNNER, candidate, env=effects.env), plain.worker.device_key)


def missing(
    done: Sequence[TrialRecord], candidates: Sequence[Candidate], protocol: Protocol, version: str
) -> tuple[Extra, ...]:
    """Return the extras that the protocol asks for and that are not among `done`, in the order to measure them in.

    done: records that count as measured, of whatever role.  version: of vLLM.
    """
    wanted: list[Extra] = []
    if protocol.drafts_alone:
        wanted += _drafts_alone(done, candidates)
    if protocol.same_runner:
        wanted += _once(dragged.extra for dragged in dragged_along(done, candidates, version))
    return tuple(extra for extra in wanted if not any(extra.is_measured_by(record) for record in done))


def _drafts_alone(done: Sequence[TrialRecord], candidates: Sequence[Candidate]) -> list[Extra]:
    """Return one trial for each draft model, where the first baseline that worked ran."""
    args = [candidate.args_key for candidate in candidates if not candidate.k]
    baselines = [r for r in done if r.ok and r.role is Role.BASELINE and r.candidate.args_key in args]
    if not baselines:
        return []
    plain = min(baselines, key=lambda record: (args.index(record.candidate.args_key), record.number))
    return [
        Extra(Task(Role.DRAFT_ALONE, plain.candidate, served=model), plain.worker.device_key)
        for model in draft_models(candidates)
    ]


def draft_models(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """Return the drafts that can be served alone, as the user wrote them, each once."""
    specs = [candidate.speculation for candidate in candidates if candidate.speculation]
    return tuple(dict.fromkeys(s.draft for s in specs if s.draft and s.method == SERVED_ALONE))


def not_served_alone(candidates: Iterable[Candidate]) -> dict[str, str]:
    """Return draft name -> why it cannot be served alone, for drafts with weights of their own."""
    specs = [candidate.speculation for candidate in candidates if candidate.speculation]
    return {
        s.draft_name: f"{s.method} drafts are heads of their target, no models that could be served alone"
        for s in specs
        if s.draft and s.method != SERVED_ALONE
    }


def dragged_along(records: Sequence[TrialRecord], candidates: Sequence[Candidate], version: str) -> tuple[Dragged, ...]:
    """Return what speculation drags along, one entry for each device, engine arguments and set of changes."""
    keys = {candidate.key for candidate in candidates}
    singles = [r for r in records if r.ok and r.engine and r.candidate.key in keys]
    found: dict[tuple[str, str, tuple[str, ...]], Dragged] = {}
    for plain in (record for record in singles if record.role is Role.BASELINE):
        place = (plain.worker.device_key, plain.candidate.args_key)
        for record in singles:
            if record.role is not Role.CANDIDATE or (record.worker.device_key, record.candidate.args_key) != place:
                continue
            if record.engine is None or plain.engine is None or not record.candidate.k:
                continue
            effects = side_effects(record.engine, plain.engine, plain.candidate.engine_args, version)
            alike = (*place, effects.changes)
            known = found.get(alike, Dragged(plain, effects, ()))
            others = tuple(dict.fromkeys((*known.effects.others, *effects.others)))
            found[alike] = Dragged(known.baseline, replace(known.effects, others=others), (*known.trials, record))
    return tuple(found.values())


def _once(extras: Iterable[Extra | None]) -> list[Extra]:
    """Return those that are one, each once."""
    kept: list[Extra] = []
    for extra in extras:
        if extra is not None and extra not in kept:
            kept.append(extra)
    return kept
