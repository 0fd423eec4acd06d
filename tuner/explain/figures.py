"""Figures as an explanation writes them, the same in every language. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from tuner.analysis.statistics import Estimate, exp
from tuner.explain.lines import Line, Listed, line
from tuner.records import Figure, LoadPoint
from tuner.words import times

COUNTED = ("prompts", "repeats", "rounds", "drafts", "steps", "requests")
"""What the n of a figure may count, with a message each."""


def counted(n: int, of: str) -> Line:
    """Return "12 prompts"."""
    return line(f"n.{of}", n=f"{n:,}") if of in COUNTED else line("n.other", n=f"{n:,}", of=of)


def n_of(figure: Figure) -> Line:
    """Return how many observations a figure rests on."""
    return counted(figure.n, figure.n_of)


def ratio(estimate: Estimate) -> str:
    """Return "1.11x (0.98-1.26)" of a logarithm."""
    interval = estimate.interval()
    value = f"{exp(estimate.mean):.2f}x"
    return value if interval is None else f"{value} ({exp(interval[0]):.2f}-{exp(interval[1]):.2f})"


def speedup(figure: Figure) -> str:
    """Return "1.45x (1.23-1.70)"."""
    return times(figure)


def length(figure: Figure) -> str:
    """Return "1.80 (1.09-3.00)", of plain steps."""
    return "-" if figure.value is None else times(figure).replace("x", "")


def share(fraction: float) -> str:
    """Return "48 %"."""
    return f"{100 * fraction:.0f} %"


def fine_share(fraction: float) -> str:
    """Return "6.6 %", "139 %", or "> 1000 %" from where the number means no more than that."""
    if fraction >= 10:
        return "> 1000 %"
    return f"{100 * fraction:.1f} %" if fraction < 0.1 else f"{100 * fraction:.0f} %"


def ranges(ks: Iterable[int]) -> str:
    """Return "1-3, 5": ascending, three or more in a row as a range."""
    runs = []
    for _, pairs in groupby(enumerate(sorted(set(ks))), lambda pair: pair[1] - pair[0]):
        run = [k for _, k in pairs]
        runs += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(k) for k in run]
    return ", ".join(runs)


def numbers(values: Iterable[int]) -> Listed:
    """Return "1, 8 and 32"."""
    return Listed(tuple(str(value) for value in values))


def where(load: LoadPoint, loads: Sequence[LoadPoint]) -> Line:
    """Return "concurrency 8" where that alone tells the load points apart, else with eval set and answer length."""
    others = {(x.eval_set, x.max_tokens, x.ignore_eos, x.num_prompts) for x in loads}
    if len(others) == 1:
        return line("where.concurrency", concurrency=str(load.concurrency))
    return line("where.load", eval_set=load.eval_set, concurrency=str(load.concurrency), tokens=str(load.max_tokens))
