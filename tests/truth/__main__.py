"""How often the tuner's analysis is right, where the truth is known; ends in one JSON line.

    make bench-truth
    .venv/bin/python -m tests.truth --sweeps 50 --regime lives_5 --regime surfaces

Simulates whole sweeps in process, without engines, under each kind of noise (tests/truth/regimes.py): one life of every
candidate, then rounds of fresh lives until the analysis has enough. Exit code 1 if a rate is not good enough.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.measured_commit import measured_commit
from tests.truth.page import page
from tests.truth.regimes import PROTOCOL, REGIMES, Regime, alike_world, effect_world, random_world
from tests.truth.scores import Scores, random_bars, random_scores, regime_bars, regime_scores
from tests.truth.sweep import Told, run_sweep

SURFACES = "surfaces"
RANDOM_SWEEPS = 3
"""Random worlds for each sweep of a regime: what they look for is rare."""
CHUNK = 10
DOCUMENT = Path(__file__).parents[2] / "docs" / "bench-truth.json"
PAGE = DOCUMENT.with_suffix(".md")

Task = tuple[str, str, tuple[int, ...]]  # regime, kind of world, seeds


def run_task(task: Task) -> list[Told]:
    """Run some sweeps of one kind, one after another."""
    name, kind, seeds = task
    if kind == SURFACES:
        return [run_sweep(random_world(seed), PROTOCOL) for seed in seeds]
    regime = next(regime for regime in REGIMES if regime.name == name)
    if kind == "alike":
        return [run_sweep(alike_world(regime, seed), PROTOCOL) for seed in seeds]
    return [run_sweep(effect_world(regime, seed), PROTOCOL, regime.follow) for seed in seeds]


def tasks_of(regimes: Sequence[Regime], surfaces: bool, sweeps: int, seed: int, only: str | None = None) -> list[Task]:
    """Return all work in portions; no two sweeps share a seed.  only: one kind of the regimes' sweeps."""
    kinds = [(regime.name, kind, sweeps) for regime in regimes for kind in _kinds(regime)]
    if surfaces:
        kinds.append((SURFACES, SURFACES, RANDOM_SWEEPS * sweeps))
    tasks = []
    for place, (name, kind, count) in enumerate(kinds):
        if only is not None and kind not in (only, SURFACES):
            continue
        first = (seed * 1000 + place) * 100_000
        seeds = range(first, first + count)
        tasks += [(name, kind, tuple(seeds[i : i + CHUNK])) for i in range(0, count, CHUNK)]
    return tasks


def _kinds(regime: Regime) -> tuple[str, ...]:
    return ("effect", "alike") if regime.alike else ("effect",)


def bench(
    regimes: Sequence[Regime], surfaces: bool, sweeps: int, seed: int, workers: int, only: str | None = None
) -> dict[str, Scores]:
    """Return the rates of each regime, and of the random surfaces, with `bars` in each."""
    tasks = tasks_of(regimes, surfaces, sweeps, seed, only)
    told: dict[tuple[str, str], list[Told]] = {}
    with ProcessPoolExecutor(workers, initializer=os.nice, initargs=(10,)) as pool:
        for (name, kind, _), found in zip(tasks, pool.map(run_task, tasks), strict=True):
            told.setdefault((name, kind), []).extend(found)
            if sum(task[0] == name for task in tasks) == -(
                -sum(len(t) for (n, _), t in told.items() if n == name) // CHUNK
            ):
                print(name, json.dumps(_scores(name, told)), file=sys.stderr, flush=True)
    return {name: _scores(name, told) for name in dict.fromkeys(task[0] for task in tasks)}


def _scores(name: str, told: Mapping[tuple[str, str], Sequence[Told]]) -> Scores:
    if name == SURFACES:
        scores = random_scores(told[SURFACES, SURFACES])
        return scores | {"bars": dict(random_bars(scores))}
    scores = regime_scores(told.get((name, "effect"), []), told.get((name, "alike"), []))
    return scores | {"bars": dict(regime_bars(scores))}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the result; return the exit code."""
    names = [*(regime.name for regime in REGIMES), SURFACES]
    parser = argparse.ArgumentParser(prog="python -m tests.truth")
    parser.add_argument("--sweeps", type=int, default=300, help="sweeps of each kind in each regime")
    parser.add_argument("--regime", action="append", choices=names, help="only this one; can be given again")
    parser.add_argument("--only", choices=["effect", "alike"], help="sweeps with a true effect, or those without any")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", action="store_true", help=f"write {DOCUMENT.name} and its page in docs/")
    parser.add_argument("--commit", default="", help="what the result is of, where there is no Git repository")
    args = parser.parse_args(argv)
    wanted = set(args.regime or names)
    began_s = time.monotonic()
    chosen = [regime for regime in REGIMES if regime.name in wanted]
    found = bench(chosen, SURFACES in wanted, args.sweeps, args.seed, args.workers, args.only)
    bars = {name: scores.pop("bars") for name, scores in found.items()}
    ok = all(good for of_one in bars.values() if isinstance(of_one, dict) for good in of_one.values())
    result = {
        "bench": "truth",
        "ok": ok,
        "seed": args.seed,
        "commit": args.commit or measured_commit(),
        "regimes": found,
        "bars": bars,
        "wall_s": round(time.monotonic() - began_s, 1),
    }
    if args.keep:
        DOCUMENT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
    print(json.dumps(result))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
