"""Each reason why a trial cannot win has its kind; see test_findings for what selection makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.eligibility import Contender, disqualifications, failures_over_lives
from tuner.analysis.findings import findings
from tuner.analysis.metrics import trial_figures
from tuner.analysis.warnings import run_warnings
from tuner.records import Bar, BarKind, Barred, LoadPoint, Sampling, Trial

C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33)
LOADS = (C1, C8)
Make = Callable[..., Trial]


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        ({"loads": (C1,)}, BarKind.INCOMPLETE, f"not measured at {C8.label}"),
        (
            {"problems": dict.fromkeys(range(3), ("foreign traffic",))},
            BarKind.INVALID_REPEAT,
            f"{C1.label}: foreign traffic",
        ),
        ({"problems": {1: ("tokens lost",)}}, BarKind.INVALID_REPEAT, f"{C1.label}: tokens lost"),
        ({"failed": 2}, BarKind.MORE_FAILURES, "25.0% of its requests failed, 0.0% of the baseline's"),
        (
            {"preemptions": 1},
            BarKind.PREEMPTED,
            "6 preemptions where the baseline had none: it does not fit the memory",
        ),
        ({"max_model_len": 2048}, BarKind.CONTEXT_DIFFERS, "its max_model_len is 2048, the baseline's 4096"),
        ({"max_model_len": 8192}, BarKind.CONTEXT_DIFFERS, "its max_model_len is 8192, the baseline's 4096"),
    ],
)
def test_kinds(make_trial: Make, fault: dict[str, object], kind: BarKind, text: str) -> None:
    base = make_trial(loads=LOADS, max_model_len=4096)
    trial = make_trial(1, k=2, **{"loads": LOADS, "max_model_len": 4096, **fault})
    assert disqualifications(trial, base, LOADS)[0] == Bar(kind, text)


def test_a_clean_trial_has_no_bar_and_neither_has_a_baseline(make_trial: Make) -> None:
    base = make_trial(loads=LOADS)
    assert disqualifications(make_trial(1, k=2, loads=LOADS), base, LOADS) == ()
    assert disqualifications(base, base, LOADS) == ()


def test_foreign_requests_in_one_repeat_are_no_fault_of_the_candidate(make_trial: Make) -> None:
    trial = make_trial(1, k=2, loads=LOADS, problems={1: ("foreign traffic: 3 requests",)})
    assert disqualifications(trial, make_trial(loads=LOADS), LOADS) == ()


def test_failures_over_many_lives_bar_only_where_they_are_no_chance(make_trial: Make) -> None:
    """18 requests a life. One failure is chance, 9 of 63 against 0 of 54 is not (p = 0.003)."""
    lucky = [(make_trial(1, k=2), make_trial()) for _ in range(2)]
    assert failures_over_lives([(make_trial(1, k=2, failed=1), make_trial()), *lucky], LOADS) == []
    (bar,) = failures_over_lives([(make_trial(1, k=2, failed=1), make_trial()) for _ in range(3)], LOADS)
    assert bar == Bar(BarKind.MORE_FAILURES, "9 of 63 requests failed over 3 fresh lives, 0 of 54 of the baseline's")
    same = [(make_trial(1, k=2, failed=1), make_trial(failed=1)) for _ in range(3)]
    assert failures_over_lives(same, LOADS) == []


def test_disturbed_repeats_are_a_warning(make_trial: Make) -> None:
    base = make_trial()
    load = base.record.loads[0]
    marked = (replace(load.repeats[0], disturbances=("thermal slowdown",)), *load.repeats[1:])
    disturbed = replace(base, record=replace(base.record, loads=(replace(load, repeats=marked),)))
    (line,) = run_warnings([disturbed], {})
    assert line == "1 of 3 repeats were disturbed, 1 of them left out (for one: thermal slowdown)"


def test_without_a_baseline_nothing_else_is_asked(make_trial: Make) -> None:
    (bar,) = disqualifications(make_trial(1, k=2, failed=3), None, LOADS)
    assert bar.kind is BarKind.NO_BASELINE


def test_answers_and_counters_are_looked_at_too(make_trial: Make) -> None:
    base, trial = make_trial(), make_trial(1, k=1, acceptance=(1.0,), tokens=201, prompts=6)
    empty = replace(trial, samples=tuple(replace(s, text="") for s in trial.samples))
    kinds = [bar.kind for bar in disqualifications(empty, base, (C1,))]
    assert kinds == [BarKind.DEGENERATE_TEXT, BarKind.LENGTH_DIFFERS, BarKind.ACCEPTANCE_IMPLAUSIBLE]


def test_a_contender_gives_its_reasons_in_words_and_warnings_have_them(make_trial: Make) -> None:
    base, trial = make_trial(), make_trial(1, k=2)
    figures = trial_figures(trial, base)
    contender = Contender(figures, figures, (Bar(BarKind.PREEMPTED, "3 preemptions"),))
    assert contender.reasons == ("3 preemptions",)
    lines = run_warnings([base, trial], {0.0: [contender]})
    assert "good K=2 cannot win: 3 preemptions" in lines


def test_doubts_about_counters_become_warnings(make_trial: Make) -> None:
    base = make_trial()
    flat = make_trial(1, k=4, acceptance=(0.8,) * 4, tokens=201, prompts=20)
    (line,) = run_warnings([base, flat], {})
    assert line.startswith(f"good K=4 (trial 1) at {C1.label}: acceptance does not fall")


def test_who_is_barred_is_a_finding_at_its_own_temperature(make_trial: Make) -> None:
    warm = replace(C1, sampling=Sampling(temperature=0.7))
    base, trial = make_trial(loads=(C1, warm)), make_trial(1, k=2, loads=(C1,))
    (found,) = findings([base, trial], (C1, warm)).barred
    assert found == Barred(trial.record.candidate, 0.7, Bar(BarKind.INCOMPLETE, f"not measured at {warm.label}"))
    assert findings([base, make_trial(1, k=2, loads=(C1, warm))], (C1, warm)).barred == ()
