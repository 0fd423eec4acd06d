"""Two engines, an old and a new one, whose acceptance and speed are known; sweeps of both as the tuner runs them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.built_artifact import Built
from tests.truth.noise import Vector, lane_starts, requests_factor
from tests.truth.regimes import candidate, loads_of
from tests.truth.sweep import confirm, screen_all
from tests.truth.world import BASE_TPOT_S, TOKENS, TTFT_S, Lab, Truth, World
from tuner.compare.from_artifact import side_of
from tuner.compare.from_records import with_records
from tuner.compare.sides import Side
from tuner.engine.sim.profile import Noise
from tuner.records import Candidate, Counters, LoadPoint, Protocol, Repeat, RequestSample, Role, Trial

KS = (1, 2, 3, 4)
CONCURRENCIES = (1, 8)
STEP_COST = {1: 0.08, 8: 0.14}
"""What each token of K adds to a step, by concurrency, as a share of a step without a draft."""
PROMPTS = 24
REQUEST_SD = 0.003
"""Of the acceptance length of one request: near-ties that batching decides now and then."""


@dataclass(frozen=True)
class Engine:
    """acceptance: factor on every prompt's acceptance length.  speed: factor on the speed of everything it does."""

    acceptance: float = 1.0
    speed: float = 1.0


@dataclass(frozen=True)
class Prompts:
    """The same in both sweeps.  base_s: seconds per step without speculation.  length: of acceptance, by K."""

    base_s: Vector
    lengths: dict[int, Vector]


def prompts_of(seed: int) -> Prompts:
    """Return prompts that differ in speed and in how well they can be drafted for."""
    random = np.random.default_rng([seed, 11])
    base_s = np.asarray(BASE_TPOT_S * np.exp(0.1 * random.standard_normal(PROMPTS)))
    accepted = 1 / (1 + np.exp(-(0.9 + 0.5 * random.standard_normal(PROMPTS))))
    return Prompts(base_s, {k: np.asarray(sum(accepted**i for i in range(k + 1))) for k in KS})


class AcceptingLab(Lab):
    """A lab whose engines accept draft tokens: counters, and times that follow from them."""

    def __init__(self, world: World, lengths: dict[str, Vector], ttft_s: float) -> None:
        super().__init__(world)
        self._lengths = lengths
        self._ttft_s = ttft_s
        self._running = ""

    def life(self, role: Role, candidate: Candidate, protocol: Protocol, round_: int | None = None) -> Trial:
        """Run one life, as in the base class."""
        self._running = candidate.key
        return super().life(role, candidate, protocol, round_)

    def _repeat(self, load: LoadPoint, index: int, times: Vector, k: int) -> tuple[Repeat, list[RequestSample]]:
        n = len(times)
        jitter = np.exp(REQUEST_SD * self._random.standard_normal(n)) if k else np.ones(n)
        steps = (TOKENS - 1) / (self._lengths[self._running] * jitter) if k else np.full(n, TOKENS - 1.0)
        starts = lane_starts(self._ttft_s + times * (TOKENS - 1), load.concurrency)
        factor = requests_factor(
            self._world.noise, float(steps.mean()), self._now_s + starts, times * (TOKENS - 1), self._random
        )
        lasts = times / jitter * factor * (TOKENS - 1)
        firsts = self._ttft_s * factor * times / self._times_without_noise(load, k)
        wall_s = float((starts + firsts + lasts).max())
        self._now_s += wall_s
        rows = zip(starts.tolist(), firsts.tolist(), lasts.tolist(), strict=True)
        samples = [
            RequestSample(load.key, index, i, f"p{i}", "any", s, s + f, s + f + last, 20, TOKENS, "length", "answer")
            for i, (s, f, last) in enumerate(rows)
        ]
        return Repeat(index, wall_s, _counters(steps, k), n, 0), samples

    def _times_without_noise(self, load: LoadPoint, k: int) -> Vector:
        by_key = {one.key: one for one in self._world.candidates}
        return self._times(by_key[self._running], load) if k else self._world.base_s


def _counters(steps: Vector, k: int) -> Counters:
    generated, answered = TOKENS * len(steps), len(steps)
    if not k:
        return Counters(generated, 20 * answered, answered, decode_steps=generated - answered)
    drafts = round(float(steps.sum()))
    accepted = generated - answered - drafts
    positions = _positions(accepted, drafts, k)
    return Counters(generated, 20 * answered, answered, drafts, 0, drafts, k * drafts, sum(positions), positions)


def _positions(accepted: int, drafts: int, k: int) -> tuple[int, ...]:
    """Return counts by position, none larger than the one before, that add up to `accepted`."""
    left, found, most = accepted, [], drafts
    for place in range(k):
        here = min(most, math.ceil(left / (k - place) * (1.0 if place == k - 1 else 1.2)), left)
        found.append(here)
        left, most = left - here, here
    found[0] += left
    return tuple(found)


def sweep(prompts: Prompts, engine: Engine, noise: Noise, seed: int, protocol: Protocol) -> list[Trial]:
    """Return the trials of one whole sweep: single lives of every K, then fresh lives until it has enough."""
    loads = loads_of(CONCURRENCIES)
    candidates = tuple(candidate("draft", k) for k in KS)
    lengths = {one.key: prompts.lengths[one.k] * engine.acceptance for one in candidates}
    truths = {one.key: _truth(one, loads, lengths[one.key]) for one in candidates}
    world = World(loads, candidates, truths, prompts.base_s / engine.speed, noise, seed)
    lab = AcceptingLab(world, lengths, TTFT_S / engine.speed)
    trials = screen_all(lab, world, protocol)
    confirm(lab, world, trials, protocol)
    return trials


def _truth(one: Candidate, loads: Sequence[LoadPoint], lengths: Vector) -> Truth:
    logs = {load.key: np.log(lengths / (1 + STEP_COST[load.concurrency] * one.k)) for load in loads}
    return Truth(logs, {key: float(values.mean()) for key, values in logs.items()})


def side(trials: Sequence[Trial], where: str, protocol: Protocol, *, records: bool = True) -> Side:
    """Return the sweep as it is compared.  records: with what each life measured, or as the artifact has it alone."""
    from dataclasses import asdict

    config = Built(trials, loads_of(CONCURRENCIES), protocol=protocol).config
    found = side_of(where, config.model_copy(update={"protocol": asdict(protocol)}))
    return with_records(found, trials) if records else found
