"""Kill the driver of a sweep at random moments until it is done, again and again; ends in one JSON line.

    make bench-kills
    .venv/bin/python -m tests.faults.kills --kills 20 --seed 7
    .venv/bin/python -m tests.faults.kills --kills 5 --real        (vLLM's CPU build and the demo models)

After each kill: no finished trial is lost or measured again, and no process of the sweep is left. When a sweep got to
its end: no record half-written, the Optuna study in line with the records, one entry in the registry, nothing left in
its temporary directory, and the decisions of a sweep that nobody disturbed. Exit code 1 if anything of it fails.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.faults.driver_sweep import Moment, Place, decisions, faults_after, faults_at_the_end, kill_at, random_moments
from tests.faults.keeping import keep
from tests.measured_commit import measured_commit
from tuner.records import Json

MOST_SESSIONS = 60
"""Kills of one sweep after which it is left alone to end."""


@dataclass
class Seen:
    """What came of the kills so far.  moments: of kills that met a running sweep.  gone_s: until nothing was left."""

    sweeps: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    gone_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        return sum(self.moments.values())


def sweep_under_fire(place: Place, moments: Iterable[Moment], seen: Seen) -> None:
    """Kill a sweep at these moments, each in the session that the one before left to do, and let it end then."""
    kept: dict[str, str] = {}
    for moment in moments:
        running = kill_at(place, moment)
        seen.moments[moment.after] += running
        took_s, _ = place.left()
        seen.gone_s += [took_s] if running else []
        seen.wrong += faults_after(place, kept)
        kept = place.records()
        if not running:
            break
    last = place.start()
    if code := last.ends():
        seen.wrong.append(f"the last session ended with {code}: {last.words[-500:]}")
        return
    seen.wrong += faults_at_the_end(place, kept)
    seen.sweeps += 1


def undisturbed(place: Place) -> dict[str, Json]:
    """Return the decisions of a sweep that is left alone."""
    driver = place.start()
    if code := driver.ends(1200.0):
        raise RuntimeError(f"the undisturbed sweep ended with {code}: {driver.words}")
    return decisions(place)


def main() -> int:
    """Run it, print the result, keep it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", action="store_true", help="vLLM's CPU build on the demo models")
    parser.add_argument("--keep", action="store_true", help="write it into docs/")
    asked = parser.parse_args()
    draw, seen, began_s = random.Random(asked.seed), Seen(), time.monotonic()
    root, choices = Path(tempfile.mkdtemp(prefix="kills-")), (1,) if asked.real else (1, 1, 3)
    expected: dict[int, dict[str, Json]] = {}
    while seen.kills < asked.kills and not seen.wrong:
        lives = draw.choice(choices)
        if lives not in expected:
            expected[lives] = undisturbed(Place(root / f"undisturbed-{lives}", lives, asked.real))
        place = Place(root / f"sweep-{seen.sweeps}", lives, asked.real)
        moments = random_moments(draw, 90.0 if asked.real else 12.0)
        sweep_under_fire(place, islice(moments, min(MOST_SESSIONS, asked.kills - seen.kills)), seen)
        if not seen.wrong and (found := decisions(place)) != expected[lives]:
            seen.wrong.append(f"other decisions: {found} instead of {expected[lives]}")
        print(f"kills {seen.kills}, sweeps {seen.sweeps}, wrong {seen.wrong}", file=sys.stderr, flush=True)
        result = _result(seen, asked, time.monotonic() - began_s)
        if asked.keep:  # after each sweep: it takes most of an hour
            keep("kills_real" if asked.real else "kills_simulated", result)
    if not seen.wrong:
        shutil.rmtree(root)
    print(json.dumps(result))
    return 1 if seen.wrong else 0


def _result(seen: Seen, asked: argparse.Namespace, wall_s: float) -> dict[str, Json]:
    gone_s = sorted(seen.gone_s) or [0.0]
    return {
        "bench": "kills",
        "ok": not seen.wrong,
        "seed": asked.seed,
        "kills": seen.kills,
        "sweeps": seen.sweeps,
        "moments": dict(sorted(seen.moments.items())),
        "wrong": list(seen.wrong),
        "gone_within_s": {"median": round(gone_s[len(gone_s) // 2], 1), "longest": round(gone_s[-1], 1)},
        "wall_s": round(wall_s),
        "commit": measured_commit(),
    }


if __name__ == "__main__":
    sys.exit(main())
