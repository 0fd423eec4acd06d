"""The driver is killed at random moments, and told to stop at others: a short, seeded part of `make bench-kills`."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults import kills, stops
from tests.faults.driver_sweep import Moment, Place
from tests.faults.matrix import Group, fault
from tuner.store import read_run


@fault(
    Group.DRIVER,
    "killed at any moment (kill -9, out of memory)",
    sees="nothing; the same command goes on",
    keeps="every finished trial, none is measured again; engines and temporary files of the killed sweep are gone",
)
def test_a_killed_sweep_goes_on_and_ends_as_if_undisturbed(tmp_path: Path) -> None:
    seen, draw = kills.Seen(), random.Random(3)
    said = ("any", "trial 0", "done in", "done in", "writing the report", "kept in")
    kills.sweep_under_fire(Place(tmp_path, lives=1), [Moment(after, draw.uniform(0.0, 0.5)) for after in said], seen)
    assert seen.wrong == []
    assert (seen.sweeps, seen.kills >= 5) == (1, True)


@fault(
    Group.DRIVER,
    "Ctrl-C, SIGTERM or a lost terminal at any moment, twice",
    sees="a command that goes on, in JSON too; exit code 130, 143 or 129 once its engines are gone",
    keeps="every finished trial; the printed command resumes, with the variables that shape the sweep",
)
def test_a_stopped_sweep_prints_what_resumes_it(tmp_path: Path) -> None:
    seen = stops.Seen()
    moments = (Moment("trial 0", 0.2), Moment("trial", 1.5), Moment("writing the report", 0.1))
    stops.sweep_under_stops(Place(tmp_path, lives=1), zip(moments, stops.SIGNALS, strict=True), seen)
    assert seen.wrong == []
    assert (seen.sweeps, seen.count) == (1, 3)


@fault(
    Group.DRIVER,
    "whoever reads its output leaves (a pipe to head, a pager, ssh under nohup)",
    sees="what was read until then; the exit code is the sweep's",
    keeps="the sweep goes on to its end",
)
def test_a_sweep_outlasts_its_reader(tmp_path: Path) -> None:
    place = Place(tmp_path, lives=1)
    script = f"({place.command()} 2>&1; echo $? >code) | head -n 1"
    piped = place.paste(f"sh -c '{script}'")
    assert piped.ends() == 0
    assert len(piped.out.splitlines()) == 1, "the rest of what it said met no reader"
    failed = [trial.record.failure for trial in read_run(place.run)[1] if not trial.record.ok]
    assert ((place.path / "code").read_text(), failed) == ("0\n", [])
    assert (place.run / "best_config.yaml").is_file()
