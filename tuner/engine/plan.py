"""What a sweep would do, without doing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuner.engine.argv import engine_command
from tuner.engine.resolve import Engine
from tuner.records import Candidate, LoadPoint, Protocol, Role
from tuner.space.candidates import candidates, unavailable_reason
from tuner.space.search_space import SearchSpace

PORT = "PORT"
SERVED_NAME = "SERVED_NAME"
"""Stand-ins in a planned command: each start gets a free port and a name of its own."""


@dataclass(frozen=True)
class PlannedStart:
    """One engine start.  command: exact, but for PORT and SERVED_NAME."""

    role: Role
    candidate: Candidate
    command: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Every engine start of a sweep in order, and what it leaves out.

    starts: for one worker.  engine_starts: expected with all workers, each of which has its own baselines, and within
    the space's limits.  limited: True if the limits cut the plan short.  unavailable: candidates that this engine
    cannot run, with the reason.  env: variables set for each engine beside the tuner's own.  final_rounds: least and
    most rounds of fresh lives that come on top, each of two starts or more; None for none.
    """

    space: str
    target: str
    starts: tuple[PlannedStart, ...]
    engine_starts: int
    limited: bool
    unavailable: tuple[tuple[Candidate, str], ...]
    load_points: tuple[LoadPoint, ...]
    env: Mapping[str, str]
    final_rounds: tuple[int, int] | None = None


def plan(
    space: SearchSpace, engine: Engine, target: str, workers: int = 1, refused: Mapping[str, str] | None = None
) -> Plan:
    """Return what a sweep of `space` with `engine` would start.

    workers: how many engines run side by side; a baseline is measured on each of them.
    refused: why a candidate is left out that the tables would allow, by key.
    Raises EngineNotFound for an engine older than the tables.
    """
    tried = candidates(space)
    more = refused or {}
    reasons = [
        (candidate, unavailable_reason(candidate, engine.version, engine.build) or more.get(candidate.key))
        for candidate in tried
    ]
    possible = [candidate for candidate, reason in reasons if reason is None]
    baselines = [candidate for candidate in possible if candidate.speculation is None]
    again = baselines if space.protocol.baseline_again else []
    ordered = [
        *((Role.BASELINE, candidate) for candidate in baselines),
        *_with_baselines_between([c for c in possible if c.speculation], space.protocol),
        *((Role.BASELINE_AGAIN, candidate) for candidate in again),
    ]
    starts = tuple(
        PlannedStart(role, candidate, engine_command(engine, target, SERVED_NAME, PORT, candidate))
        for role, candidate in ordered
    )
    wanted = len(starts) + (workers - 1) * (len(baselines) + len(again))
    allowed = min(limit for limit in (wanted, space.limits.max_engine_starts, space.limits.max_trials) if limit)
    return Plan(
        space=space.name,
        target=target,
        starts=starts,
        engine_starts=allowed,
        limited=allowed < wanted,
        unavailable=tuple((candidate, reason) for candidate, reason in reasons if reason is not None),
        load_points=space.load_points,
        env=space.env,
        final_rounds=(space.protocol.lives, space.protocol.max_lives) if space.protocol.lives > 1 else None,
    )


def _with_baselines_between(speculative: Sequence[Candidate], protocol: Protocol) -> Iterator[tuple[Role, Candidate]]:
    """Yield the candidates, each group's baseline again before those that come after `baseline_every` of the group."""
    since: Counter[str] = Counter()
    for candidate in speculative:
        if protocol.baseline_again and since[candidate.args_key] == protocol.baseline_every:
            since[candidate.args_key] = 0
            yield Role.BASELINE_AGAIN, candidate.baseline
        since[candidate.args_key] += 1
        yield Role.CANDIDATE, candidate
