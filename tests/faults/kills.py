"""Kill the driver of a sweep at random moments until it is done, again and again; ends in one JSON line.

    make bench-kills
    .venv/bin/python -m tests.faults.kills --kills 20 --seed 7
    .venv/bin/python -m tests.faults.kills --kills 5 --real        (vLLM's CPU build and the demo models)

After each kill: no finished trial is lost or measured again, and no process of the sweep is left. When a sweep got to
its end: no record half-written, the Optuna study in line with the records, one entry in the registry, nothing left in
its temporary directory, and the decisions of a sweep that nobody disturbed. Exit code 1 if anything of it fails.

Times are by the wall clock, also those of simulated engines, and sweeps run side by side on whatever else the machine
does. So that the decisions can be compared at all, the effects are large (three times as fast, half as fast) and
the steps long (a tenth of a second); of real engines only verdicts that both sweeps came to.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from threading import Lock

from tests.faults.afterwards import decisions, differences, faults_after, faults_at_the_end, verdicts
from tests.faults.driver_sweep import Moment, Place, kill_at, random_moments
from tests.faults.keeping import conclude, keep, result_of, spread_of
from tuner.records import Json

MOST_SESSIONS = 60
"""Kills of one sweep after which it is left alone to end."""
ENDS_WITHIN_S = 1800.0


@dataclass
class Seen:
    """What came of the kills so far.

    moments: of kills that met a running sweep.  verdicts: of sweeps that were killed, at their end.
    undisturbed: verdicts of the others.  gone_s: until nothing was left.
    """

    sweeps: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    undisturbed: Counter[str] = field(default_factory=Counter)
    gone_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        return sum(self.moments.values())

    def add(self, other: Seen) -> None:
        """Count what somebody else saw."""
        self.sweeps += other.sweeps
        self.moments += other.moments
        self.verdicts += other.verdicts
        self.gone_s += other.gone_s
        self.wrong += other.wrong


@dataclass(frozen=True)
class Bench:
    """Sweeps to kill.  root: where they are.  most_s: until a kill at any moment, at most."""

    root: Path
    seed: int
    real: bool
    most_s: float

    def undisturbed(self, lives: int) -> dict[str, Json]:
        """Return the decisions of a sweep that is left alone."""
        place = self._place(f"undisturbed-{lives}", lives)
        driver = place.start()
        if code := driver.ends(ENDS_WITHIN_S):
            raise RuntimeError(f"the undisturbed sweep ended with {code}: {driver.words}")
        return decisions(place)

    def sweep(self, number: int, most_kills: int, expected: Mapping[int, dict[str, Json]]) -> Seen:
        """Return what is seen of one sweep, whose moments its number and the seed draw."""
        draw, seen = random.Random(f"{self.seed}-{number}"), Seen()
        lives = draw.choice(tuple(expected))
        place = self._place(f"sweep-{number}", lives)
        sweep_under_fire(place, islice(random_moments(draw, self.most_s), most_kills), seen)
        if not seen.wrong:
            found = decisions(place)
            seen.verdicts.update(verdicts(found))
            seen.wrong += differences(found, expected[lives], real=self.real)
        return seen

    def _place(self, name: str, lives: int) -> Place:
        return Place(self.root / name, lives, self.real, step_s=0.1)


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
    if code := last.ends(ENDS_WITHIN_S):
        seen.wrong.append(f"the last session ended with {code}: {last.words[-500:]}")
        return
    seen.wrong += faults_at_the_end(place, kept)
    seen.sweeps += 1


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="at least so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=4, help="sweeps side by side; of real engines one")
    parser.add_argument("--real", action="store_true", help="vLLM's CPU build on the demo models")
    parser.add_argument("--keep", action="store_true", help="write it into docs/")
    asked = parser.parse_args()
    asked.at_once = 1 if asked.real else asked.at_once
    return asked


def main() -> int:
    """Run it, print the result, keep it if asked to."""
    asked, seen, began_s, told, numbers = _asked(), Seen(), time.monotonic(), Lock(), count()
    root, kinds = Path(tempfile.mkdtemp(prefix="kills-")), (1,) if asked.real else (1, 3)
    bench = Bench(root, asked.seed, asked.real, 120.0 if asked.real else 25.0)

    def tell(to_its_end: bool) -> dict[str, Json]:
        wall_s = time.monotonic() - began_s
        result = result_of("kills", seen.wrong, wall_s, to_its_end, **_figures(seen, asked))
        if asked.keep:  # after each sweep: all of them take most of an hour
            keep("kills_real" if asked.real else "kills_simulated", result)
        return result

    def sweeps(expected: Mapping[int, dict[str, Json]]) -> None:
        while seen.kills < asked.kills and not seen.wrong:
            one = bench.sweep(next(numbers), min(MOST_SESSIONS, asked.kills - seen.kills), expected)
            with told:
                seen.add(one)
                print(f"kills {seen.kills}, sweeps {seen.sweeps}, wrong {seen.wrong}", file=sys.stderr, flush=True)
                tell(to_its_end=False)

    with ThreadPoolExecutor(asked.at_once) as side_by_side:
        expected = dict(zip(kinds, side_by_side.map(bench.undisturbed, kinds), strict=True))
        seen.undisturbed.update(verdict for one in expected.values() for verdict in verdicts(one))
        list(side_by_side.map(sweeps, [expected] * asked.at_once))
    return conclude(root, tell(to_its_end=True))


def _figures(seen: Seen, asked: argparse.Namespace) -> dict[str, Json]:
    return {
        "seed": asked.seed,
        "asked": asked.kills,
        "at_once": asked.at_once,
        "kills": seen.kills,
        "sweeps": seen.sweeps,
        "moments": dict(sorted(seen.moments.items())),
        "verdicts": dict(sorted(seen.verdicts.items())),
        "verdicts_undisturbed": dict(sorted(seen.undisturbed.items())),
        "gone_within_s": spread_of(seen.gone_s),
    }


if __name__ == "__main__":
    sys.exit(main())
