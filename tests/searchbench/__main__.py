"""Which search finds the best K in the fewest engine starts, where the truth is known; ends in one JSON line.

    make bench-search
    .venv/bin/python -m tests.searchbench --surfaces 48 --seed 7 --strategy guided --strategy grid

Replays each strategy on simulated, published and recorded surfaces, without engines, at several sizes of the noise
between engine lives. Exit code 1 if guided misses a bar.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.searchbench.lineup import NAMES, run
from tests.searchbench.lives import Noise
from tests.searchbench.replay import Told
from tests.searchbench.scores import all_figures, bars, by_tag
from tests.searchbench.simulated import KINDS, simulated
from tests.searchbench.surfaces import Surface

LIFE_SDS = (0.0, 0.01, 0.03, 0.15)
GATED_SD = 0.01
SURFACES = 7 * len(KINDS)
SLOW = {"gp": len(KINDS)}
"""Strategies that decide slowly take part in the first so many simulated surfaces: one of each kind."""
CHUNK = 8
DOCUMENT = Path(__file__).parents[2] / "docs" / "bench-search.json"

Task = tuple[int, tuple[int, ...], tuple[str, ...]]  # seed, numbers of surfaces, strategies


def run_task(task: Task) -> dict[str, list[Told]]:
    """Run all strategies on some simulated surfaces, at every size of noise."""
    seed, numbers, names = task
    return replay([simulated(number, seed) for number in numbers], names, seed, numbers)


def replay(
    surfaces: Sequence[Surface], names: tuple[str, ...], seed: int, numbers: Sequence[int] = ()
) -> dict[str, list[Told]]:
    """Return what came of each strategy on each surface at every size of noise."""
    found: dict[str, list[Told]] = {name: [] for name in names}
    for place, surface in enumerate(surfaces):
        number = numbers[place] if numbers else 0
        chosen = tuple(name for name in names if number < SLOW.get(name, number + 1))
        for life_sd in LIFE_SDS:
            for name, told in run(surface, chosen, Noise(life_sd, seed)).items():
                found[name].append(told)
    return found


def bench(surfaces: int, seed: int, names: tuple[str, ...], workers: int) -> dict[str, list[Told]]:
    """Return all searches by strategy."""
    tasks = [(seed, tuple(range(i, min(i + CHUNK, surfaces))), names) for i in range(0, surfaces, CHUNK)]
    found: dict[str, list[Told]] = {name: [] for name in names}
    with ProcessPoolExecutor(workers, initializer=os.nice, initargs=(10,)) as pool:
        for part in pool.map(run_task, tasks):
            for name, told in part.items():
                found[name] += told
    return found


def result_of(found: dict[str, list[Told]]) -> dict[str, object]:
    """Return the figures: pooled over little noise, by noise, and by what a surface is like."""
    little = {name: [one for one in told if one.life_sd <= GATED_SD] for name, told in found.items()}
    levels = {
        f"{100 * sd:g}": all_figures({name: [one for one in told if one.life_sd == sd] for name, told in found.items()})
        for sd in LIFE_SDS
    }
    met = bars(little)
    return {
        "ok": all(met.values()),
        "bars": met,
        "strategies": all_figures(little),
        "by_life_sd_percent": levels,
        "by_kind": by_tag(little),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the result; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.searchbench")
    parser.add_argument("--surfaces", type=int, default=SURFACES, help=f"simulated ones, {len(KINDS)} kinds in turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strategy", action="append", choices=NAMES, help="only this one; can be given again")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", action="store_true", help=f"write the result to {DOCUMENT.name} in docs/")
    args = parser.parse_args(argv)
    began_s = time.monotonic()
    names = tuple(name for name in NAMES if not args.strategy or name in args.strategy)
    found = bench(args.surfaces, args.seed, names, args.workers)
    result = {"bench": "search", "seed": args.seed, "surfaces": args.surfaces, **result_of(found)}
    result["wall_s"] = round(time.monotonic() - began_s, 1)
    if args.keep:
        DOCUMENT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
