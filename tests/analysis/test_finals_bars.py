"""What bars a finalist in its fresh lives, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.findings import findings
from tuner.records import BarKind, LoadPoint, Protocol, Role, SameOutput, Sampling, Trial, Verdict

Make = Callable[..., Trial]
C1 = LoadPoint("chat", 1, 33)
THREE = Protocol(lives=3, max_lives=3)


def sweep(make: Make, speeds: dict[int, float], **faults: object) -> list[Trial]:
    """Return single lives, then three rounds of the baseline and all candidates at these speeds.

    faults: of K = 4 in the last round.
    """

    def tpot(speed: float, number: int) -> Callable[[LoadPoint, int, int], float]:
        return lambda _load, i, _repeat: 0.02 / speed * (1 + 0.01 * (-1) ** i) * (1 + 0.001 * (number % 3))

    trials = [make(0, tpot=tpot(1.0, 0))]
    trials += [make(i + 1, k=k, tpot=tpot(speed, 0)) for i, (k, speed) in enumerate(speeds.items())]
    trials.append(make(len(trials), role=Role.BASELINE_AGAIN, tpot=tpot(1.0, 0)))
    for number in range(3):
        for k, speed in {0: 1.0, **speeds}.items():
            fault = faults if (k, number) == (4, 2) else {}
            trials.append(make(len(trials), k=k, tpot=tpot(speed, k + number), final_round=number, **fault))
    return trials


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"problems": {1: ("drafts went backwards by 9",)}}, BarKind.INVALID_REPEAT),
        ({"failed": 2}, BarKind.MORE_FAILURES),
        ({"preemptions": 3}, BarKind.PREEMPTED),
    ],
)
def test_what_bars_a_finalist_in_a_fresh_life_is_told(
    make_trial: Make, fault: dict[str, object], kind: BarKind
) -> None:
    """No single life shows it: without this the winner would vanish from the answer without a word."""
    result = findings(sweep(make_trial, {2: 1.5, 4: 1.8}, **fault), (C1,), protocol=THREE)
    assert (result.answers[0].verdict, result.answers[0].best.k) == (Verdict.SPECULATE, 2)
    assert [(barred.candidate.k, barred.temperature, barred.bar.kind) for barred in result.barred] == [(4, 0.0, kind)]
    assert any(line.startswith("good K=4 cannot win: ") for line in result.warnings)


def test_a_finalist_barred_in_a_fresh_life_and_faster_all_the_same_is_no_do_not(make_trial: Make) -> None:
    trials = sweep(make_trial, {2: 0.8, 4: 1.8}, failed=2)
    (answer,) = findings(trials, (C1,), protocol=THREE).answers
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "good K=4 was measured faster" in answer.why
    assert "cannot win" in answer.why


def test_a_bar_of_one_temperature_is_told_of_that_one(make_trial: Make) -> None:
    hot = replace(C1, sampling=Sampling(temperature=0.7))
    loads = (C1, hot)
    trials = [
        make_trial(
            trial.record.number,
            k=trial.record.candidate.k,
            role=trial.record.role,
            loads=loads,
            tpot=0.02 / (1 + trial.record.candidate.k / 10) * (1 + 0.001 * (trial.record.number % 3)),
            final_round=trial.record.round,
        )
        for trial in sweep(make_trial, {2: 1.5, 4: 1.8})
    ]
    last = trials[-1]
    cold, warm = last.record.loads
    broken = replace(warm, repeats=(replace(warm.repeats[0], problems=("broken",)), *warm.repeats[1:]))
    trials[-1] = replace(last, record=replace(last.record, loads=(cold, broken)))
    result = findings(trials, loads, protocol=THREE)
    assert [(barred.candidate.k, barred.temperature) for barred in result.barred] == [(4, 0.7)]
    assert [answer.best.k for answer in result.answers] == [4, 2]


def test_what_went_wrong_in_fresh_lives_is_a_warning_in_one_line(make_trial: Make) -> None:
    trials = sweep(make_trial, {4: 1.8})

    def disturbed(trial: Trial) -> Trial:
        loads = [
            replace(load, repeats=tuple(replace(r, disturbances=("other processes",)) for r in load.repeats))
            for load in trial.record.loads
        ]
        return replace(trial, record=replace(trial.record, loads=tuple(loads)))

    trials = [disturbed(t) if t.record.role is Role.FINAL and t.record.candidate.k else t for t in trials]
    (line,) = (w for w in findings(trials, (C1,), protocol=THREE).warnings if "disturbed" in w)
    assert line == (
        "9 of 27 repeats were disturbed, 0 of them left out (for one: other processes); "
        "measure again on a quiet machine"
    )


def test_that_what_was_measured_again_is_slower_is_not_said_of_all(make_trial: Make) -> None:
    trials = sweep(make_trial, {4: 0.8})
    (answer,) = findings(trials, (C1,), protocol=THREE).answers
    assert answer.verdict is Verdict.DO_NOT
    assert answer.why.startswith("What was measured again in fresh lives is slower")


def test_the_outputs_of_the_answer_are_those_of_its_farthest_life(make_trial: Make) -> None:
    """One token of one answer in one fresh life: no fault, and not what the single life showed either."""
    trials = sweep(make_trial, {4: 1.8})
    (before,) = findings(trials, (C1,), protocol=THREE).answers
    assert before.loads[0].sameness is not None
    assert before.loads[0].sameness.verdict is SameOutput.IDENTICAL
    last = trials[-1]
    odd = replace(last.samples[0], token_ids=(*last.samples[0].token_ids[:-1], 999))
    trials[-1] = replace(last, samples=(odd, *last.samples[1:]))
    (answer,) = findings(trials, (C1,), protocol=THREE).answers
    assert answer.best.k == 4
    assert answer.loads[0].sameness is not None
    assert answer.loads[0].sameness.verdict is SameOutput.UNEXPLAINED
    assert (answer.loads[0].sameness.equal, answer.loads[0].sameness.compared) == (17, 18)
