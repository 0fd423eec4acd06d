"""A K schedule from a measured surface: the recommended draft's K by concurrency, in as few ranges as can be.

A schedule is a proposal, not an answer: engines pay for being able to change K (other CUDA graphs, another runner), so
what the static figures promise has to be measured again as deployed (tuner.analysis.schedule_judged).

At each measured concurrency those K are open that noise does not separate from the best one there; K = 0, no
speculation, is one of them like any other. The recommended static K is open too where leaving it gains less than the
smallest effect worth knowing. Of all choices the one with the fewest ranges is taken, then the one that leaves the
static K at the fewest concurrencies, then the smallest K.

Between two measured concurrencies the K changes halfway on a logarithmic scale: nothing is known of where it would pay
to change, and an engine that is kept at a measured concurrency stays clear of the change, although its batch is one
smaller whenever one request ends before the next begins. The last range ends at the largest measured concurrency; what
an engine does above it (vLLM goes on with the last K) was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tuner.analysis.comparison import advantage, speedup_estimate
from tuner.analysis.eligibility import Contender
from tuner.analysis.levels import Loads
from tuner.analysis.rules import Choice
from tuner.analysis.selection import Screened
from tuner.records import SCHEDULE, Candidate, Json, Speculation, TrialFigures, Verdict

Range = tuple[int, int, int]
"""First and last batch size, both included, and the K between them."""
Unsupported = Callable[[Candidate], str | None]
"""Returns why the engine cannot run a candidate with a schedule, None if by the tables it can."""


@dataclass(frozen=True)
class Derived:
    """What the surface says at one temperature.

    why: the reason for the schedule, or for having none.  candidate: the schedule; static: the recommended single K,
    which it is held against; both None where there is none to measure.
    """

    temperature: float
    why: str
    candidate: Candidate | None = None
    static: Candidate | None = None


def derive(
    screened: Screened, final: Choice | None, finalists: Sequence[Contender], unsupported: Unsupported
) -> Derived:
    """Return the schedule of the recommended draft at one temperature, or why there is none.

    final: the verdict of the fresh lives, None where there are none.  finalists: as those lives show them; their
    figures count instead of those of their single lives.
    """
    choice = final or screened.choice

    def none(why: str) -> Derived:
        return Derived(screened.temperature, why)

    static = choice.best.figures.candidate
    spec = static.speculation
    if spec is None or choice.verdict not in (Verdict.SPECULATE, Verdict.SPECULATE_BELOW):
        return none("no draft is recommended, so there is no K that a schedule could vary")
    if SCHEDULE in spec.options:
        return none(f"{static.label} has a K schedule of its own already")
    levels = by_concurrency(screened.loads)
    if len(levels) < 2:
        return none("one concurrency was measured, and a schedule varies K with it")
    line = _line(screened, finalists, static)
    open_ks = {c: _open(line, loads, static.k, screened.resolve) for c, loads in levels.items()}
    ks = dict(zip(levels, fewest_ranges(list(open_ks.values()), static.k), strict=True))
    if len(set(ks.values())) == 1:
        return none(_one_k(next(iter(ks.values())), list(levels), screened.resolve))
    candidate = with_schedule(static, spec, ranges(ks))
    words = f"the surface asks for {schedule_words(ranges(ks))}"
    if reason := unsupported(candidate):
        return none(f"{words}, but {reason}")
    return Derived(screened.temperature, f"{words}: {_evidence(line, levels, ks, static.k)}", candidate, static)


def by_concurrency(loads: Loads) -> dict[int, Loads]:
    """Return the load points of each concurrency, ascending."""
    found = sorted({load.concurrency for load in loads})
    return {c: tuple(load for load in loads if load.concurrency == c) for c in found}


def with_schedule(static: Candidate, spec: Speculation, schedule: Sequence[Range]) -> Candidate:
    """Return the candidate with a schedule; its own K is the largest one, to which the engine limits all of them."""
    option: list[Json] = [list(one) for one in schedule]
    most = max(k for _, _, k in schedule)
    options: dict[str, Json] = {**spec.options, SCHEDULE: option}
    return replace(static, speculation=replace(spec, num_speculative_tokens=most, options=options))


def ranges(ks: Mapping[int, int]) -> tuple[Range, ...]:
    """Return the ranges of batch sizes for the K of each measured concurrency (ascending); equal neighbours are one."""
    starts = [(1, ks[min(ks)])]
    for (low, k_low), (high, k_high) in pairwise(ks.items()):
        if k_high != k_low:
            starts.append((math.isqrt(low * high) + 1, k_high))
    ends = [*(start - 1 for start, _ in starts[1:]), max(ks)]
    return tuple((start, end, k) for (start, k), end in zip(starts, ends, strict=True))


def schedule_of(candidate: Candidate) -> tuple[Range, ...]:
    """Return the candidate's schedule, () if it has none."""
    option = candidate.speculation.options.get(SCHEDULE) if candidate.speculation else None
    rows = option if isinstance(option, list) else []
    return tuple((int(row[0]), int(row[1]), int(row[2])) for row in rows if isinstance(row, list))  # type: ignore[arg-type]


