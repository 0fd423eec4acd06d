"""How far a sweep is: counted and estimated by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.outlook import Allowance, Running, outlook, packed_s, usual_s
from tuner.progress import Progress, WorkerProgress
from tuner.records import Candidate, PhaseTimes, Role, Trial, TrialRecord, WorkerFacts
from tuner.search.schedule import Task
from tuner.space.search_space import Limits
from tuner.store import read_run
from tuner.words import time_left_words

DATA = Path(__file__).parent / "data"
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
        WorkerProgress("GPU A", "no speculation", "loading", 10.0, None),
        WorkerProgress("GPU B"),
    )


def test_the_time_left_is_that_of_the_trials_so_far(make_trial: Make) -> None:
    """Trials take 90 s: 3 to come and one begun 45 s ago, on two workers: the one that is free takes two of them."""
    fresh = [make_trial(0).record, make_trial(1, k=2, failure="died").record]
    progress = seen(fresh, {0: at(255.0)}, 3)
    assert (progress.planned, progress.done, progress.failed) == (6, 2, 1)
    assert progress.left_s == pytest.approx(2 * 90)


def test_a_trial_that_takes_longer_than_the_others_does_not_make_up_for_them(make_trial: Make) -> None:
    assert packed_s([0.0], 2, 95.0, 2) == 95.0
    assert seen([make_trial(0).record], {0: at(0.0)}, 0).left_s == 0.0


@pytest.mark.parametrize(
    ("rests", "to_come", "workers", "expected"),
    [([], 0, 2, 0.0), ([], 3, 1, 30.0), ([], 3, 2, 20.0), ([4.0], 1, 2, 10.0), ([4.0, 9.0], 1, 2, 14.0)],
)
def test_the_last_worker_decides_when_a_sweep_ends(
    rests: list[float], to_come: int, workers: int, expected: float
) -> None:
    assert packed_s(rests, to_come, 10.0, workers) == expected


def test_what_passes_between_trials_counts_and_never_more_than_a_trial(make_trial: Make) -> None:
    def left(between_s: float) -> float | None:
        fresh, only = [make_trial(0).record], {0: WORKERS[0]}
        return outlook(fresh, {}, 2, only, {}, best="", started_s=0.0, now_s=95.0, between_s=between_s).left_s

    assert left(10.0) == pytest.approx(2 * 100)
    assert left(1000.0) == pytest.approx(2 * 180)


def test_what_only_the_first_baseline_does_is_not_expected_of_others(make_trial: Make) -> None:
    """90 s of starting and load, and 30 s of fetching probabilities, which no other trial does."""
    first = make_trial(0).record
    first = replace(first, phases=replace(first.phases, total_s=120.0))
    assert usual_s([first], first.candidate) == 90.0
    again = replace(first, role=Role.BASELINE_AGAIN)
    assert usual_s([again], first.candidate) == 120.0


def test_a_resumed_sweep_knows_at_once_how_long_trials_take(make_trial: Make) -> None:
    earlier = [make_trial(0).record]
    shown = outlook([], {0: at(0.0)}, 3, {0: WORKERS[0]}, {}, best="", started_s=0.0, now_s=0.0, earlier=earlier)
    assert shown.left_s == pytest.approx(4 * 90)
    assert (shown.planned, shown.done) == (4, 0)


def test_limits_shorten_what_is_left(make_trial: Make) -> None:
    def left(allowed: Allowance) -> tuple[int, int]:
        fresh, only = [make_trial(0).record], {0: WORKERS[0]}
        shown = outlook(fresh, {}, 9, only, {}, best="", started_s=0.0, now_s=95.0, allowed=allowed)
        return shown.planned, round(shown.left_s or 0.0)

    assert left(Allowance()) == (10, 9 * 90)
    assert left(Allowance(starts=2)) == (3, 2 * 90)
    assert left(Allowance(starts=-1)) == (1, 0)
    assert left(Allowance(seconds=100.0)) == (10, 190)


def test_trials_that_may_come_make_a_range_and_an_estimate_between(make_trial: Make) -> None:
    """Six trials of 90 s are certain, three more possible: by as much too long without them as too short with them."""

    def seen_with(possible: int, allowed: Allowance | None = None) -> Progress:
        fresh, only = [make_trial(0).record], {0: WORKERS[0]}
        return outlook(fresh, {}, 6, only, {}, best="", started_s=0.0, now_s=95.0, possible=possible, allowed=allowed)

    progress = seen_with(3)
    least, most = progress.left_between_s or (0.0, 0.0)
    assert (least, most) == pytest.approx((6 * 90, 9 * 90))
    assert progress.left_s is not None
    assert progress.left_s / least - 1 == pytest.approx(1 - progress.left_s / most)
    assert progress.planned == 1 + 7
    assert seen_with(0).left_between_s is None
    assert seen_with(3, Allowance(starts=6)).left_between_s is None


@pytest.mark.parametrize(
    ("between_s", "words"),
    [(None, "about 3 min 20 s"), ((190.0, 220.0), "about 3 min 20 s"), ((160.0, 240.0), "2 min 40 s to 4 min 00 s")],
)
def test_a_range_is_said_where_it_is_wide(between_s: tuple[float, float] | None, words: str) -> None:
    assert time_left_words(200.0, between_s) == words


def test_a_running_trial_is_held_against_its_kind(make_trial: Make) -> None:
    slow = replace(make_trial(1, k=2).record, phases=PhaseTimes(total_s=200.0))
    known = [make_trial(0).record, slow]
    assert usual_s(known, known[0].candidate) == 90.0
    assert usual_s(known, slow.candidate) == 200.0
    assert usual_s(known[:1], slow.candidate) == 90.0  # nothing else is known yet
    assert usual_s([], slow.candidate) is None


@pytest.mark.parametrize("run", ["h200-14b", "h200-14b-grid", "h200-7b", "h200-7b-lives", "h200-7b-ngram-gpu"])
def test_on_recorded_sweeps_the_time_left_is_right_within_a_quarter(run: str) -> None:
    """Where it is known what is to come: engine starts and loads still differ from trial to trial.

    The last two or three are looked at more mildly: there one start that is faster than all before it makes a quarter.
    """
    records = [trial.record for trial in read_run(DATA / run)[1]]
    for done in range(1, len(records)):
        spent_s, rest = sum(record.phases.total_s for record in records[:done]), records[done:]
        plain = sum(not record.candidate.k for record in rest)
        shown = outlook(
            records[:done],
            {},
            len(rest),
            {0: WORKERS[0]},
            {},
            best="",
            started_s=0.0,
            now_s=spent_s,
            plain=plain,
        )
        rest_s = sum(record.phases.total_s for record in rest)
        assert shown.left_s == pytest.approx(rest_s, rel=0.25 if len(rest) > 3 or done == 1 else 0.35)


@pytest.mark.parametrize(
    ("limits", "starts", "seconds"),
    [
        (Limits(), None, None),
        (Limits(max_trials=9), 4, None),
        (Limits(max_trials=9, max_engine_starts=7, max_minutes=11), 2, 60.0),
    ],
)
def test_what_limits_still_allow(limits: Limits, starts: int | None, seconds: float | None) -> None:
    assert limits.left(begun=5, elapsed_s=600.0) == (starts, seconds)


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
