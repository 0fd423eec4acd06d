"""Stop a sweep by Ctrl-C, SIGTERM or a hang-up at random moments, and paste what it printed; ends in one JSON line.

    .venv/bin/python -m tests.faults.stops --stops 30

Each stopped sweep must end by itself with 130, 143 or 129, with one JSON object on standard output and no process left;
a second signal, sent at once, must change nothing. The command in that object is what the next session is started with.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.driver_sweep import MOMENTS, Driver, Place, faults_after, faults_at_the_end
from tests.faults.keeping import keep
from tests.measured_commit import measured_commit
from tuner.records import Json

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Seen:
    """What came of the stops so far.  too_early: the signal met Python before it ran anything of the tuner.

    ended_s: from the signal to the end of the driver, of sweeps that it stopped.
    """

    sweeps: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    too_early: int = 0
    ended_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.stops.values())


def stop_at_random(place: Place, driver: Driver, draw: random.Random, seen: Seen, most_s: float) -> str | None:
    """Send a signal at a random moment, twice; return the command that goes on, None where the sweep had ended."""
    moment, signum = draw.choice(MOMENTS), draw.choice(SIGNALS)
    if moment == "any":
        driver.ends_within(draw.uniform(0.0, most_s))
    else:
        driver.says(moment)
        driver.ends_within(draw.uniform(0.0, 0.3))
    began_s = time.monotonic()
    for _ in range(2):
        driver.process.send_signal(signum)
        driver.ends_within(0.2)
    code = driver.ends()
    took_s = time.monotonic() - began_s
    if code == -signum and not driver.out and "trial" not in driver.words:
        seen.too_early += 1
        return place.command()
    if code not in (0, 128 + signum):
        seen.wrong.append(f"{signum.name} after {moment!r} ended with {code}: {driver.words[-800:]}")
    told = _only_object(driver, seen)
    if code == 0 or told is None:
        return None
    seen.stops[f"{signum.name}, {moment}"] += 1
    seen.ended_s.append(took_s)
    if (told.get("interrupted"), told.get("exit_code")) != (signum.name, code):
        seen.wrong.append(f"{signum.name} is told as {told}")
    resume = str(told["resume"])
    if f"Resume with: {resume}\n" not in driver.words:
        seen.wrong.append(f"no {resume!r} in what it said: {driver.words[-300:]}")
    seen.wrong += [f"left by {signum.name}: {one}" for one in place.left(within_s=1.0)[1]]
    return resume


def _only_object(driver: Driver, seen: Seen) -> dict[str, Json] | None:
    try:
        (line,) = driver.out.splitlines()
        told: dict[str, Json] = json.loads(line)
    except ValueError:
        seen.wrong.append(f"standard output is {driver.out!r}, standard error ends with {driver.words[-800:]}")
        return None
    return told


def sweep_under_stops(place: Place, draw: random.Random, most: int, seen: Seen, most_s: float = 12.0) -> None:
    """Stop a sweep until it is done, or `most` times; each session is what the one before told to paste."""
    kept: dict[str, str] = {}
    command: str | None = place.command()
    goal = seen.count + most
    while command is not None and seen.count < goal and not seen.wrong:
        command = stop_at_random(place, place.paste(command), draw, seen, most_s)
        seen.wrong += faults_after(place, kept)
        kept = place.records()
    if seen.wrong:
        return
    if command is not None and (code := (last := place.paste(command)).ends()):
        seen.wrong.append(f"{command!r} ended with {code}: {last.words[-800:]}")
        return
    seen.wrong += faults_at_the_end(place, kept)
    seen.sweeps += 1


def main() -> int:
    """Run it, print the result, keep it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stops", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", action="store_true", help="vLLM's CPU build on the demo models")
    parser.add_argument("--keep", action="store_true", help="write it into docs/")
    asked = parser.parse_args()
    draw, seen, began_s = random.Random(asked.seed), Seen(), time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="stops-"))
    while seen.count < asked.stops and not seen.wrong:
        place = Place(root / f"sweep-{seen.sweeps}", 1 if asked.real else draw.choice((1, 1, 3)), asked.real)
        sweep_under_stops(place, draw, asked.stops - seen.count, seen, 90.0 if asked.real else 12.0)
        print(f"stops {seen.count}, sweeps {seen.sweeps}, wrong {seen.wrong}", file=sys.stderr, flush=True)
    ended_s = sorted(seen.ended_s)
    result: dict[str, Json] = {
        "bench": "stops",
        "ok": not seen.wrong,
        "seed": asked.seed,
        "stops": seen.count,
        "sweeps": seen.sweeps,
        "before_it_began": seen.too_early,
        "moments": dict(sorted(seen.stops.items())),
        "wrong": list(seen.wrong),
        "ended_within_s": {"median": round(ended_s[len(ended_s) // 2], 1), "longest": round(ended_s[-1], 1)},
        "wall_s": round(time.monotonic() - began_s),
        "commit": measured_commit(),
    }
    if not seen.wrong:
        shutil.rmtree(root)
    if asked.keep:
        keep("stops_real" if asked.real else "stops_simulated", result)
    print(json.dumps(result))
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
