"""Stop a sweep by Ctrl-C, SIGTERM or a hang-up at random moments, and paste what it printed; ends in one JSON line.

    .venv/bin/python -m tests.faults.stops --stops 30

Each stopped sweep must end by itself with 130, 143 or 129, with one JSON object on standard output and no process left;
a second signal, sent at once, must change nothing. The command in that object is what the next session is started with.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.faults.afterwards import faults_after, faults_at_the_end
from tests.faults.driver_sweep import Driver, Moment, Place, random_moments
from tests.faults.keeping import conclude, keep, result_of, spread_of
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


def stop_at(place: Place, driver: Driver, moment: Moment, signum: signal.Signals, seen: Seen) -> str | None:
    """Send a signal at a moment, twice; return the command that goes on, None where the sweep had ended."""
    moment.come(driver)
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
        seen.wrong.append(f"{signum.name} at {moment} ended with {code}: {driver.words[-800:]}")
    told = _only_object(driver, seen)
    if code == 0 or told is None:
        return None
    seen.stops[f"{signum.name}, {moment.after}"] += 1
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


def sweep_under_stops(place: Place, stops: Iterable[tuple[Moment, signal.Signals]], seen: Seen) -> None:
    """Stop a sweep at these moments; each session is what the one before told to paste, the last one ends."""
    kept: dict[str, str] = {}
    command: str | None = place.command()
    for moment, signum in stops:
        assert command is not None
        command = stop_at(place, place.paste(command), moment, signum, seen)
        seen.wrong += faults_after(place, kept)
        kept = place.records()
        if command is None or seen.wrong:
            break
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
        moments = random_moments(draw, 90.0 if asked.real else 12.0)
        stops = ((moment, draw.choice(SIGNALS)) for moment in moments)
        sweep_under_stops(place, islice(stops, asked.stops - seen.count), seen)
        print(f"stops {seen.count}, sweeps {seen.sweeps}, wrong {seen.wrong}", file=sys.stderr, flush=True)
        enough = seen.count >= asked.stops or bool(seen.wrong)
        result = result_of("stops", seen.wrong, time.monotonic() - began_s, enough, **_figures(seen, asked))
        if asked.keep:
            keep("stops_real" if asked.real else "stops_simulated", result)
    return conclude(root, result)


def _figures(seen: Seen, asked: argparse.Namespace) -> dict[str, Json]:
    return {
        "seed": asked.seed,
        "asked": asked.stops,
        "stops": seen.count,
        "sweeps": seen.sweeps,
        "before_it_began": seen.too_early,
        "moments": dict(sorted(seen.stops.items())),
        "ended_within_s": spread_of(seen.ended_s),
    }


if __name__ == "__main__":
    sys.exit(main())
