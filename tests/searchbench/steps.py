"""Which steps a greedy engine takes: each prompt's answer is the same in every life, so its accepted runs are too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.searchbench.surfaces import TOKENS
from tuner.records import Growth, GrowthSource

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]


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


def walk(runs: Counts, k: int, tokens: int = TOKENS) -> tuple[Counts, Counts]:
    """Return the steps that each answer takes after its first token, and the accepted run at every step that is whole.

    The second is steps x prompts, -1 where an answer had ended or the step was cut by its end.
    """
    rows = np.arange(runs.shape[0])
    at, steps, whole = np.ones_like(rows), np.zeros_like(rows), []
    while (at < tokens).any():
        running = at < tokens
        run = np.minimum(runs[rows, np.minimum(at, tokens - 1)], k)
        steps += running
        whole.append(np.where(running & (at + run + 1 <= tokens), run, -1))
        at = np.where(running, at + run + 1, at)
    return steps, np.asarray(whole, dtype=np.int64)


def told_growth(whole: Counts, k: int) -> Growth:
    """Return what the steps of a run at K tell of every smaller K: 1 + mean of min(accepted run, smaller K)."""
    runs, there = np.maximum(whole, 0), whole >= 0
    usable = there.any(axis=0)
    count = there.sum(axis=0)[usable]
    logs = []
    for smaller in range(1, k + 1):
        accepted = np.where(there, np.minimum(runs, smaller), 0).sum(axis=0)[usable]
        logs.append(float(np.mean(np.log1p(accepted / count))))
    return Growth(tuple(logs), GrowthSource.REPLAY, int(usable.sum()))
