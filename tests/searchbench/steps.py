"""Which steps a greedy engine takes: each prompt's answer is the same in every life, so its accepted runs are too."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.searchbench.surfaces import TOKENS
from tuner.analysis.accepted import growth
from tuner.records import (
    Candidate,
    Counters,
    EngineFacts,
    Growth,
    GrowthSource,
    LoadMeasurement,
    LoadPoint,
    PhaseTimes,
    Repeat,
    RequestSample,
    Role,
    Trial,
    TrialRecord,
    WorkerFacts,
)

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

_WORKER = WorkerFacts(device_key="simulated/0", device="simulated", node="simulated")
_ENGINE = EngineFacts(version="0.0", command=("simulated",), env={}, start_s=0.0)


def runs_at(given: Matrix, draws: Matrix) -> Counts:
    """Return how many proposed tokens would be accepted from each token of each answer on, shape prompts x tokens.

    given: chance that the token at each draft position is accepted if those before it were, prompts x K.
    draws: one uniform number per token of the answer, prompts x (tokens + K), the same for every K.
    """
    k = given.shape[1]
    length = draws.shape[1] - k
    alive = np.ones((given.shape[0], length), dtype=np.bool_)
    runs = np.zeros_like(alive, dtype=np.int64)
    for place in range(k):
        alive = alive & (draws[:, place : place + length] < given[:, place : place + 1])
        runs += alive
    return runs


def walk(runs: Counts, k: int, tokens: int = TOKENS) -> list[list[int]]:
    """Return the accepted run at every step of each answer after its first token; the last may go beyond its end."""
    answers = []
    for row in runs.tolist():
        at, steps = 1, []
        while at < tokens:
            steps.append(min(row[at], k))
            at += steps[-1] + 1
        answers.append(steps)
    return answers


def log_growth(answers: Sequence[Sequence[int]], tokens: int = TOKENS) -> float:
    """Return the mean over prompts of log(tokens per step), the last step counted as a whole."""
    return float(np.mean(np.log([(tokens - 1) / len(steps) for steps in answers])))


def told_growth(candidate: Candidate, load: LoadPoint, answers: Sequence[Sequence[int]]) -> Growth:
    """Return what a trial with these steps tells of every smaller K, by the tuner's own estimate."""
    return growth(_trial(candidate, load, answers), load, chain=True, k=candidate.k)


def quick_growth(answers: Sequence[Sequence[int]], k: int, source: GrowthSource) -> Growth:
    """Return about the same as `told_growth` at a fiftieth of its time: 1 + mean of min(run, smaller K), whole steps.

    Exact at K = k. For runs beside one at a larger K, from which acceptance is told anyway.
    """
    runs = [np.asarray(steps[:-1] or steps) for steps in answers]
    logs = [float(np.mean([math.log1p(np.minimum(run, smaller).mean()) for run in runs])) for smaller in range(1, k)]
    return Growth((*logs, log_growth(answers)), source, len(answers))


def _trial(candidate: Candidate, load: LoadPoint, answers: Sequence[Sequence[int]]) -> Trial:
    runs = [run for steps in answers for run in steps]
    counters = Counters(
        generation_tokens=TOKENS * len(answers),
        prompt_tokens=20 * len(answers),
        requests=len(answers),
        decode_steps=len(runs),
        drafts=len(runs),
        draft_tokens=candidate.k * len(runs),
        accepted_tokens=sum(runs),
        accepted_per_pos=tuple(sum(run > i for run in runs) for i in range(candidate.k)),
    )
    repeat = Repeat(0, 1.0, counters, len(answers), 0)
    loads = (LoadMeasurement(load, (repeat,), 0.0),)
    record = TrialRecord(0, Role.CANDIDATE, candidate, _WORKER, "", PhaseTimes(), _ENGINE, loads=loads)
    return Trial(record, tuple(_sample(load, index, steps) for index, steps in enumerate(answers)))


def _sample(load: LoadPoint, index: int, steps: Sequence[int]) -> RequestSample:
    delivered = [1, *(run + 1 for run in steps)]
    delivered[-1] -= sum(delivered) - TOKENS
    return RequestSample(
        load.key, 0, index, f"p{index}", "any", 0.0, 0.1, 1.0, 20, TOKENS, "length", "", chunk_tokens=tuple(delivered)
    )
