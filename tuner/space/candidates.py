"""What a search space makes the engine try."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from math import prod

from tuner.records import Candidate, Json, Speculation
from tuner.space.availability import argument_conflict, unavailable
from tuner.space.checks import GPU_COUNTS
from tuner.space.engine_flags import engine_arg_unavailable
from tuner.space.methods import METHODS
from tuner.space.search_space import DraftSpec, SearchSpace
from tuner.space.versions import version_row


def candidates(space: SearchSpace) -> tuple[Candidate, ...]:
    """Return every candidate: first the baseline of each combination of choices, then draft by draft.

    Within a draft: combination by combination, K ascending.
    """
    settings = _engine_settings(space)
    baselines = [Candidate(engine_args=args) for args in settings]
    tried = [
        Candidate(engine_args=args, speculation=_speculation(draft, k))
        for draft in space.drafts
        for args in settings
        for k in draft.ks
    ]
    return (*baselines, *tried)


def _engine_settings(space: SearchSpace) -> list[dict[str, Json]]:
    names = list(space.choices)
    return [
        {**space.engine_args, **dict(zip(names, values, strict=True))} for values in product(*space.choices.values())
    ]


def _speculation(draft: DraftSpec, k: int) -> Speculation:
    return Speculation(draft.method, k, draft.name, draft.model, draft.options)


def devices_per_engine(space: SearchSpace) -> int:
    """Return how many GPUs one engine of this space occupies: tensor x pipeline x data parallel size."""
    args = _engine_settings(space)[0]
    return prod(int(str(args.get(name) or 1)) for name in GPU_COUNTS)


def unavailable_reason(candidate: Candidate, version: str, build: str, lacking: Collection[str] = ()) -> str | None:
    """Return why the engine cannot run `candidate`, None if by the tables it can.

    version: of vLLM.  build: "cpu", "cuda" or "sim".  lacking: packages that the engine's environment does not have.
    Such a candidate is left out; it is not a failed trial.  Raises EngineNotFound for a release before 0.8.5.
    """
    version_row(version)
    if reason := engine_arg_unavailable(candidate.engine_args, version):
        return reason
    spec = candidate.speculation
    if spec is None:
        return None
    return unavailable(spec, version, build, lacking) or argument_conflict(spec, candidate.engine_args, version)


def packages_needed(space: SearchSpace) -> tuple[str, ...]:
    """Return the packages that the space's methods need in the engine's environment besides vLLM."""
    rows = (METHODS[draft.method].package for draft in space.drafts)
    return tuple(dict.fromkeys(row.name for row in rows if row is not None))


def schedule_unavailable(candidate: Candidate, version: str, build: str) -> str | None:
    """Return why the engine cannot run `candidate`, which has a K schedule; None if by the tables it can.

    version: of vLLM.  build: as in unavailable_reason.  Under data parallelism vLLM drops the schedule with a warning.
    """
    spec = candidate.speculation
    if spec is not None and not METHODS[spec.method].schedules:
        return f"method {spec.method} proposes as many tokens in every step"
    parallel = candidate.engine_args.get("data_parallel_size")
    if isinstance(parallel, int) and parallel > 1:
        return "vLLM drops a K schedule under data parallelism"
    return unavailable_reason(candidate, version, build)
