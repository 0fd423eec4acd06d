"""What a draft would need: solved by hand, on built trials and on a run recorded on an H200."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.apart import Apart, apart
from tuner.analysis.breakeven import Breakeven, Reach, acceptance_needed, breakeven, expected_tokens, need
from tuner.analysis.metrics import trial_figures
from tuner.analysis.step_growth import Basis
from tuner.records import Figure, LoadPoint, Role, Trial
from tuner.store import read_run

RECORDED = Path(__file__).parents[1] / "data" / "h200-7b"
LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
Make = Callable[..., Trial]
NOTHING = Apart((), (), {})


def rows(trials: Sequence[Trial], **options: object) -> tuple[Breakeven, ...]:
    plain = trials[0]
    figures = [
        trial_figures(t, plain if t.record.candidate.k else None) for t in trials if t.record.role != Role.DRAFT_ALONE
    ]
    return breakeven(figures, (LOAD,), apart(trials, (LOAD,)), **options)  # type: ignore[arg-type]


def steps(value: float, low: float | None = None, high: float | None = None) -> Figure:
    return Figure(value, "plain steps", "test", 6, "prompts", low, high)


# --- the model --------------------------------------------------------------------------------------------------------


@given(st.floats(0.0, 1.0), st.integers(1, 24))
def test_the_acceptance_that_gives_the_tokens_of_an_acceptance_is_that_acceptance(alpha: float, k: int) -> None:
    found = acceptance_needed(expected_tokens(alpha, k), k)
    assert found is not None
    assert found == pytest.approx(alpha, abs=1e-9)


@given(st.floats(0.0, 0.999), st.integers(1, 24))
def test_tokens_are_those_of_the_published_formula(alpha: float, k: int) -> None:
    assert expected_tokens(alpha, k) == pytest.approx((1 - alpha ** (k + 1)) / (1 - alpha), rel=1e-9)


def test_acceptance_by_hand() -> None:
    assert acceptance_needed(1.5, 1) == pytest.approx(0.5)  # 1 + a
    assert acceptance_needed(1.75, 2) == pytest.approx(0.5)  # 1 + 1/2 + 1/4
    assert acceptance_needed(2.0, 2) == pytest.approx((math.sqrt(5) - 1) / 2)  # a^2 + a = 1
    assert acceptance_needed(3.0, 2) == 1.0
    assert acceptance_needed(3.001, 2) is None
    assert acceptance_needed(1.0, 2) == acceptance_needed(0.3, 2) == 0.0


# --- one need ---------------------------------------------------------------------------------------------------------


def test_a_speedup_takes_so_many_tokens_more() -> None:
    found = need(1.5, 2, steps(1.5, 1.2, 2.5))
    assert (found.tokens.value, found.tokens.low, found.tokens.high) == pytest.approx((2.25, 1.8, 3.75))
    assert found.reach is Reach.POSSIBLE
    assert found.acceptance.value == pytest.approx((math.sqrt(6) - 1) / 2)  # a^2 + a = 1.25
    assert found.acceptance.low == pytest.approx((math.sqrt(4.2) - 1) / 2)  # a^2 + a = 0.8
    assert found.acceptance.high is None, "3.75 tokens cannot come from K = 2"


@pytest.mark.parametrize(
    ("growth", "basis", "reach"),
    [
        (0.9, Basis.MEASURED, Reach.ALWAYS),
        (1.0, Basis.MEASURED, Reach.ALWAYS),
        (3.0, Basis.MEASURED, Reach.POSSIBLE),
        (3.1, Basis.MEASURED, Reach.IMPOSSIBLE),
        (3.1, Basis.AT_LEAST, Reach.IMPOSSIBLE),
        (3.1, Basis.AT_MOST, Reach.UNKNOWN),
        (1.0, Basis.AT_LEAST, Reach.UNKNOWN),
        (1.0, Basis.AT_MOST, Reach.ALWAYS),
        (2.0, Basis.AT_MOST, Reach.POSSIBLE),
    ],
)
def test_what_can_be_reached(growth: float, basis: Basis, reach: Reach) -> None:
    found = need(1.0, 2, steps(growth), basis)
    assert found.reach is reach
    assert (found.acceptance.value is None) == (reach in (Reach.IMPOSSIBLE, Reach.UNKNOWN))


def test_what_is_impossible_by_its_mean_says_from_where_it_might_not_be() -> None:
    found = need(1.0, 2, steps(3.1, 2.0, 3.5)).acceptance
    assert (found.value, found.high) == (None, None)
    assert found.low == pytest.approx((math.sqrt(5) - 1) / 2)
    assert "3.10 tokens" in found.note and "no more than 3" in found.note


# --- several lives of the baseline ---------------------------------------------------------------------------------


def test_seconds_and_ratios_are_of_the_same_lives(make_trial: Make) -> None:
    """Lives of 20 and 12.8 ms have a mean of 16: a step of 2 tokens at 12 ms each is 24 ms, 1.5 plain ones."""
    first, again = make_trial(0), make_trial(3, tpot=0.0128, role=Role.BASELINE_AGAIN)
    candidate = make_trial(1, k=2, tpot=0.012, acceptance=[0.75, 0.25])
    figures = [trial_figures(first, None, again), trial_figures(candidate, first, again)]
    (row,) = breakeven(figures, (LOAD,), NOTHING)
    assert row.plain_tpot.value == pytest.approx(0.016)
    assert row.plain_tpot.note == "geometric mean of its lives"
    one, two = row.cells
    assert two.step_s == pytest.approx(0.024)
    assert two.growth.value == pytest.approx(1.5)
    assert one.step_s == pytest.approx(0.024), "at most that of the measured K"
    (alone,) = breakeven([trial_figures(first, None), trial_figures(candidate, first)], (LOAD,), NOTHING)
    assert alone.plain_tpot.value == pytest.approx(0.02)
    assert alone.plain_tpot.note == ""


# --- whole runs -------------------------------------------------------------------------------------------------------


def test_a_measured_k_by_hand(make_trial: Make) -> None:
    """2 tokens a step of 0.03 s, a plain step 0.02 s: growth 1.5, and no more than 3 / 1.5 = 2x is possible."""
    (row,) = rows([make_trial(0), make_trial(1, k=2, tpot=0.015, acceptance=[0.75, 0.25])])
    assert (row.draft_name, row.draft_time) == ("good", None)
    assert row.plain_tpot.value == pytest.approx(0.02)
    one, two = row.cells
    assert (two.k, two.basis) == (2, Basis.MEASURED)
    assert two.growth.value == pytest.approx(1.5)
    assert two.step_s == pytest.approx(0.03)
    assert two.ceiling.value == pytest.approx(2.0)
    assert two.has_tokens == pytest.approx(2.0)
    assert two.has_acceptance == pytest.approx((math.sqrt(5) - 1) / 2)
    wanted = [(math.sqrt(3) - 1) / 2, (math.sqrt(6) - 1) / 2, 1.0]
    assert [n.acceptance.value for n in two.needs] == [pytest.approx(alpha, abs=1e-6) for alpha in wanted]
    assert (one.basis, one.has_tokens) == (Basis.AT_MOST, None)


def test_a_perfect_draft_is_slowest_where_the_step_is_longest(make_trial: Make) -> None:
    spread = make_trial(1, k=1, tpot=lambda _l, i, _r: 0.015 * 1.1 ** (i - 2.5), acceptance=[0.5])
    (row,) = rows([make_trial(0), spread])
    growth, ceiling = row.cells[0].growth, row.cells[0].ceiling
    assert growth.low and growth.high
    assert (ceiling.low, ceiling.high) == pytest.approx((2 / growth.high, 2 / growth.low))


def test_has_meets_needs_exactly_where_it_was_measured_faster(make_trial: Make) -> None:
    for tpot, pays in ((0.0199, True), (0.0201, False)):
        (row,) = rows([make_trial(0), make_trial(1, k=1, tpot=tpot, acceptance=[0.5])])
        (cell,) = row.cells
        needed = cell.needs[0].acceptance.value
        assert needed is not None and cell.has_acceptance is not None
        assert (cell.has_acceptance > needed) is pays


def test_easiest_is_the_smallest_acceptance_and_bounds_do_not_count(make_trial: Make) -> None:
    two = make_trial(1, k=2, tpot=0.015, acceptance=[0.75, 0.25])  # growth 1.5, at most for K = 1
    (alone,) = rows([make_trial(0), two], up_to=3)
    least = alone.easiest(1.0)
    assert least is not None and least[0].k == 2, "K = 3 would take less if its step took no longer"
    assert alone.not_told(2.0) == (1, 3)
    four = make_trial(2, k=4, tpot=0.02 * 2 / 3, acceptance=[0.75, 0.5, 0.5, 0.25])  # growth 2
    (both,) = rows([make_trial(0), two, four])
    assert [cell.growth.value for cell in both.cells] == [pytest.approx(g) for g in (1.25, 1.5, 1.75, 2.0)]
    easiest = both.easiest(1.0)
    assert easiest is not None and easiest[0].k == 1
    assert easiest[1].acceptance.value == pytest.approx(0.25)
    fastest = both.easiest(2.0)
    assert fastest is not None and fastest[0].k == 4  # 4 of at most 5 tokens; 3 of 3 at K = 2
    assert both.highest.k == 4
    assert both.highest.ceiling.value == pytest.approx(2.5)
    assert both.not_told(2.0) == ()


def test_nowhere_is_nothing(make_trial: Make) -> None:
    (row,) = rows([make_trial(0), make_trial(1, k=1, tpot=0.04, acceptance=[0.5])])  # growth 3 for at most 2 tokens
    assert row.easiest(1.0) is None
    assert row.not_told(1.0) == ()


def test_a_draft_served_alone_gives_the_other_k_and_another_speed(make_trial: Make) -> None:
    draft = make_trial(5, role=Role.DRAFT_ALONE, tpot=0.005)
    served = Trial(replace(draft.record, served="/models/good"), draft.samples)
    trials = [make_trial(0), make_trial(1, k=2, tpot=0.015, acceptance=[0.75, 0.25]), served]
    (row,) = rows(trials, up_to=4)
    assert row.draft_time is not None and row.draft_time.value == pytest.approx(0.25)
    assert [cell.growth.value for cell in row.cells] == [pytest.approx(g) for g in (1.25, 1.5, 1.75, 2.0)]
    (faster,) = rows(trials, draft_speed=2.0)
    assert faster.draft_speed == 2.0
    assert [cell.growth.value for cell in faster.cells] == [pytest.approx(1.125), pytest.approx(1.25)]
    assert {cell.basis for cell in faster.cells} == {Basis.DRAFT_TIME}
    assert rows(trials[:2], draft_speed=2.0) == (), "not told apart"


def test_drafts_and_engine_arguments_stay_apart_and_schedules_stay_out(make_trial: Make) -> None:
    scheduled = make_trial(4, k=4, draft="schedule", tpot=0.01)
    spec = scheduled.record.candidate.speculation
    assert spec is not None
    spec = replace(spec, options={"num_speculative_tokens_per_batch_size": [[1, 8, 4]]})
    candidate = replace(scheduled.record.candidate, speculation=spec)
    trials = [
        make_trial(0),
        make_trial(1, k=2, draft="good"),
        make_trial(2, k=2, draft="weak"),
        make_trial(3, k=1, draft="good", args={"max_num_seqs": 8}),
        Trial(replace(scheduled.record, candidate=candidate), scheduled.samples),
    ]
    found = rows(trials)
    assert [(row.draft_name, len(row.cells)) for row in found] == [("good", 2), ("weak", 2), ("good", 1)]


def test_the_recorded_run_by_hand() -> None:
    """H200, concurrency 1, K = 2: 1417 tokens in 483 steps of 4.604 ms a token; plain 4.948 and 4.946 ms."""
    _, trials = read_run(RECORDED)
    by_number = {trial.record.number: trial for trial in trials}
    figures = [trial_figures(by_number[1], by_number[0], by_number[4]), trial_figures(by_number[0], None)]
    loads = [measured.load_point for measured in by_number[0].record.loads]
    row = breakeven(figures, loads, NOTHING)[0]
    cell = row.cells[1]
    tokens = (1429 - 12) / 483
    growth = tokens * 4.604 / math.sqrt(4.948 * 4.946)
    assert cell.has_tokens == pytest.approx(tokens)
    assert cell.growth.value == pytest.approx(growth, rel=3e-4)
    assert cell.step_s == pytest.approx(tokens * 4.604e-3, rel=1e-3)
    assert cell.needs[0].acceptance.value == pytest.approx((math.sqrt(4 * growth - 3) - 1) / 2, abs=3e-4)
    assert cell.needs[1].reach is Reach.IMPOSSIBLE
    assert row.cells[0].basis is Basis.AT_MOST
