"""What a surface is: engines whose time per output token is known for every draft, K and concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tuner.records import Candidate, Growth, LoadPoint, Speculation

BASELINE = Candidate()
UNKNOWN = Growth()
TOKENS = 128
"""Of every answer."""


@dataclass(frozen=True)
class Arm:
    """What is true of one candidate.

    log_tpot: by load point key the mean over prompts of log(TPOT in seconds) in the engine's median life.
    log_growth: mean over prompts of log(tokens per step), None where it is not known.
    growth: what one life of it tells of tokens per step at its own and smaller K.
    fits: whether it starts at all.  ses: by load point key the standard error from repeats, where a real life gave one.
    """

    log_tpot: Mapping[str, float]
    log_growth: float | None = None
    growth: Growth = UNKNOWN
    fits: bool = True
    ses: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Surface:
    """One target with its drafts.

    family: which bars and rows it counts for.  tags: what it is like, for the tables of where a strategy loses.
    candidates: those that speculate.  arms: by candidate key, the baseline's too.  prompts: in the eval set.
    repeat_sd: of the log TPOT over repeats in one life.  seed: of its noise.
    """

    name: str
    family: str
    tags: tuple[str, ...]
    loads: tuple[LoadPoint, ...]
    candidates: tuple[Candidate, ...]
    arms: Mapping[str, Arm]
    prompts: int
    repeat_sd: float
    seed: int

    @property
    def drafts(self) -> tuple[str, ...]:
        """Names of the drafts, in order."""
        return tuple(dict.fromkeys(c.draft_name for c in self.candidates))

    @cached_property
    def k(self) -> Mapping[str, int]:
        """K by candidate key, 0 for the baseline."""
        return {c.key: c.k for c in (BASELINE, *self.candidates)}

    @cached_property
    def true_logs(self) -> Mapping[str, float]:
        """Weighted mean over load points of the true log speedup, by candidate key."""
        base = self.arms[BASELINE.key].log_tpot
        return {
            key: weighted(self.loads, {load: base[load] - log for load, log in arm.log_tpot.items()})
            for key, arm in self.arms.items()
        }

    @cached_property
    def true_best(self) -> float:
        """The largest true log speedup of a candidate that starts; 0 where none is faster than the baseline."""
        return max(log for key, log in self.true_logs.items() if self.arms[key].fits)

    def regret(self, key: str) -> float:
        """Return by how much a candidate is slower than the best one, as a difference of logs."""
        return self.true_best - self.true_logs[key]


def weighted(loads: tuple[LoadPoint, ...], by_load: Mapping[str, float]) -> float:
    """Return the mean over load points by their weights."""
    return sum(load.weight * by_load[load.key] for load in loads) / sum(load.weight for load in loads)


def load_point(concurrency: int, weight: float = 1.0) -> LoadPoint:
    """Return a load point at temperature 0 with answers of one exact length."""
    return LoadPoint("searchbench", concurrency, TOKENS, ignore_eos=True, weight=weight)


def candidate(draft: str, k: int, method: str = "draft_model") -> Candidate:
    """Return a candidate with a draft model."""
    return Candidate({}, Speculation(method, k, draft, f"/models/{draft}"))
