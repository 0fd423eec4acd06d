"""Time per step as a function of K and concurrency: what an engine's passes cost, and its derivatives. Pure.

With c requests in flight a step of K draft tokens is one pass of the target over n = c (K + 1) tokens, padded to the
size of a captured graph, and K passes of the draft:

    t / S = 1 + a (min(n, B) - 1) + (g / B) max(0, n - B) + v c + o + d K (1 + e (c - 1))

S: a pass over one token.  a: what a further token costs while reading the weights dominates.  B: tokens from which
computing takes over (the bend), g about 1.  v: what a request costs whatever K is (reading its cache).  o: what
speculation costs whatever K is; a step without speculation, K = 0, is without it, as it may run on another runner.
d: a pass of the draft, e: what a further request costs it.  All are positive and are fitted as logarithms.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GRAPHS = (1, 2, 4, *range(8, 513, 8))
"""Batch sizes with a captured graph by default, as far as they are dense; passes are padded to the next one."""
LARGEST_POWER = 1024
"""The largest graph where sizes are powers of two; larger passes run without one, as they are."""
PADDINGS: Mapping[str, float] = {"none": 0.5, "graphs": 0.3, "powers of two": 0.2}
"""How passes may be padded, and how likely that is before anything was measured."""
STEP, TOKEN, BENT, BEND, REQUEST, OVERHEAD, CROWD, DRAFTS = range(8)
"""Places of log S, a, g, B, v, o, e among the parameters; from DRAFTS on log d of each draft."""
PRIOR: tuple[tuple[float, float], ...] = (
    (0.0, 1.0),
    (float(np.log(0.004)), 1.6),
    (float(np.log(0.9)), 0.4),
    (0.0, 0.35),
    (float(np.log(0.001)), 1.5),
    (float(np.log(0.1)), 1.2),
    (float(np.log(0.004)), 1.3),
)
"""Mean and SD of the logarithms; those of S and B are about the baseline and the structure."""
DRAFT_PRIOR = (float(np.log(0.06)), 1.2)
STRAIGHT = 0.5
"""How likely there is no bend among the tokens that are run."""
FLOOR = 0.7
"""A step that takes less than this share of the baseline's would read the weights faster than the baseline does."""


@dataclass(frozen=True)
class Structure:
    """padding: a key of PADDINGS.  bend: tokens about which the bend lies.  log_prior: of the structure."""

    padding: str
    bend: float
    log_prior: float


@dataclass(frozen=True)
class Rows:
    """Steps whose time is looked at.  draft: its number, -1 without speculation; all arrays have one entry a step."""

    concurrency: Floats
    k: Floats
    draft: NDArray[np.int64]


def structures(rows: Rows) -> list[Structure]:
    """Return the structures that differ on these steps."""
    tokens = rows.concurrency * (rows.k + 1)
    paddings = {"none": PADDINGS["none"]}
    for name, share in PADDINGS.items():
        if name != "none" and not np.array_equal(padded(tokens, name), tokens):
            paddings[name] = share
    most = float(padded(tokens, "powers of two").max())
    bends = [2.0**power for power in range(2, 13) if tokens.min() < 1.5 * 2.0**power and 2.0**power < most]
    total = sum(paddings.values())
    straight = STRAIGHT if bends else 1.0
    found = []
    for name, share in paddings.items():
        found.append(Structure(name, 64 * most, float(np.log(share / total * straight))))
        for bend in bends:
            found.append(Structure(name, bend, float(np.log(share / total * (1 - straight) / len(bends)))))
    return found


def padded(tokens: Floats, padding: str) -> Floats:
    """Return the tokens that a pass over `tokens` computes."""
    if padding == "none":
        return tokens
    if padding == "graphs":
        return np.asarray([_to_graph(n) for n in tokens])
    return np.where(tokens <= LARGEST_POWER, 2.0 ** np.ceil(np.log2(tokens) - 1e-9), tokens)


def _to_graph(tokens: float) -> float:
    slot = bisect.bisect_left(GRAPHS, tokens - 1e-9)
    return float(GRAPHS[slot]) if slot < len(GRAPHS) else float(tokens)


def log_times(logs: Floats, rows: Rows, sizes: Floats) -> tuple[Floats, Floats]:
    """Return log seconds (structures, rows) of these steps, and the derivatives (structures, rows, parameters).

    logs: parameters (structures, parameters), see STEP and the following.  sizes: padded tokens (structures, rows).
    """
    step, token, bent, bend, request, overhead, crowd = (np.exp(logs[:, i, None]) for i in range(DRAFTS))
    speculates = (rows.draft >= 0)[None, :]
    cost = np.exp(logs[:, DRAFTS + np.maximum(rows.draft, 0)]) if logs.shape[1] > DRAFTS else np.zeros_like(sizes)
    below, above = np.minimum(sizes, bend), np.maximum(0.0, sizes - bend)
    drafting = np.where(speculates, cost * rows.k[None, :], 0.0)
    crowded = drafting * crowd * (rows.concurrency - 1.0)[None, :]
    extra = np.where(speculates, overhead, 0.0)
    waiting = request * rows.concurrency[None, :]
    total = 1.0 + token * (below - 1.0) + bent / bend * above + waiting + extra + drafting + crowded
    slopes = np.zeros((*sizes.shape, logs.shape[1]))
    slopes[..., STEP] = 1.0
    slopes[..., TOKEN] = token * (below - 1.0) / total
    slopes[..., BENT] = bent / bend * above / total
    slopes[..., BEND] = np.where(sizes > bend, token * bend - bent * sizes / bend, 0.0) / total
    slopes[..., REQUEST] = waiting / total
    slopes[..., OVERHEAD] = extra / total
    slopes[..., CROWD] = crowded / total
    for draft in range(logs.shape[1] - DRAFTS):
        slopes[..., DRAFTS + draft] = np.where(rows.draft[None, :] == draft, drafting + crowded, 0.0) / total
    return np.log(step * total), slopes


def impossible(log_seconds: Mapping[int, float], baseline: float | None, noise: float) -> str:
    """Return why these step times cannot be one engine's, "" if they can.

    log_seconds: log time per step by K.  baseline: the same without speculation, None if not known.  noise: log SD of
    one of them.
    """
    allowed = 3.0 * 2**0.5 * noise
    order = sorted(log_seconds)
    highest = order[0] if order else 0
    for k in order:
        if log_seconds[k] < log_seconds[highest] - allowed:
            return f"a step with K = {k} takes less time than one with K = {highest}"
        if log_seconds[k] > log_seconds[highest]:
            highest = k
    if baseline is not None:
        for k in order:
            if log_seconds[k] < baseline + np.log(FLOOR) - allowed:
                return f"a step with K = {k} takes less than {FLOOR * 100:g} % of the baseline's"
    return _below_zero(log_seconds, order, allowed)


def _below_zero(log_seconds: Mapping[int, float], order: Sequence[int], allowed: float) -> str:
    """A straight line through the two smallest K leaves nothing for verification at K = 0, even within noise."""
    if len(order) < 2 or order[0] > 2:
        return ""
    low, high = order[0], order[1]
    left = np.exp(log_seconds[low] + allowed / 2) * high - np.exp(log_seconds[high] - allowed / 2) * low
    return "" if left > 0 else f"K = {low} and {high} leave no time for verification"
