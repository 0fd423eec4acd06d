"""The models of a search space, looked at before an engine starts: found, read, and held against the rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuner.preflight.examine import Examined, Models, by_level, examine, loads_model, needs_tokens, read_models, refusal
from tuner.preflight.inputs import tokenizer_directory
from tuner.preflight.memory import Load, Planned, assumed_device, memory_notices, memory_plans, read_device
from tuner.preflight.memory_plan import Verdict
from tuner.preflight.models import check_draft
from tuner.records import Candidate, LoadPoint
from tuner.records.notice import Level, Notice
from tuner.space.search_space import SearchSpace
from tuner.space.versions import version_row


@dataclass(frozen=True)
class Asked:
    """What is to be looked at.

    candidates: those that the engine can run by its tables.  target: as the user wrote it; directory: where it is.
    python, version, build: of the engine.  device_memory: bytes of a GPU to plan for, None for this machine's device.
    """

    space: SearchSpace
    candidates: Sequence[Candidate]
    target: str
    directory: str
    python: str
    version: str
    build: str
    device_memory: int | None = None


@dataclass(frozen=True)
class Inspected:
    """What was found.

    models: None where nothing was read.  drafts: checked directory by draft name.  plans: memory by candidate, () where
    no device is at hand to plan for.
    """

    examined: Examined
    models: Models | None = None
    drafts: Mapping[str, str] = field(default_factory=dict)
    plans: tuple[Planned, ...] = ()


NOT_INSPECTED = Inspected(Examined())
"""A simulated engine's models have no files."""


def inspect_models(asked: Asked, *, download: bool = False) -> Inspected:
    """Find the drafts, read them and the target, and ask every rule.

    Raises ModelError for a draft that is missing or incomplete.
    """
    space = asked.space
    written = {
        draft.name: draft.model for draft in space.drafts if draft.model is not None and loads_model(draft.method)
    }
    drafts = {name: check_draft(name, model, download=download, python=asked.python) for name, model in written.items()}
    tokenizer = tokenizer_directory(space.engine_args, asked.directory, python=asked.python, download=download)
    models = read_models(
        (asked.directory, asked.target),
        {name: (directory, written[name]) for name, directory in drafts.items()},
        python=asked.python,
        tokenizer=tokenizer,
        trust_remote_code=space.engine_args.get("trust_remote_code") is True,
        with_tokens=needs_tokens(draft.method for draft in space.drafts),
    )
    env = {**os.environ, **space.env}
    examined = examine(asked.candidates, models, version=asked.version, build=asked.build, env=env)
    plans, notices = _memory(asked, drafts, env)
    return Inspected(with_memory(examined, plans, notices), models, drafts, plans)


def _memory(
    asked: Asked, drafts: Mapping[str, str], env: Mapping[str, str]
) -> tuple[tuple[Planned, ...], tuple[Notice, ...]]:
    """Return the memory plans for the device, and what they warn of; () on a machine without one."""
    device = assumed_device("gpu", asked.device_memory) if asked.device_memory else read_device(asked.build)
    if device is None:
        return (), ()
    plans, unplanned = memory_plans(
        asked.candidates,
        Path(asked.directory),
        {name: Path(directory) for name, directory in drafts.items()},
        device,
        default_utilization=version_row(asked.version).gpu_memory_utilization,
        env=env,
        load=largest_load(asked.space.load_points),
    )
    return plans, memory_notices(plans, unplanned)


def largest_load(points: Sequence[LoadPoint]) -> Load:
    """Return the most that load points ask of the KV cache; of the tokens the answers alone, prompts come on top."""
    if not points:
        return Load()
    return Load(max(point.concurrency for point in points), max(point.max_tokens for point in points))


def with_memory(found: Examined, plans: Sequence[Planned], notices: Sequence[Notice]) -> Examined:
    """Return what was found with the memory's part; refused is what certainly does not fit."""
    refused = {
        one.candidate.key: "; ".join(one.plan.reasons)
        for one in plans
        if one.plan.certain and one.plan.verdict is Verdict.DOES_NOT_FIT
    }
    return Examined(by_level([*found.notices, *notices]), {**refused, **found.refused})


def left(candidates: Sequence[Candidate], found: Examined) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """Return the candidates that files do not refuse, and why the others are left out, by key.

    A refused baseline takes with it what would be compared with it.
    Raises ModelError where no baseline is left, or no candidate with speculation although there were some.
    """
    refused = dict(found.refused)
    for baseline in (c for c in candidates if c.speculation is None and c.key in refused):
        for other in candidates:
            if other.args_key == baseline.args_key:
                refused.setdefault(other.key, f"its baseline cannot start: {refused[baseline.key]}")
    possible = tuple(candidate for candidate in candidates if candidate.key not in refused)
    errors = [notice for notice in found.notices if notice.level is Level.ERROR]
    if not any(candidate.speculation is None for candidate in possible):
        raise refusal([notice for notice in errors if notice.subject == "target"])
    if any(c.speculation for c in candidates) and not any(c.speculation for c in possible):
        raise refusal(errors)
    return possible, refused
