"""How far a sweep is: counted and estimated by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tuner.outlook import Running, outlook
from tuner.progress import Progress, WorkerProgress
from tuner.records import Candidate, Role, Trial, TrialRecord, WorkerFacts
from tuner.search.schedule import Task
from tuner.space.search_space import Limits

Make = Callable[..., Trial]
WORKERS = {0: WorkerFacts("a/0", "GPU A", "a"), 1: WorkerFacts("b/0", "GPU B", "b")}


def seen(fresh: list[TrialRecord], running: dict[int, Running], to_come: int, now_s: float = 300.0) -> Progress:
    phases = {0: "loading", 1: "starting engine"}
    return outlook(fresh, running, to_come, WORKERS, phases, best="good K=4 1.50x", started_s=100.0, now_s=now_s)


def at(since_s: float) -> Running:
    return Running(Task(Role.BASELINE, Candidate()), 7, since_s)


def test_before_the_first_trial_has_ended_the_time_left_is_not_known() -> None:
    progress = seen([], {0: at(290.0)}, 5)
    assert (progress.planned, progress.done, progress.failed, progress.left_s) == (6, 0, 0, None)
    assert progress.elapsed_s == 200.0
    assert progress.best == "good K=4 1.50x"
    assert progress.workers == (
        WorkerProgress("GPU A", "no speculation", "loading", 10.0),
        WorkerProgress("GPU B"),
    )


def test_the_time_left_is_that_of_the_trials_so_far(make_trial: Make) -> None:
    """Trials take 95 s: 3 to come and one begun 45 s ago, on two workers: (4 x 95 - 45) / 2."""
    fresh = [make_trial(0).record, make_trial(1, k=2, failure="died").record]
    progress = seen(fresh, {0: at(255.0)}, 3)
    assert (progress.planned, progress.done, progress.failed) == (6, 2, 1)
    assert progress.left_s == pytest.approx((4 * 95 - 45) / 2)


def test_a_trial_that_takes_longer_than_the_others_does_not_make_up_for_them(make_trial: Make) -> None:
    assert seen([make_trial(0).record], {0: at(0.0)}, 2).left_s == pytest.approx(2 * 95 / 2)
    assert seen([make_trial(0).record], {0: at(0.0)}, 0).left_s == 0.0


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        (Limits(), ""),
        (Limits(max_trials=5), "max_trials: 5"),
        (Limits(max_trials=6), ""),
        (Limits(max_engine_starts=7), "max_engine_starts: 7"),  # five begun, two reserved
        (Limits(max_engine_starts=8), ""),
        (Limits(max_minutes=10.0), "max_minutes: 10"),
        (Limits(max_minutes=10.1), ""),
        (Limits(max_trials=9, max_engine_starts=7, max_minutes=0.5), "max_engine_starts: 7"),
    ],
)
def test_limits(limits: Limits, reached: str) -> None:
    assert limits.reached(begun=5, elapsed_s=600.0, reserved=2) == reached
