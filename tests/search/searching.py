"""A small world for tests of the guided search: exact times, and whatever noise or failure a test asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.records import (
    Candidate,
    Growth,
    GrowthSource,
    Json,
    LoadPoint,
    Observed,
    Outcome,
    Sampling,
    Speculation,
    Tried,
)
from tuner.search.guided import Decision, Guided

PLAIN_S = 0.02


def speculating(k: int, draft: str = "good", args: Mapping[str, Json] | None = None, **options: Json) -> Candidate:
    return Candidate(args or {}, Speculation("draft_model", k, draft, draft, options))


def load(concurrency: int = 1, temperature: float = 0.0, weight: float = 1.0) -> LoadPoint:
    return LoadPoint("chat", concurrency, sampling=Sampling(temperature), weight=weight)


def tokens(k: int, rate: float) -> float:
    return (1 - rate ** (k + 1)) / (1 - rate)


@dataclass
class World:
    """rates: acceptance by draft (default 0.8); costs: a draft pass over a plain step (default 0.06)."""

    loads: Sequence[LoadPoint] = (load(),)
    rates: Mapping[str, float] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    overhead: float = 0.1
    source: GrowthSource = GrowthSource.REPLAY
    extra: Callable[[Candidate, LoadPoint], float] = lambda candidate, at: 0.0
    outcome: Callable[[Candidate], Outcome] = lambda candidate: Outcome.MEASURED

    def log_tpot(self, candidate: Candidate, at: LoadPoint) -> float:
        plain = 1 + 0.001 * at.concurrency
        name = candidate.draft_name
        if not candidate.k:
            return math.log(PLAIN_S * plain) + self.extra(candidate, at)
        step = 1 + 0.001 * at.concurrency * (candidate.k + 1) + self.overhead + self.costs.get(name, 0.06) * candidate.k
        return math.log(PLAIN_S * step / tokens(candidate.k, self.rates.get(name, 0.8))) + self.extra(candidate, at)

    def run(self, candidate: Candidate) -> Tried:
        outcome = self.outcome(candidate)
        if outcome is not Outcome.MEASURED:
            return Tried(candidate, outcome)
        rate = self.rates.get(candidate.draft_name, 0.8)
        logs = tuple(math.log(tokens(i, rate)) for i in range(1, candidate.k + 1))
        growth = Growth(logs, self.source, 9) if self.source is not GrowthSource.NONE and logs else Growth()
        seen = {at.key: Observed(self.log_tpot(candidate, at), 0.005, growth) for at in self.loads}
        return Tried(candidate, outcome, seen)

    def mean(self, candidate: Candidate) -> float:
        return sum(self.log_tpot(candidate, at) for at in self.loads) / len(self.loads)


def search(guided: Guided, world: World, most: int = 200) -> tuple[list[Tried], Decision]:
    """One worker until the search is done; a set of engine arguments gets its baseline first, as the scheduler does."""
    tried: list[Tried] = []
    for _ in range(most):
        decision = guided.next(tried)
        if decision.candidate is None:
            return tried, decision
        base = decision.candidate.baseline
        if decision.candidate.k and all(one.candidate.key != base.key for one in tried):
            tried.append(world.run(base))
        tried.append(world.run(decision.candidate))
    raise AssertionError("the search does not end")