def scheduled_k(schedule: Sequence[Range], batch: int) -> int:
    """Return the K at a batch size as vLLM has it: a size in no range takes the K of the range before it."""
    return next((k for start, _, k in reversed(schedule) if batch >= start), 0)


def fewest_ranges(open_ks: Sequence[frozenset[int]], static_k: int) -> tuple[int, ...]:
    """Return one of the open K for each concurrency: fewest changes, then most often the static K, then smallest."""
    best: dict[int, tuple[tuple[int, int, int], tuple[int, ...]]] = {}
    for position, ks in enumerate(open_ks):
        following: dict[int, tuple[tuple[int, int, int], tuple[int, ...]]] = {}
        for k in ks:
            ways = [
                ((changes + (k != before), others + (k != static_k), total + k), (*path, k))
                for before, ((changes, others, total), path) in best.items()
            ]
            following[k] = min(ways) if position else ((0, int(k != static_k), k), (k,))
        best = following
    return min(best.values())[1]


# --- the surface ------------------------------------------------------------------------------------------------------


def _line(screened: Screened, finalists: Sequence[Contender], static: Candidate) -> dict[int, TrialFigures]:
    """Return by K the figures of what differs from the static candidate in K alone and may win, of its device."""
    singles = [c for c in screened.contenders if not c.reasons and _draft(c.figures.candidate) == _draft(static)]
    device = next((c.figures.device_key for c in singles if c.figures.candidate.key == static.key), "")
    line = {c.k: c.figures for c in reversed(singles) if c.figures.device_key == device}
    fresh = [c for c in finalists if not c.reasons and _draft(c.figures.candidate) == _draft(static)]
    return line | {c.k: c.figures for c in fresh}


def _draft(candidate: Candidate) -> Candidate:
    spec = candidate.speculation
    return candidate if spec is None else replace(candidate, speculation=replace(spec, num_speculative_tokens=1))


def _open(line: Mapping[int, TrialFigures], loads: Loads, static_k: int, resolve: float) -> frozenset[int]:
    """Return the K that may be scheduled at these load points, of one concurrency."""
    speedups = {k: estimate.mean for k, figures in line.items() if (estimate := speedup_estimate(figures, loads))}
    speedups[0] = 0.0
    best = max(speedups, key=lambda k: (speedups[k], -k))
    found = {k for k in speedups if k == best or not _separated(line, best, k, loads)}
    if static_k in speedups and speedups[best] - speedups[static_k] < math.log1p(resolve):
        found.add(static_k)
    return frozenset(found)


def _separated(line: Mapping[int, TrialFigures], best: int, other: int, loads: Loads) -> bool:
    """Whether `other` is clearly slower than `best` at these load points; either may be 0."""
    if best == 0:
        estimate = speedup_estimate(line[other], loads)
        return estimate is not None and estimate.below(0.0)
    lead = speedup_estimate(line[best], loads) if other == 0 else advantage(line[best], line[other], loads)
    return lead is not None and lead.above(0.0)


# --- words ------------------------------------------------------------------------------------------------------------


def schedule_words(schedule: Sequence[Range]) -> str:
    """Return "K = 5 at batch sizes 1 to 5, K = 0 at 6 to 32"."""
    parts = [f"K = {k} at {'batch sizes ' if start == 1 else ''}{start} to {end}" for start, end, k in schedule]
    return ", ".join(parts)


def _one_k(k: int, concurrencies: Sequence[int], resolve: float) -> str:
    where = ", ".join(map(str, concurrencies))
    return f"no other K is clearly faster than K = {k} by {resolve:.0%} or more at any measured concurrency ({where})"


def _evidence(
    line: Mapping[int, TrialFigures], levels: Mapping[int, Loads], ks: Mapping[int, int], static_k: int
) -> str:
    """Return what each K other than the static one brings over it, by the figures that the schedule comes from."""
    parts = []
    for concurrency, loads in levels.items():
        speeds = [_speedup(line, k, loads) for k in (ks[concurrency], static_k)]
        if ks[concurrency] != static_k and None not in speeds:
            own, static = (speed or 0.0 for speed in speeds)
            gain = math.expm1(own - static)
            parts.append(f"at concurrency {concurrency} K = {ks[concurrency]} is {gain:.0%} faster than K = {static_k}")
    return "; ".join(parts) if parts else f"K = {static_k} was not measured there"


def _speedup(line: Mapping[int, TrialFigures], k: int, loads: Loads) -> float | None:
    if k == 0:
        return 0.0
    estimate = speedup_estimate(line[k], loads) if k in line else None
    return estimate.mean if estimate else None
