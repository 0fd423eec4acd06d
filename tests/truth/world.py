"""Engines whose true speedups are known, and the trials that a sweep would record of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.truth.noise import Vector, lane_starts, life_noise, requests_factor
from tuner.analysis.repeats import another_repeat
from tuner.engine.sim.profile import Noise
from tuner.records import (
    Candidate,
    Counters,
    EngineFacts,
    Failure,
    FailureKind,
    LoadMeasurement,
    LoadPoint,
    PhaseTimes,
    Protocol,
    Repeat,
    RequestSample,
    Role,
    Trial,
    TrialRecord,
    WorkerFacts,
)

TOKENS = 128
BASE_TPOT_S = 0.02
TTFT_S = 0.1
START_S = 30.0
TOKENS_PER_STEP = 2.5
"""Of a speculating engine: it takes fewer steps for an answer, so that single steps weigh more."""
WORKER = WorkerFacts(device_key="simulated/0", device="simulated", node="simulated")
ENGINE = EngineFacts(version="0.0", command=("simulated",), env={}, start_s=START_S)


@dataclass(frozen=True)
class Truth:
    """What is true of one candidate.

    logs: by load point key the log speedup of each prompt; it holds at every moment, for the engine's median life.
    similar: by load point key its mean over the population of prompts.
    """

    logs: Mapping[str, Vector]
    similar: Mapping[str, float]


@dataclass(frozen=True)
class World:
    """What one sweep meets.

    base_s: baseline TPOT of each prompt, seconds, without noise.  truths: by candidate key.  noise, seed: of the
    simulated engine.  Chances: fails, of a candidate to give nothing at all; life_fails, of a fresh life to fail;
    request_fails, of a request.
    """

    loads: tuple[LoadPoint, ...]
    candidates: tuple[Candidate, ...]
    truths: Mapping[str, Truth]
    base_s: Vector
    noise: Noise
    seed: int
    fails: float = 0.0
    life_fails: float = 0.0
    request_fails: float = 0.0

    def true_log(self, candidate: Candidate, loads: Sequence[LoadPoint]) -> float:
        """Return the weighted mean over load points of the mean over these prompts of the true log speedup."""
        truth = self.truths[candidate.key]
        total = sum(load.weight for load in loads)
        return float(sum(load.weight * truth.logs[load.key].mean() for load in loads) / total)

    def true_similar_log(self, candidate: Candidate, loads: Sequence[LoadPoint]) -> float:
        """Return the same over the population that the prompts were drawn from."""
        truth = self.truths[candidate.key]
        return sum(load.weight * truth.similar[load.key] for load in loads) / sum(load.weight for load in loads)


class Lab:
    """Runs engine lives of a world, one after another on one device, on a clock of its own."""

    def __init__(self, world: World, began_s: float = 0.0) -> None:
        self._world = world
        self._random = np.random.default_rng([world.seed, 1])
        self._now_s = began_s
        self._number = 0

    def life(self, role: Role, candidate: Candidate, protocol: Protocol, round_: int | None = None) -> Trial:
        """Run one life: start, every load point with as many repeats as the protocol asks for, stop."""
        number, self._number = self._number, self._number + 1
        self._now_s += START_S
        record = TrialRecord(number, role, candidate, WORKER, "", PhaseTimes(), ENGINE, round=round_)
        chance = self._world.life_fails if role is Role.FINAL else self._world.fails if candidate.k else 0.0
        if chance and self._random.random() < chance:
            return Trial(replace(record, failure=Failure(FailureKind.CRASHED, "simulated fault")))
        noise = life_noise(self._world.noise, self._world.seed, f"{number}", speculative=candidate.k > 0)
        measured: list[LoadMeasurement] = []
        samples: list[RequestSample] = []
        for load in self._world.loads:
            measurement = LoadMeasurement(load, (), 0.0)
            of_load: list[RequestSample] = []
            times = self._times(candidate, load) * noise.life_factor
            while another_repeat(measurement, of_load, protocol):
                index = len(measurement.repeats)
                factor = noise.repeat_factor(f"{load.key}-r{index}")
                repeat, its = self._repeat(load, index, times * factor, candidate.k)
                measurement = replace(measurement, repeats=(*measurement.repeats, repeat))
                of_load += its
            measured.append(measurement)
            samples += of_load
        return Trial(replace(record, loads=tuple(measured)), tuple(samples))

    def _times(self, candidate: Candidate, load: LoadPoint) -> Vector:
        if not candidate.k:
            return self._world.base_s
        return np.asarray(self._world.base_s * np.exp(-self._world.truths[candidate.key].logs[load.key]))

    def _repeat(self, load: LoadPoint, index: int, times: Vector, k: int) -> tuple[Repeat, list[RequestSample]]:
        steps = (TOKENS - 1) / (TOKENS_PER_STEP if k else 1.0)
        starts = lane_starts(TTFT_S + times * (TOKENS - 1), load.concurrency)
        factor = requests_factor(
            self._world.noise, steps, self._now_s + starts + TTFT_S, times * (TOKENS - 1), self._random
        )
        lasts = times * factor * (TOKENS - 1)
        wall_s = float((starts + TTFT_S + lasts).max())
        broken = self._random.random(len(times)) < self._world.request_fails
        samples = [
            _failed(load, index, i, start) if bad else _answered(load, index, i, start, last)
            for i, (start, last, bad) in enumerate(zip(starts.tolist(), lasts.tolist(), broken.tolist(), strict=True))
        ]
        self._now_s += wall_s
        failed = int(broken.sum())
        return Repeat(index, wall_s, _counters(len(times) - failed, k), len(times), failed), samples


def _answered(load: LoadPoint, repeat: int, index: int, sent_s: float, last_s: float) -> RequestSample:
    first_s = sent_s + TTFT_S
    return RequestSample(
        load.key, repeat, index, f"p{index}", "any", sent_s, first_s, first_s + last_s, 20, TOKENS, "length", "answer"
    )


def _failed(load: LoadPoint, repeat: int, index: int, sent_s: float) -> RequestSample:
    return RequestSample(
        load.key,
        repeat,
        index,
        f"p{index}",
        "any",
        sent_s,
        None,
        None,
        None,
        None,
        None,
        error="TimeoutError: simulated",
    )


def _counters(answered: int, k: int) -> Counters:
    """Return counters that keep vLLM's identities, at an acceptance that any K can have."""
    generated = TOKENS * answered
    if not k:
        return Counters(generated, 20 * answered, answered, decode_steps=generated - answered)
    drafts = (generated - answered) // 2
    positions = tuple(drafts // 2**i for i in range(1, k + 1))
    return Counters(generated, 20 * answered, answered, drafts, 0, drafts, k * drafts, sum(positions), positions)
