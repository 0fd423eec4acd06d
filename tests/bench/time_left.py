"""Is the time left right within 25 % after the first trial? Whole simulated sweeps; ends in one line of JSON.

    .venv/bin/python -m tests.bench.time_left         # measure
    .venv/bin/python -m tests.bench.time_left --keep  # and write the table into docs/terminal.md

Takes a few minutes. What is held against the estimate is the time until the last trial has ended; the report comes
after. Where a range is said, what counts is how far outside of it that time lies. How many trials were expected stands
beside it: on a busy machine trials take longer or shorter than those before them. Exit code 1 where the time was
further off after the first trial.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuner.prepare import SweepRequest, prepare
from tuner.progress import Progress
from tuner.records import TrialRecord
from tuner.session import SweepOptions
from tuner.sweep import run_sweep
from tuner.words import said_ends_s, time_left_words

ALLOWED = 0.25
TINY = Path(__file__).parents[2] / "search_spaces" / "tiny.yaml"
PAGE = Path(__file__).parents[2] / "docs" / "terminal.md"
BEGIN, END = "<!-- table: python -m tests.bench.time_left --keep -->\n", "<!-- end of table -->\n"
NO_SCHEDULE, ALIKE = ("lives: 1", "lives: 1\n  schedule: false"), ("[1, 32]", "[1, 2]")
LIVES = ("lives: 1", "lives: 3")
SHAPES: Mapping[str, tuple[Sequence[tuple[str, str]], str]] = {
    "guided, one life": ([NO_SCHEDULE], "guided"),
    "guided, one life, a schedule may come and does": ([], "guided"),
    "guided, one life, a schedule may come and does not": ([ALIKE], "guided"),
    "every candidate, one life": ([], "grid"),
    "guided, three fresh lives": ([NO_SCHEDULE, LIVES], "guided"),
    "guided, three fresh lives, a schedule may come and does": ([LIVES], "guided"),
    "guided, three fresh lives, a schedule may come and does not": ([ALIKE, LIVES], "guided"),
}
"""What is replaced in the tiny space, by what, and the sampler.  Whether a K schedule is worth measuring, and in how
many lives, only its own first ones show; at loads that are alike, one K is best at both."""


@dataclass(frozen=True)
class Said:
    """What was said after a trial.  at_s: monotonic.  ends_s: of the time left.  words: as a person reads it."""

    at_s: float
    ends_s: tuple[float, float]
    trials: int
    words: str

    def off(self, true_s: float) -> float:
        """Return how far the time left lies outside of what was said, as a share of it; too long is above 0."""
        least_s, most_s = self.ends_s
        return round((max(0.0, least_s - true_s) + min(0.0, most_s - true_s)) / true_s, 3)


@dataclass
class Watching:
    """Keeps what was first said after each trial."""

    said: list[Said] = field(default_factory=list)
    last_s: float = 0.0
    ended: int = 0

    def message(self, text: str) -> None:
        """Ignore it."""

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Note when the last trial ended."""
        self.last_s = time.monotonic()
        self.ended += 1

    def update(self, progress: Progress) -> None:
        """Keep what is said first after a trial."""
        if progress.left_s is not None and len(self.said) < self.ended:
            words = time_left_words(progress.left_s, progress.left_between_s)
            left = progress.planned - progress.done
            ends_s = said_ends_s(progress.left_s, progress.left_between_s)
            self.said.append(Said(time.monotonic(), ends_s, left, words))

    def errors(self) -> dict[str, list[float]]:
        """Return (said - true) / true after each trial but the last, of the time left and of the trials left."""
        known = self.said[: self.ended - 1]
        trials = [(said.trials, self.ended - number) for number, said in enumerate(known, 1)]
        return {
            "time": [said.off(self.last_s - said.at_s) for said in known],
            "trials": [round((said - true) / true, 3) for said, true in trials],
        }


def watched(space: Path, sampler: str, out: Path) -> Watching:
    """Run one sweep of the simulated engine."""
    request = SweepRequest("simulated", str(space), None, (), "sim", False, ("tuner", "sweep"))
    view = Watching()
    run_sweep(prepare(request), SweepOptions(out=out, pool="local", sampler=sampler), view)
    return view


def table(found: Mapping[str, Watching]) -> str:
    """Return what was said after the first trial of each sweep, beside what came."""
    rows = [
        "What was said after the first of a simulated sweep's trials, and what came:",
        "",
        "| sweep | said | came | off | trials: said, came |",
        "|---|---|---|---|---|",
    ]
    for name, view in found.items():
        first, came_s = view.said[0], view.last_s - view.said[0].at_s
        off = f"{first.off(came_s):+.0%}" if first.off(came_s) else "no"
        rows.append(f"| {name} | {first.words} | {came_s:.0f} s | {off} | {first.trials}, {view.ended - 1} |")
    return "\n".join(rows) + "\n"


def keep(found: Mapping[str, Watching]) -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    """Run the sweeps and print how far the time left was off."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        for number, (name, (replaced, sampler)) in enumerate(SHAPES.items()):
            space, text = Path(directory) / f"space{number}.yaml", TINY.read_text()
            for old, new in replaced:
                assert old in text, old
                text = text.replace(old, new)
            space.write_text(text)
            found[name] = watched(space, sampler, Path(directory) / f"run{number}")
            print(name, found[name].errors(), file=sys.stderr)
    errors = {name: view.errors() for name, view in found.items()}
    worst = max(abs(of["time"][0]) for of in errors.values())
    if "--keep" in sys.argv:
        keep(found)
    print(json.dumps({"bench": "time_left", "worst_after_first": worst, "limit": ALLOWED, "errors": errors}))
    sys.exit(worst > ALLOWED)


if __name__ == "__main__":
    main()
