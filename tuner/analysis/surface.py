"""K x concurrency: the best K at each concurrency, the best single K for the traffic, where speculation stops paying.

Speedups are weighted geometric means over load points of ratios of the metric that decides, TPOT unless another was
asked for: exp of sum w_c log S_c / sum w_c, as everywhere else. With the traffic's shares of busy time as weights that
is the time average of the log speedup: what a request meets, typically, at a moment picked at random while the engine
is busy. It is no ratio of throughputs, and it supposes that the concurrency stays what it was: an engine that becomes
faster under the same arrivals runs fewer requests at once than before.

Which K is faster is asked in lives of one kind: in fresh ones where both have them, else in the single life that each
has. A figure of fresh lives beside the single lives of others would compare a value that selection raised with one that
it no longer raises. Intervals are those of 95 % for each figure by itself; a verdict asks for more
(tuner.analysis.levels).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tuner.analysis.comparison import advantage, objective_speedup, speedup_estimate
from tuner.analysis.eligibility import Contender
from tuner.analysis.statistics import Estimate, undefined
from tuner.records import (
    BestK,
    Candidate,
    Cell,
    Crossover,
    DraftSurface,
    Effect,
    Figure,
    LoadPoint,
    Surface,
    TrialFigures,
)

Loads = Sequence[LoadPoint]
Line = tuple[str, str, str]  # (draft name, method, engine arguments)


@dataclass(frozen=True)
class Entry:
    """One candidate: its single life, and its fresh lives where there are some.  able: whether it may win at all."""

    single: Contender
    fresh: Contender | None = None
    able: bool = True

    @property
    def figures(self) -> TrialFigures:
        """The figures to show."""
        return (self.fresh or self.single).figures

    @property
    def candidate(self) -> Candidate:
        """What was measured."""
        return self.single.figures.candidate

    @property
    def line(self) -> Line:
        """The curve that it is a point of."""
        return line_of(self.candidate)

    def able_at(self, loads: Loads) -> bool:
        """Whether it may win at these load points: it keeps to the limits there."""
        return self.able and not (self.fresh or self.single).over(loads)

    def speedup(self, loads: Loads) -> Estimate | None:
        """Return its log speedup over its own baseline."""
        return speedup_estimate(self.figures, loads)


def line_of(candidate: Candidate) -> Line:
    """Return the curve that a speculative candidate is a point of."""
    method = candidate.speculation.method if candidate.speculation else ""
    return candidate.draft_name, method, candidate.args_key


def entries(
    contenders: Iterable[Contender], able: Iterable[Contender], fresh: Iterable[Contender] = ()
) -> tuple[Entry, ...]:
    """Return the speculative contenders of one temperature; of several with one candidate the first counts.

    able: those among them that fit the memory.  fresh: finalists, as their fresh lives show them; what bars them there
    bars the contender too.
    """
    fitting = {id(contender) for contender in able}
    lives = {contender.figures.candidate.key: contender for contender in fresh if contender.figures.lives > 1}
    found: dict[str, Entry] = {}
    for contender in contenders:
        if contender.k:
            again = lives.get(contender.figures.candidate.key)
            may_win = id(contender) in fitting and not contender.reasons
            found.setdefault(contender.figures.candidate.key, Entry(contender, again, may_win))
    return tuple(found.values())


def surface(
    found: Sequence[Entry],
    baseline: Contender,
    loads: Loads,
    ks: Mapping[str, Sequence[int]] | None = None,
    failed: Sequence[tuple[Candidate, str]] = (),
) -> Surface | None:
    """Return the surface of one temperature; None where nothing speculative was measured or failed.

    baseline: the best engine without speculation.  loads: of this temperature, with the weights that count.
    ks: K that the space has, by draft name.  failed: candidates that gave nothing, with the reason.
    """
    concurrencies = tuple(sorted({load.concurrency for load in loads}))
    at = {c: tuple(load for load in loads if load.concurrency == c) for c in concurrencies}
    lines = dict.fromkeys([*(entry.line for entry in found), *(line_of(candidate) for candidate, _ in failed)])
    if not lines:
        return None
    drafts = []
    for line in lines:
        of_line = [entry for entry in found if entry.line == line]
        lost = [(candidate, reason) for candidate, reason in failed if line_of(candidate) == line]
        cells = _cells(of_line, lost, at)
        tried = {*(entry.candidate.k for entry in of_line), *(candidate.k for candidate, _ in lost)}
        all_ks = tuple(sorted({*tried, *(ks or {}).get(line[0], ())}))
        drafts.append(
            DraftSurface(*line, all_ks, cells, _by_concurrency(of_line, baseline, at), _best(of_line, baseline, loads))
        )
    best, static = _by_concurrency(found, baseline, at), _best(found, baseline, loads)
    return Surface(
        concurrencies=concurrencies,
        drafts=tuple(drafts),
        best=best,
        crossover=Crossover({c: here.effect for c, here in best.items()}),
        static=static,
        static_crossover=_crossover(found, static, baseline, at) if static else Crossover(),
    )


def _cells(
    of_line: Sequence[Entry], lost: Sequence[tuple[Candidate, str]], at: Mapping[int, Loads]
) -> tuple[Cell, ...]:
    cells: dict[tuple[int, int], Cell] = {}
    for c, loads in at.items():
        for entry in of_line:
            speedup = _figure(entry, loads)
            if speedup.value is not None:
                cell = Cell(entry.candidate.k, c, speedup, entry.figures.lives, not entry.able_at(loads))
                cells.setdefault((cell.k, c), cell)
        for candidate, reason in lost:
            cells.setdefault((candidate.k, c), Cell(candidate.k, c, undefined("x", "speedup", f"failed: {reason}")))
    return tuple(cells[place] for place in sorted(cells))


def _figure(entry: Entry, loads: Loads) -> Figure:
    return objective_speedup(entry.figures, loads[0].sampling.temperature, loads)


def _by_concurrency(found: Sequence[Entry], baseline: Contender, at: Mapping[int, Loads]) -> dict[int, BestK]:
    best = {c: _best(found, baseline, loads) for c, loads in at.items()}
    return {c: here for c, here in best.items() if here is not None}


def _best(found: Sequence[Entry], baseline: Contender, loads: Loads) -> BestK | None:
    """Return what is best at these load points; None where nobody that may win has a figure at each of them."""
    able = [entry for entry in found if entry.able_at(loads) and entry.speedup(loads) is not None]
    if not able:
        return None
    effects = {entry.candidate.key: _effect(entry, baseline, loads) for entry in able}
    paying = [entry for entry in able if effects[entry.candidate.key] is Effect.PAYS]
    fastest = _fastest(paying or able, loads)
    tied = [
        entry
        for entry in able
        if entry is fastest or not (_behind(fastest, entry, loads) or _slower_than(paying, effects, entry))
    ]
    smallest = min(
        (e for e in tied if e in paying and e.line == fastest.line), key=lambda e: e.candidate.k, default=None
    )
    shown = smallest or fastest
    plain = baseline.figures.candidate
    return BestK(
        best=smallest.candidate if smallest else plain,
        fastest=fastest.candidate,
        speedup=_figure(shown, loads),
        lives=shown.figures.lives,
        not_excluded=tuple([] if paying else [plain]) + tuple(entry.candidate for entry in tied),
        effect=_together(list(effects.values())),
    )


def _effect(entry: Entry, baseline: Contender, loads: Loads) -> Effect:
    """Return what it does against its own baseline and, to pay, against the best engine without speculation."""
    own = entry.speedup(loads)
    if own is not None and own.below(0.0):
        return Effect.SLOWER
    if own is None or not own.above(0.0):
        return Effect.UNCLEAR
    if entry.candidate.args_key == baseline.figures.candidate.args_key:
        return Effect.PAYS
    lead = advantage(entry.single.ranked, baseline.ranked, loads)
    return Effect.PAYS if lead is not None and lead.above(0.0) else Effect.UNCLEAR


def _together(effects: Sequence[Effect]) -> Effect:
    if Effect.PAYS in effects:
        return Effect.PAYS
    return Effect.SLOWER if all(effect is Effect.SLOWER for effect in effects) else Effect.UNCLEAR


def _slower_than(paying: Sequence[Entry], effects: Mapping[str, Effect], entry: Entry) -> bool:
    """Whether it is slower than no speculation where another is faster: the lives that say so need not be one kind."""
    return bool(paying) and effects[entry.candidate.key] is Effect.SLOWER


def _fastest(found: Sequence[Entry], loads: Loads) -> Entry:
    """Return the fastest in its single life or, where that one has fresh lives, the fastest of those that have."""

    def in_single(entry: Entry) -> tuple[float, int]:
        estimate = speedup_estimate(entry.single.ranked, loads)
        return (estimate.mean if estimate else float("-inf")), -entry.candidate.k

    def in_fresh(entry: Entry) -> tuple[float, int]:
        estimate = speedup_estimate(entry.fresh.ranked, loads) if entry.fresh else None
        return (estimate.mean if estimate else float("-inf")), -entry.candidate.k

    first = max(found, key=in_single)
    return max((entry for entry in found if entry.fresh), key=in_fresh) if first.fresh else first


def _behind(first: Entry, second: Entry, loads: Loads) -> bool:
    """Whether the second is clearly slower than the first, in lives of one kind."""
    if first.fresh and second.fresh:
        lead = advantage(first.fresh.ranked, second.fresh.ranked, loads)
    else:
        lead = advantage(first.single.ranked, second.single.ranked, loads)
    return lead is not None and lead.above(0.0)


def _crossover(found: Sequence[Entry], static: BestK, baseline: Contender, at: Mapping[int, Loads]) -> Crossover:
    """Return what the best single candidate does at each concurrency; the fastest one where none pays overall."""
    key = (static.best if static.best.k else static.fastest).key
    entry = next(entry for entry in found if entry.candidate.key == key)
    effects = {c: _effect(entry, baseline, loads) for c, loads in at.items() if entry.speedup(loads) is not None}
    return Crossover(effects)
