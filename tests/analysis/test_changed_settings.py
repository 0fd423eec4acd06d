"""What engines changed by themselves: each line once."""

from __future__ import annotations

from collections.abc import Callable

from tuner.analysis.changed_settings import changed_settings
from tuner.records import ChangedSettings, Trial

Make = Callable[..., Trial]


def test_lines_are_grouped_by_who_said_them_and_the_baselines_come_last(make_trial: Make) -> None:
    trials = [
        make_trial(0, changed_settings=("both",)),
        make_trial(1, k=2, changed_settings=("both", "Disabling A", "Overriding B")),
        make_trial(2, k=4, changed_settings=("both", "Disabling A", "Overriding B", "Truncating C")),
    ]
    assert changed_settings(trials, dict.fromkeys(range(3), trials[0])) == (
        ChangedSettings(("good K=2", "good K=4"), ("Disabling A", "Overriding B")),
        ChangedSettings(("good K=4",), ("Truncating C",)),
        ChangedSettings((), ("both",), everywhere=True),
    )


def test_a_line_is_held_against_the_candidates_own_baseline(make_trial: Make) -> None:
    small, large = make_trial(0, changed_settings=("x",)), make_trial(1, args={"a": 1})
    trials = [small, large, make_trial(2, k=2, changed_settings=("x",), args={"a": 1})]
    assert changed_settings(trials, {0: small, 1: large, 2: large}) == (
        ChangedSettings(("good K=2",), ("x",)),
        ChangedSettings((), ("x",), everywhere=True),
    )
    assert changed_settings([trials[2]], {}) == (ChangedSettings(("good K=2",), ("x",)),)


def test_nothing_changed_is_nothing(make_trial: Make) -> None:
    assert changed_settings([make_trial(), make_trial(1, k=2)], {}) == ()
