"""What explains an answer: draft and target apart, what speculation drags along, how engines differ from themselves."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.apart import Apart, apart
from tuner.analysis.diagnoses import Measured, NamedChange, diagnoses
from tuner.analysis.dragged import split_speedup
from tuner.analysis.noise import ArmNoise, noise
from tuner.extras import Dragged, dragged_along, not_served_alone
from tuner.records import Diagnosis, Findings, LoadPoint, Notice, Protocol, Role, Trial
from tuner.report_sections.dragged import SecondBaseline
from tuner.space.command_line import engine_flags

ENOUGH_LIVES = 3
"""Two lives show a difference; a spread takes one more."""
_AGAIN = (Role.BASELINE, Role.BASELINE_AGAIN, Role.CANDIDATE, Role.CANDIDATE_AGAIN)


@dataclass(frozen=True)
class Explanation:
    """dragged: what was changed, whether measured or not.  second: baselines with it, where measured.

    heads: draft -> why it cannot be served alone.
    """

    apart: Apart
    dragged: tuple[Dragged, ...]
    second: tuple[SecondBaseline, ...]
    noise: tuple[ArmNoise, ...]
    heads: dict[str, str]


def explanation(
    trials: Sequence[Trial],
    every: Sequence[Trial],
    load_points: Sequence[LoadPoint],
    protocol: Protocol,
    version: str,
) -> Explanation:
    """Return what the trials explain.

    trials: those that the answer rests on.  every: all of the run; extras are among those.  version: of vLLM.
    """
    extras = [trial for trial in every if trial.record.role in (Role.SAME_RUNNER, Role.DRAFT_ALONE)]
    single = [trial for trial in trials if trial.record.role not in (Role.SAME_RUNNER, Role.DRAFT_ALONE)]
    candidates = [trial.record.candidate for trial in single]
    dragged = dragged_along([trial.record for trial in single], candidates, version)
    second = [found for one in dragged if (found := _second(one, single, extras)) is not None]
    return Explanation(
        apart=apart([*single, *extras], load_points),
        dragged=dragged,
        second=tuple(second),
        noise=_noise(every, load_points, protocol),
        heads=not_served_alone(candidates),
    )


def causes(
    explained: Explanation, findings: Findings, trials: Sequence[Trial], target: str, notices: Sequence[Notice] = ()
) -> tuple[Diagnosis, ...]:
    """Return the causes that the measurements show.

    trials: those that the answer rests on.  target: as the user wrote it.  notices: what was found before the start.
    """
    changes = [NamedChange(_drafts(one), one.effects.changes) for one in explained.dragged if one.effects.changes]
    splits = [split for one in explained.second for split in one.splits]
    return diagnoses(Measured(findings, trials, explained.apart, target, notices, changes, splits))


def _drafts(dragged: Dragged) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.candidate.draft_name for record in dragged.trials))


def _noise(every: Sequence[Trial], load_points: Sequence[LoadPoint], protocol: Protocol) -> tuple[ArmNoise, ...]:
    """Return the noise of what was measured again and again to see it; the finalists' lives alone tell theirs."""
    lives = Counter(
        (trial.record.worker.device_key, trial.record.candidate.key)
        for trial in every
        if trial.record.ok and trial.record.role in _AGAIN
    )
    arms = noise(every, load_points, protocol)
    return tuple(arm for arm in arms if lives[arm.device_key, arm.candidate.key] >= ENOUGH_LIVES)


def _second(dragged: Dragged, single: Sequence[Trial], extras: Sequence[Trial]) -> SecondBaseline | None:
    """Return the second baseline of these trials with their split speedups; None where it has no figures."""
    extra = dragged.extra
    same = next((t for t in extras if t.record.ok and extra and extra.is_measured_by(t.record)), None)
    if same is None:
        return None
    place = (dragged.baseline.worker.device_key, dragged.baseline.candidate.args_key)
    plain = [
        trial
        for trial in single
        if trial.record.ok
        and trial.record.role in (Role.BASELINE, Role.BASELINE_AGAIN)
        and (trial.record.worker.device_key, trial.record.candidate.args_key) == place
    ]
    numbers = {record.number for record in dragged.trials}
    speculative = [trial for trial in single if trial.record.number in numbers]
    return SecondBaseline(
        changes=dragged.effects.changes,
        how=how(dragged),
        splits=tuple(split for trial in speculative for split in split_speedup(trial, plain, same)),
        others=dragged.effects.others,
    )


def how(dragged: Dragged) -> str:
    """Return the variables and flags that give a plain engine these settings."""
    env = [f"{name}={value}" for name, value in dragged.effects.env.items()]
    return " ".join([*env, shlex.join(engine_flags(dragged.effects.engine_args))]).strip()
