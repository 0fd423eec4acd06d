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
from dataclasses import asdict
from pathlib import Path

from tests.measured_commit import measured_commit
from tests.searchbench.lineup import GATED_SD, NAMES, run
from tests.searchbench.lives import Noise
from tests.searchbench.page import write_page
from tests.searchbench.predictions import held_out
from tests.searchbench.published import TABLES, published
from tests.searchbench.recorded import recorded
from tests.searchbench.replay import Told
from tests.searchbench.scores import all_figures, bars, by_tag
from tests.searchbench.simulated import KINDS, rough, simulated
from tests.searchbench.surfaces import Surface

LIFE_SDS = (0.0, 0.01, 0.03, 0.15)
SURFACES = 7 * len(KINDS)
ROUGH = 2 * len(KINDS)
SLOW = {"gp": len(KINDS)}
"""Strategies that decide slowly take part in the first so many simulated surfaces, at little noise."""
CHUNK = 8
DOCUMENT = Path(__file__).parents[2] / "docs" / "bench-search.json"

Task = tuple[int, tuple[int, ...], tuple[str, ...], bool]  # seed, numbers of simulated surfaces, strategies, rough ones
Found = dict[str, list[Told]]


def run_task(task: Task) -> Found:
    """Run all strategies on some simulated surfaces: at every size of noise, on rough ones at the small ones."""
    seed, numbers, names, is_rough = task
    found: Found = {name: [] for name in names}
    for number in numbers:
        surface = rough(number, seed) if is_rough else simulated(number, seed)
        for life_sd in LIFE_SDS[: 2 if is_rough else None]:
            late = is_rough or life_sd > GATED_SD
            chosen = tuple(n for n in names if n not in SLOW or (number < SLOW[n] and not late))
            for name, told in run(surface, chosen, Noise(life_sd, seed)).items():
                found[name].append(told)
    return found


def bench(surfaces: int, seed: int, names: tuple[str, ...], workers: int, is_rough: bool = False) -> Found:
    """Return all searches of simulated surfaces by strategy."""
    tasks = [(seed, tuple(range(i, min(i + CHUNK, surfaces))), names, is_rough) for i in range(0, surfaces, CHUNK)]
    found: Found = {name: [] for name in names}
    with ProcessPoolExecutor(workers, initializer=os.nice, initargs=(10,)) as pool:
        for part in pool.map(run_task, tasks):
            for name, told in part.items():
                found[name] += told
    return found


def replay(surfaces: Sequence[Surface], life_sds: Sequence[float], seed: int, names: tuple[str, ...]) -> Found:
    """Return all searches of other surfaces by strategy."""
    found: Found = {name: [] for name in names}
    for surface in surfaces:
        for life_sd in life_sds:
            for name, told in run(surface, names, Noise(life_sd, seed)).items():
                found[name].append(told)
    return found


def simulated_result(found: Found) -> dict[str, object]:
    """Return the figures: pooled over little noise, by noise, and by what a surface is like."""
    little = {name: [one for one in told if one.life_sd <= GATED_SD] for name, told in found.items()}
    levels = {
        f"{100 * sd:g}": all_figures({name: [one for one in told if one.life_sd == sd] for name, told in found.items()})
        for sd in LIFE_SDS
    }
    met = bars(little, found)
    return {
        "ok": all(met.values()),
        "bars": met,
        "strategies": all_figures(little),
        "by_life_sd_percent": levels,
        "by_kind": by_tag(little),
    }


def other_result(seed: int, names: tuple[str, ...]) -> dict[str, object]:
    """Return the figures on published and recorded surfaces: told, not judged."""
    tables, runs = published(), recorded()
    held = [
        {"surface": surface.name, **{k: _rounded(v) for k, v in asdict(one).items()}}
        for surface in runs
        for one in held_out(surface)
    ]
    return {
        "published": {
            "sources": {table.name: table.source for table in TABLES},
            "surfaces": len(tables),
            "strategies": all_figures(replay(tables, (0.0, GATED_SD), seed, names)),
        },
        "recorded": {
            "surfaces": [surface.name for surface in runs],
            "strategies": all_figures(replay(runs, (0.0,), seed, names)),
            "held_out": held,
        },
    }


def _rounded(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value


def main(argv: Sequence[str] | None = None) -> int:
    """Print the result; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.searchbench")
    parser.add_argument("--surfaces", type=int, default=SURFACES, help=f"simulated ones, {len(KINDS)} kinds in turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strategy", action="append", choices=NAMES, help="only this one; can be given again")
    parser.add_argument("--only-simulated", action="store_true", help="leave out published and recorded surfaces")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", action="store_true", help=f"write {DOCUMENT.name} and its page in docs/")
    args = parser.parse_args(argv)
    if args.keep and (args.only_simulated or args.strategy):
        parser.error("--keep needs every strategy and every kind of surface")
    began_s, commit = time.monotonic(), measured_commit()
    names = tuple(name for name in NAMES if not args.strategy or name in args.strategy)
    found = bench(args.surfaces, args.seed, names, args.workers)
    result = {
        "bench": "search",
        "seed": args.seed,
        "commit": commit,
        "surfaces": args.surfaces,
        **simulated_result(found),
    }
    if not args.only_simulated:
        stray = bench(ROUGH, args.seed, names, args.workers, is_rough=True)
        result["rough"] = {"surfaces": ROUGH, "strategies": all_figures(stray)}
        result |= other_result(args.seed, names)
    result["wall_s"] = round(time.monotonic() - began_s, 1)
    if args.keep:
        DOCUMENT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        write_page(result)
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
