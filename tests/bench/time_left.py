"""Is the time left right within 25 % after the first trial? Whole simulated sweeps; ends in one line of JSON.

    python tests/bench/time_left.py

Takes a few minutes. What is held against the estimate is the time until the last trial has ended; the report comes
after. How many trials were expected is shown beside it: on a busy machine trials take longer or shorter than those
before them, and that is all the difference. Exit code 1 where either was further off after the first trial.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuner.prepare import SweepRequest, prepare
from tuner.progress import Progress
from tuner.records import TrialRecord
from tuner.session import SweepOptions
from tuner.sweep import run_sweep

ALLOWED = 0.25
TINY = Path(__file__).parents[2] / "search_spaces" / "tiny.yaml"
SHAPES = {
    "guided, one life": ("lives: 1", "lives: 1\n  schedule: false", "guided"),
    "guided, one life, a schedule": ("lives: 1", "lives: 1", "guided"),
    "every candidate, one life": ("lives: 1", "lives: 1", "grid"),
    "guided, three fresh lives": ("lives: 1", "lives: 3\n  schedule: false", "guided"),
    "guided, three fresh lives, a schedule": ("lives: 1", "lives: 3", "guided"),
}
"""What is replaced in the tiny space, by what, and the sampler.  Whether a K schedule is worth measuring, and in how
many lives, only its own first ones show."""


@dataclass
class Watching:
    """Keeps what was first said after each trial.  said: (monotonic time, seconds left, trials left)."""

    said: list[tuple[float, float, int]] = field(default_factory=list)
    last_s: float = 0.0
    _ended: int = 0

    def message(self, text: str) -> None:
        """Ignore it."""

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Note when the last trial ended."""
        self.last_s = time.monotonic()
        self._ended += 1

    def update(self, progress: Progress) -> None:
        """Keep what is said first after a trial."""
        if progress.left_s is not None and len(self.said) < self._ended:
            self.said.append((time.monotonic(), progress.left_s, progress.planned - progress.done))

    def errors(self) -> dict[str, list[float]]:
        """Return (said - true) / true after each trial but the last, of the time left and of the trials left."""
        known = self.said[: self._ended - 1]
        times = [(said, self.last_s - at) for at, said, _ in known]
        trials = [(said, self._ended - number) for number, (_, _, said) in enumerate(known, 1)]
        off: dict[str, Sequence[tuple[float, float]]] = {"time": times, "trials": trials}
        return {name: [round((said - true) / true, 3) for said, true in pairs] for name, pairs in off.items()}


def watched(space: Path, sampler: str, out: Path) -> Watching:
    """Run one sweep of the simulated engine."""
    request = SweepRequest("simulated", str(space), None, (), "sim", False, ("tuner", "sweep"))
    view = Watching()
    run_sweep(prepare(request), SweepOptions(out=out, pool="local", sampler=sampler), view)
    return view


def main() -> None:
    """Run the sweeps and print how far the time left was off."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        for number, (name, (old, new, sampler)) in enumerate(SHAPES.items()):
            space = Path(directory) / f"space{number}.yaml"
            space.write_text(TINY.read_text().replace(old, new))
            found[name] = watched(space, sampler, Path(directory) / f"run{number}").errors()
            print(name, found[name], file=sys.stderr)
    worst = max(abs(errors[0]) for both in found.values() for errors in both.values())
    print(json.dumps({"bench": "time_left", "worst_after_first": worst, "limit": ALLOWED, "errors": found}))
    sys.exit(worst > ALLOWED)


if __name__ == "__main__":
    main()
