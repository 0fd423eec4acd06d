"""Figures of a simulated sweep, and the bars that they are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from tests.scale.sweep import Costs, Size
from tests.scale.virtual_pool import Step, Timeline

MIB = 2**20
LAST = 100
"""Steps of which a median is taken."""
TOLD = 0.95, 0.05, 20.0
"""Bars: utilisation of the workers, seconds of a step, kB of the driver's memory a trial."""

Figures = Mapping[str, Any]
BARS: Mapping[str, Callable[[Figures], bool]] = {
    "utilisation": lambda found: found["utilisation"] >= TOLD[0],
    "step": lambda found: found["step_ms_p50"] < TOLD[1] * 1e3,
    "memory": lambda found: found["rss_kb_per_trial"] < TOLD[2],
    "reads": lambda found: found["reads_of_all_trials"] <= 1,
}


def figures(size: Size, long: Costs, answered: Size, answers: Sequence[Costs]) -> dict[str, Any]:
    """Return all figures.  long: the sweep of that size.  answers: a small and a larger one with lives and report."""
    line, steps = long.timeline, long.timeline.steps
    quarter, end = at_quarter(steps), steps[-1]
    return {
        "utilisation": round(utilisation(size, long), 4),
        "utilisation_by_cpu": round(utilisation_by_cpu(size, long), 4),
        "step_ms_p50": ms([step.cpu_s for step in steps[-2 * size.workers - LAST : -2 * size.workers]]),
        "rss_growth_mb": round((end.rss - quarter.rss) / MIB, 1),
        "trials": line.trials,
        "workers": size.workers,
        "requests": line.requests,
        "step_wall_ms_p50": ms([step.driver_s for step in steps[-2 * size.workers - LAST : -2 * size.workers]]),
        "step_ms_at": {step.trials: ms(around(steps, place)) for place, step in places(steps)},
        "parts_ms_p50": {name: ms(found[len(found) // 4 : len(found) // 2 + 1]) for name, found in long.parts.items()},
        "rss_mb": round(end.rss / MIB),
        "rss_kb_per_trial": round((end.rss - quarter.rss) / 1024 / (end.trials - quarter.trials), 1),
        "reads_of_all_trials": len(long.parts["read all"]),
        "trial_s": round(line.busy_s / line.trials, 1),
        "hours": round(line.ended_s / 3600, 2),
        "answer": {"workers": answered.workers, **of_answers(*answers)},
    }


def of_answers(small: Costs, large: Costs) -> dict[str, Any]:
    """Return what reports took, and what each further trial adds to one and to the planning of a fresh life."""
    trials = [costs.timeline.trials for costs in (small, large)]
    further = trials[1] - trials[0]
    plans = [planning_s(costs.timeline) for costs in (small, large)]
    return {
        "trials": trials,
        "report_s": [round(costs.report_s, 1) for costs in (small, large)],
        "report_ms_per_trial": round(1e3 * (large.report_s - small.report_s) / further, 1),
        "fresh_life_ms_per_trial": round(1e3 * (plans[1] - plans[0]) / further, 2),
    }


def planning_s(line: Timeline) -> float:
    """Return the median CPU seconds of the driver's steps between fresh lives; the first also loads what it needs."""
    return median([step.cpu_s for step in line.steps if step.trials > line.searched][1:])


def utilisation(size: Size, costs: Costs) -> float:
    """Return the share of all workers' time until the last search trial that was spent in trials."""
    return costs.timeline.searching_busy_s / (size.workers * costs.timeline.searching_ended_s)


def utilisation_by_cpu(size: Size, costs: Costs) -> float:
    """Return what it would be where a step of the driver took its CPU time and no longer."""
    return costs.timeline.searching_busy_s / (size.workers * costs.timeline.searching_ended_cpu_s)


def at_quarter(steps: Sequence[Step]) -> Step:
    """Return the step after a quarter of all."""
    return steps[len(steps) // 4]


def places(steps: Sequence[Step]) -> list[tuple[int, Step]]:
    """Return eight steps, evenly spread, with their places."""
    every = [len(steps) * part // 8 for part in range(1, 8)]
    return [(place, steps[place]) for place in every]


def around(steps: Sequence[Step], place: int) -> list[float]:
    """Return the CPU seconds of the steps around a place."""
    return [step.cpu_s for step in steps[max(0, place - LAST // 2) : place + LAST // 2]]


def ms(seconds: Sequence[float]) -> float:
    """Return the median in milliseconds."""
    return round(1e3 * median(seconds), 1)
