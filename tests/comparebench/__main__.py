"""How often `tuner compare` names rightly what changed, where that is known; ends in one JSON line.

    make bench-compare
    .venv/bin/python -m tests.comparebench --seeds 20 --noise both_1

Simulates two whole sweeps in process, without engines, before and after an upgrade: nothing planted, a relative 10 %
loss of acceptance length, an engine that is 10 % faster, and both. Exit code 1 if a rate is not good enough.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.comparebench.page import PAGE, write_page
from tests.comparebench.world import Engine, prompts_of, side, sweep
from tests.truth.regimes import PROTOCOL
from tuner.compare import Comparison, Outcome, compare
from tuner.engine.sim.profile import Noise
from tuner.records import Json

DOCUMENT = Path(__file__).parents[2] / "docs" / "bench-compare.json"
NAMED = 0.95
FALSE_ALARMS = 0.05

NOISES: Mapping[str, Noise] = {
    "both_0.5": Noise(life_sd=0.005, repeat_sd=0.005, step_sd=0.1),
    "speculating_1": Noise(life_sd=0.001, speculative_life_sd=0.00995, repeat_sd=0.01, step_sd=0.1),
    "both_1": Noise(life_sd=0.01, repeat_sd=0.01, step_sd=0.1),
}
"""Standard deviations from life to life of 0.5 % and 1 %: of all engines, or of speculating ones alone."""

PLANTED: Mapping[str, Engine] = {
    "nothing": Engine(),
    "acceptance": Engine(acceptance=0.9),
    "engine": Engine(speed=1.1),
    "both": Engine(acceptance=0.9, speed=1.1),
}
"""The new engine; the old one is Engine()."""


@dataclass(frozen=True)
class Seen:
    """What one comparison said.  named: rightly, see `_named`.  alarms: rows called better or worse."""

    outcome: Outcome
    named: bool
    alarms: int
    rows: int
    rows_same: int
    same_setting: bool


def run_task(task: tuple[str, int, bool]) -> dict[str, Seen]:
    """Return what was said of each plant for one seed; the old sweep is the same for all of them."""
    noise_name, seed, records = task
    noise, prompts = NOISES[noise_name], prompts_of(seed)
    old = side(sweep(prompts, Engine(), noise, 10 * seed, PROTOCOL), "old", PROTOCOL, records=records)
    found = {}
    for place, (name, engine) in enumerate(PLANTED.items(), start=1):
        new = side(sweep(prompts, engine, noise, 10 * seed + place, PROTOCOL), "new", PROTOCOL, records=records)
        found[name] = _seen(compare(old, new), name)
    return found


def _seen(said: Comparison, planted: str) -> Seen:
    outcomes = [row.outcome for row in said.rows]
    return Seen(
        outcome=said.outcome,
        named=_named(said, planted),
        alarms=sum(one in (Outcome.BETTER, Outcome.WORSE) for one in outcomes),
        rows=len(outcomes),
        rows_same=sum(one is Outcome.SAME for one in outcomes),
        same_setting=not any(best.changed for best in said.best),
    )


def _named(said: Comparison, planted: str) -> bool:
    """Whether speculation and the engine are each told rightly, and the verdict with them."""
    spec, engine = said.conclusion.speculation, said.conclusion.engine
    codes = {cause.code for cause in said.causes}
    unchanged = (Outcome.SAME, Outcome.CANNOT_TELL)
    if planted == "nothing":
        return not codes and said.outcome in unchanged
    if planted == "acceptance":
        return codes == {"acceptance_fell"} and engine in unchanged and said.outcome is Outcome.WORSE
    if planted == "engine":
        return codes == {"baseline_faster"} and spec in unchanged and said.outcome is not Outcome.WORSE
    return codes == {"acceptance_fell", "baseline_faster"} and said.outcome is Outcome.WORSE


def bench(noises: Sequence[str], seeds: int, seed: int, workers: int, *, records: bool = True) -> dict[str, Json]:
    """Return the rates by noise and plant."""
    tasks = [(noise, 1000 * seed + i, records) for noise in noises for i in range(seeds)]
    seen: dict[str, list[dict[str, Seen]]] = {noise: [] for noise in noises}
    with ProcessPoolExecutor(workers, initializer=os.nice, initargs=(10,)) as pool:
        for (noise, _, _), found in zip(tasks, pool.map(run_task, tasks), strict=True):
            seen[noise].append(found)
    return {
        noise: {name: _rates([one[name] for one in runs], name) for name in PLANTED} for noise, runs in seen.items()
    }


def _rates(seen: Sequence[Seen], planted: str) -> dict[str, Json]:
    n = len(seen)
    rates: dict[str, Json] = {"seeds": n, "named": sum(one.named for one in seen) / n}
    if planted == "nothing":
        rates["false_alarms"] = sum(one.alarms > 0 for one in seen) / n
    for outcome in Outcome:
        rates[outcome.value] = sum(one.outcome is outcome for one in seen) / n
    rates["figures_same"] = round(sum(one.rows_same for one in seen) / sum(one.rows for one in seen), 4)
    rates["same_setting"] = sum(one.same_setting for one in seen) / n
    return rates


def good_enough(found: Mapping[str, Json]) -> dict[str, Json]:
    """Return which bars are met, by noise and plant."""
    bars: dict[str, Json] = {}
    for noise, by_plant in found.items():
        assert isinstance(by_plant, dict)
        for name, rates in by_plant.items():
            assert isinstance(rates, dict)
            met = _number(rates["named"]) >= NAMED
            bars[f"{noise}, {name}"] = met and _number(rates.get("false_alarms", 0.0)) <= FALSE_ALARMS
    return bars


def _number(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the result; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.comparebench")
    parser.add_argument("--seeds", type=int, default=100, help="pairs of sweeps for each plant")
    parser.add_argument("--noise", action="append", choices=list(NOISES), help="only this one; can be given again")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--files", action="store_true", help="compare artifacts alone, without their records")
    parser.add_argument("--keep", action="store_true", help=f"write the result to {DOCUMENT.name} and {PAGE.name}")
    args = parser.parse_args(argv)
    began_s = time.monotonic()
    found = bench(args.noise or list(NOISES), args.seeds, args.seed, args.workers, records=not args.files)
    bars = good_enough(found)
    result: dict[str, Json] = {
        "bench": "compare",
        "ok": all(bars.values()),
        "seed": args.seed,
        "seeds": args.seeds,
        "noises": found,
        "bars": bars,
        "wall_s": round(time.monotonic() - began_s, 1),
    }
    if args.keep:
        DOCUMENT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        write_page(result)
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
