"""The strategies by name, and how each of them chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.searchbench.lives import Noise
from tests.searchbench.optuna_samplers import OptunaSearch
from tests.searchbench.plain import Binary, Grid, RandomOrder
from tests.searchbench.predictions import growth_errors, speedup_errors
from tests.searchbench.published import PUBLISHED
from tests.searchbench.published_rules import Goodput, MedianMinusMad
from tests.searchbench.replay import Rank, Told, search, told
from tests.searchbench.strategy import Strategy, ranked
from tests.searchbench.surfaces import BASELINE, Surface
from tuner.records import Tried
from tuner.search.guided import Guided

GUIDED = "guided"
WITHOUT_END = ("random", "tpe", "gp")
"""They have no rule for stopping: each stops after as many starts as guided took on that surface."""
GATED_SD = 0.01
"""Life SD up to which guided has bars to meet."""
STARTS_PER_DRAFT = 3
"""Stands in for guided's starts where guided does not take part."""
NAMES = ("guided", "grid", "random", "tpe", "gp", "binary", "goodput", "median_mad")


class GuidedStrategy(Guided):
    """The tuner's own search, with its defaults."""

    name = GUIDED

    def __init__(self, surface: Surface) -> None:
        super().__init__([BASELINE, *surface.candidates], surface.loads)


@dataclass(frozen=True)
class Entry:
    """One strategy, ready for one surface, and its rule for the choice."""

    strategy: Strategy
    rank: Rank = ranked


def entry(name: str, surface: Surface, noise: Noise) -> Entry:
    """Return a strategy made for one surface. KeyError: no strategy has that name."""
    if name == "goodput":
        goodput = Goodput(surface)
        return Entry(goodput, lambda _, tried: goodput.rank(tried))
    if name == "median_mad":
        mad = MedianMinusMad(surface)
        return Entry(mad, lambda _, tried: mad.rank(tried))
    if name in ("tpe", "gp"):
        return Entry(OptunaSearch(name, surface, noise.seed))
    if name == GUIDED:
        return Entry(GuidedStrategy(surface))
    made: Mapping[str, Strategy] = {
        "grid": Grid(surface),
        "random": RandomOrder(surface, noise.seed),
        "binary": Binary(surface),
    }
    return Entry(made[name])


def with_predictions(found: Told, surface: Surface, tried: Sequence[Tried]) -> Told:
    """Add how far guided's predictions were off."""
    report = GuidedStrategy(surface).report(tried)
    grown = () if surface.family == PUBLISHED else growth_errors(surface, tried)  # there it is one table both ways
    off = speedup_errors(surface, tried, report)
    return replace(
        found, growth_errors=grown, speedup_errors=off.told, rough_errors=off.rough, ranges_missed=off.missed
    )


def run(surface: Surface, names: tuple[str, ...], noise: Noise) -> dict[str, Told]:
    """Return what came of each strategy; guided is first, as its starts are the others' budget."""
    equal = 1 + STARTS_PER_DRAFT * len(surface.drafts)
    results = {}
    for name in sorted(names, key=lambda n: n != GUIDED):
        one = entry(name, surface, noise)
        tried = search(surface, one.strategy, noise, equal if name in WITHOUT_END else None)
        if name == GUIDED:
            equal = len(tried)
        results[name] = told(surface, tried, one.rank, noise, equal)
        if name == GUIDED and noise.life_sd <= GATED_SD:
            results[name] = with_predictions(results[name], surface, tried)
    return results
