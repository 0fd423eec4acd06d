"""Do two clients that measured one engine agree? Pure arithmetic, and the words for its result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tuner.records import Json

TOLERANCE = 0.02
"""How far apart two clients may be where the noise is smaller, as a fraction."""
TOO_NOISY = 0.3
"""Rounds of one client that lie further apart than this prove nothing, as a fraction."""

METRICS = {
    "ttft_s": "TTFT",
    "tpot_s": "TPOT",
    "e2e_s": "E2E",
    "throughput_tok_s": "output throughput",
    "acceptance_rate": "acceptance rate",
    "acceptance_length": "acceptance length",
}
"""Figure of a round -> its title. Latencies are medians over the round's requests, in seconds."""

TUNER, BENCH = "tuner", "bench"
Reading = Mapping[str, float | None]
"""One client's figures of one round; None where there is no such figure (no draft)."""


def interleaved(blocks: int) -> list[str]:
    """Return whose turn it is: A B B A, `blocks` times, so that a steady drift favours neither."""
    return [TUNER, BENCH, BENCH, TUNER] * blocks


def noise_floor(values: Sequence[float]) -> float:
    """Return how far one client is from itself: its largest round / its smallest round - 1.

    With four rounds each and nothing but noise, two clients' medians differ by more than the larger of their floors in
    1 % of comparisons (simulated, normal noise of 5 %). The largest difference between two halves of a client's rounds
    would be a sharper floor, but 7 % of comparisons exceed it: too many for twenty figures.
    Raises ValueError with fewer than two rounds.
    """
    if len(values) < 2:
        raise ValueError("the noise of one round is not known")
    return max(values) / min(values) - 1


@dataclass(frozen=True)
class Row:
    """One figure by both clients.

    tuner, bench: median over rounds.  difference: tuner / bench - 1.  floor: the noisier client's distance from itself.
    allowed: TOLERANCE, or the floor where that is larger.
    """

    metric: str
    tuner: float
    bench: float
    difference: float
    floor: float
    allowed: float

    @property
    def within(self) -> bool:
        """Whether the clients agree; not if the noise is too large to tell."""
        return abs(self.difference) <= self.allowed and self.floor <= TOO_NOISY


def compared(readings: Mapping[str, Sequence[Reading]]) -> list[Row]:
    """Return a row per figure that both clients have in every round.

    readings: client -> its rounds.  Raises ValueError where only one client has a figure, or not in all its rounds,
    or one that is not above zero.
    """
    rows = []
    for metric in METRICS:
        of = {client: [reading.get(metric) for reading in rounds] for client, rounds in readings.items()}
        if all(value is None for values in of.values() for value in values):
            continue
        numbers = {client: [_positive(metric, client, value) for value in values] for client, values in of.items()}
        tuner, bench = median(numbers[TUNER]), median(numbers[BENCH])
        floor = max(noise_floor(values) for values in numbers.values())
        rows.append(Row(metric, tuner, bench, tuner / bench - 1, floor, max(TOLERANCE, floor)))
    return rows


def _positive(metric: str, client: str, value: float | None) -> float:
    if value is None or not 0 < value < math.inf:
        raise ValueError(f"{client} has {value} as {METRICS[metric]} in a round")
    return value


@dataclass(frozen=True)
class Comparison:
    """Both clients at one load of one engine.

    readings: client -> its rounds, in order.  clock: how far the tuner's mean TTFT and E2E are above the engine's own,
    over the same requests.
    """

    candidate: str
    concurrency: int
    requests: int
    readings: Mapping[str, Sequence[Reading]]
    clock: Mapping[str, float]

    @property
    def rows(self) -> list[Row]:
        """One row per figure."""
        return compared(self.readings)


def as_json(comparison: Comparison) -> dict[str, Json]:
    """Return what is kept: the medians, their difference, and the rounds that they come from."""
    figures: dict[str, Json] = {}
    for row in comparison.rows:
        figures[row.metric] = {
            "tuner": _short(row.tuner),
            "bench": _short(row.bench),
            "difference": round(row.difference, 5),
            "floor": round(row.floor, 5),
            "allowed": round(row.allowed, 5),
            "within": row.within,
            "tuner_rounds": [_short(reading[row.metric]) for reading in comparison.readings[TUNER]],
            "bench_rounds": [_short(reading[row.metric]) for reading in comparison.readings[BENCH]],
        }
    return {
        "candidate": comparison.candidate,
        "concurrency": comparison.concurrency,
        "requests": comparison.requests,
        "figures": figures,
        "above_engine_clock": {name: round(value, 5) for name, value in comparison.clock.items()},
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def text_table(comparison: Comparison) -> str:
    """Return the comparison for a terminal."""
    title = f"{comparison.candidate}, concurrency {comparison.concurrency}, {comparison.requests} requests a round"
    head = f"  {'':18} {'tuner':>12} {'vllm bench':>12} {'difference':>11} {'A/A floor':>10}"
    lines = [
        f"  {METRICS[row.metric]:18} {row.tuner:12.5g} {row.bench:12.5g} {row.difference:+11.2%} {row.floor:10.2%}"
        f"{'' if row.within else '   TOO NOISY' if row.floor > TOO_NOISY else '   OUTSIDE'}"
        for row in comparison.rows
    ]
    clock = ", ".join(f"{METRICS[name]} {value:+.2%}" for name, value in comparison.clock.items())
    return "\n".join([title, head, *lines, f"  the tuner's means against the engine's own clock: {clock}"])
