"""The models of a search space, looked at before an engine starts: found, read, and held against the rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tuner.preflight.examine import Examined, Models, examine, loads_model, needs_tokens, read_models, refusal
from tuner.preflight.inputs import tokenizer_directory
from tuner.preflight.models import check_draft
from tuner.records import Candidate
from tuner.records.notice import Level
from tuner.space.search_space import SearchSpace


@dataclass(frozen=True)
class Asked:
    """What is to be looked at.

    candidates: those that the engine can run by its tables.  target: as the user wrote it; directory: where it is.
    python, version, build: of the engine.
    """

    space: SearchSpace
    candidates: Sequence[Candidate]
    target: str
    directory: str
    python: str
    version: str
    build: str


@dataclass(frozen=True)
class Inspected:
    """What was found.  models: None where nothing was read.  drafts: checked directory by draft name."""

    examined: Examined
    models: Models | None = None
    drafts: Mapping[str, str] = field(default_factory=dict)


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
    return Inspected(
        examine(asked.candidates, models, version=asked.version, build=asked.build, env=env), models, drafts
    )


def left(candidates: Sequence[Candidate], found: Examined) -> tuple[tuple[Candidate, ...], dict[str, str]]:
    """Return the candidates that files do not refuse, and why the others are left out, by label.

    Raises ModelError where the target is refused, or every candidate with speculation.
    """
    if found.target_errors:
        raise refusal(found.target_errors)
    possible = tuple(candidate for candidate in candidates if candidate.key not in found.refused)
    if found.refused and not any(candidate.speculation for candidate in possible):
        raise refusal([notice for notice in found.notices if notice.level is Level.ERROR])
    return possible, {c.label: found.refused[c.key] for c in candidates if c.key in found.refused}
