"""A sweep's answer stays what it was when its engine's noise is measured afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tuner.analysis.findings import findings
from tuner.records import LoadPoint, Protocol, Role, Trial

Make = Callable[..., Trial]
C1 = LoadPoint("chat", 1, 33)
THREE = Protocol(lives=3, max_lives=3)


def tpot(speed: float, number: int = 0) -> Callable[[LoadPoint, int, int], float]:
    return lambda _load, i, _repeat: 0.02 / speed * (1 + 0.002 * (-1) ** i) * (1 + 0.001 * (number % 3))


def swept(make: Make) -> list[Trial]:
    trials = [make(0, tpot=tpot(1))]
    trials += [make(i + 1, k=k, tpot=tpot(speed)) for i, (k, speed) in enumerate({1: 1.65, 2: 1.7, 4: 1.8}.items())]
    trials.append(make(4, role=Role.BASELINE_AGAIN, tpot=tpot(1.001)))
    for number in range(3):
        for k, speed in {0: 1.0, 2: 1.69, 4: 1.79}.items():
            trials.append(make(len(trials), k=k, tpot=tpot(speed, number + k), final_round=number))
    return trials


def test_noise_measured_after_a_sweep_does_not_change_its_answer(make_trial: Make) -> None:
    """One of the later lives is 12 % slower: with that drift K = 1 would be tied with K = 4, and have no fresh life."""
    trials = swept(make_trial)
    before = findings(trials, (C1,), protocol=THREE)
    later = [make_trial(len(trials) + i, role=Role.BASELINE_AGAIN, tpot=tpot(s)) for i, s in enumerate((1.0, 0.88))]
    after = findings([*trials, *later], (C1,), protocol=THREE)
    assert (after.answers, after.drift) == (before.answers, before.drift)
    assert (after.answers[0].best.k, after.answers[0].lives) == (4, 3)
    assert len(after.trials) == len(before.trials) + 2


def test_noise_measured_before_a_sweep_counts_as_drift(make_trial: Make) -> None:
    lives = [make_trial(0, tpot=tpot(1)), make_trial(1, role=Role.BASELINE_AGAIN, tpot=tpot(0.9))]
    candidate = make_trial(2, k=4, tpot=tpot(1.8))
    (drift,) = findings([*lives, candidate], (C1,)).drift.values()
    assert drift.value is not None
    assert round(drift.value, 2) == 1.11


def test_a_candidate_that_came_later_has_the_baselines_up_to_its_own_closing_one(make_trial: Make) -> None:
    trials = swept(make_trial)
    number = len(trials)
    more = [make_trial(number, k=6, tpot=tpot(1.9)), make_trial(number + 1, role=Role.BASELINE_AGAIN, tpot=tpot(0.95))]
    (drift,) = findings([*trials, *more], (C1,)).drift.values()
    assert drift.value is not None
    assert round(drift.value, 2) == 1.05
    elsewhere = replace(more[1].record, worker=replace(more[1].record.worker, device_key="node-b/cpu"))
    assert len(findings([*trials, replace(more[1], record=elsewhere)], (C1,)).drift) == 1
