"""How long a speculating step takes in plain steps: measured, between, beyond, and with another draft speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.apart import apart
from tuner.analysis.comparison import load_figures
from tuner.analysis.metrics import trial_figures
from tuner.analysis.step_growth import Basis, draft_time, growth_at, measured_growth, with_draft_speed
from tuner.records import Figure, LoadMeasurement, LoadPoint, Role, Trial

LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
Make = Callable[..., Trial]


def steps(value: float, low: float | None = None, high: float | None = None) -> Figure:
    return Figure(value, "plain steps", "test", 6, "prompts", low, high)


def growth(trial: Trial, baseline: Trial) -> Figure | None:
    figures = load_figures(trial_figures(trial, baseline), LOAD)
    assert figures is not None
    return measured_growth(figures)


def less_covered(trial: Trial, plain_steps: int) -> Trial:
    """Add steps without a draft: they give one token each, so that the counters stay true."""
    loads = [
        LoadMeasurement(
            load.load_point,
            tuple(
                replace(r, counters=replace(r.counters, decode_steps=(r.counters.decode_steps or 0) + plain_steps))
                for r in load.repeats
            ),
            load.warmup_s,
        )
        for load in trial.record.loads
    ]
    return Trial(replace(trial.record, loads=tuple(loads)), trial.samples)


def test_growth_is_tokens_per_step_over_speedup(make_trial: Make) -> None:
    """192 tokens in 96 steps are 2 a step; 0.02 / 0.015 is 1.33x; so a step takes 2 x 0.015 s = 1.5 x 0.02 s."""
    found = growth(make_trial(1, k=2, tpot=0.015, acceptance=[0.75, 0.25]), make_trial(0))
    assert found is not None
    assert found.value == pytest.approx(1.5)


def test_the_interval_is_that_of_the_speedup(make_trial: Make) -> None:
    trial = make_trial(1, k=2, tpot=lambda _l, i, _r: 0.015 * 1.1 ** (i - 2.5), acceptance=[0.75, 0.25])
    figures = load_figures(trial_figures(trial, make_trial(0)), LOAD)
    assert figures is not None
    speedup, found = figures.figures["speedup_tpot"], measured_growth(figures)
    assert found is not None and found.low and found.high and speedup.low and speedup.high
    assert (found.low, found.high) == pytest.approx((2 / speedup.high, 2 / speedup.low))
    assert found.low < 1.5 < found.high


def test_steps_without_a_draft_tell_nothing_of_k(make_trial: Make) -> None:
    plain = make_trial(0)
    sparse = make_trial(1, k=2, method="ngram", draft="ngram", tpot=0.015, acceptance=[0.75, 0.25])
    assert growth(less_covered(sparse, 4), plain) is not None  # 96 of 100 steps
    assert growth(less_covered(sparse, 24), plain) is None  # 96 of 120


@pytest.mark.parametrize(
    ("k", "value", "basis"),
    [
        (1, 1.25, Basis.EXTRAPOLATED),
        (2, 1.5, Basis.MEASURED),
        (3, 1.75, Basis.INTERPOLATED),
        (4, 2.0, Basis.MEASURED),
        (5, 2.5, Basis.INTERPOLATED),
        (6, 3.0, Basis.INTERPOLATED),
        (8, 4.0, Basis.EXTRAPOLATED),
    ],
)
def test_other_k_lie_on_the_lines_between_the_measured_ones(k: int, value: float, basis: Basis) -> None:
    measured = {2: steps(1.5), 4: steps(2.0), 7: steps(3.5)}
    found, where = growth_at(k, measured, steps(0.9))
    assert found.value == pytest.approx(value)
    assert where is basis


def test_the_interval_between_is_interpolated_and_beyond_takes_the_unfavourable_ends() -> None:
    measured = {2: steps(1.5, 1.4, 1.7), 4: steps(2.5, 2.2, 2.6)}
    between, _ = growth_at(3, measured, None)
    assert (between.low, between.high) == pytest.approx((1.8, 2.15))
    beyond, _ = growth_at(6, measured, None)  # 2 x K4 - K2
    assert (beyond.value, beyond.low, beyond.high) == pytest.approx((3.5, 2.7, 3.8))
    one_open = growth_at(3, {2: steps(1.5), 4: steps(2.5, 2.2, 2.6)}, None)[0]
    assert (one_open.low, one_open.high) == (None, None)


def test_no_step_is_taken_to_be_shorter_than_a_plain_one() -> None:
    found, _ = growth_at(1, {2: steps(1.2, 1.1, 1.3), 3: steps(2.0, 1.9, 2.1)}, None)  # the line says 0.4
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_from_one_k_the_drafts_own_time_leads_to_the_others() -> None:
    found = {k: growth_at(k, {2: steps(1.5, 1.4, 1.6)}, steps(0.25, 0.2, 0.3)) for k in (1, 2, 4)}
    assert [figure.value for figure, _ in found.values()] == [pytest.approx(v) for v in (1.25, 1.5, 2.0)]
    assert [basis for _, basis in found.values()] == [Basis.DRAFT_TIME, Basis.MEASURED, Basis.DRAFT_TIME]
    assert (found[1][0].low, found[1][0].high) == pytest.approx((1.1, 1.4))
    assert (found[4][0].low, found[4][0].high) == pytest.approx((1.8, 2.2))


def test_one_k_alone_bounds_the_others() -> None:
    found = {k: growth_at(k, {3: steps(1.5)}, None) for k in (1, 3, 4)}
    assert {k: (f.value, basis) for k, (f, basis) in found.items()} == {
        1: (1.5, Basis.AT_MOST),
        3: (1.5, Basis.MEASURED),
        4: (1.5, Basis.AT_LEAST),
    }


# --- the draft's own time ---------------------------------------------------------------------------------------------


def alone(make: Make, tpot: float) -> Trial:
    trial = make(5, role=Role.DRAFT_ALONE, tpot=tpot)
    return Trial(replace(trial.record, served="/models/good"), trial.samples)


def test_a_draft_served_alone_tells_its_time(make_trial: Make) -> None:
    rows = apart([make_trial(0), alone(make_trial, 0.005)], (LOAD,))
    found = draft_time({2: steps(1.5)}, rows.drafts[0], ())
    assert found is not None
    assert found.value == pytest.approx(0.25)
    assert found.note == "served alone"


def test_ngram_at_the_same_k_tells_it_from_verification(make_trial: Make) -> None:
    """Steps of 1.5 with the draft and 1.2 without: 0.3 for two passes."""
    ngram = make_trial(1, k=2, method="ngram", draft="ngram", tpot=0.012, acceptance=[0.75, 0.25])
    rows = apart([make_trial(0), ngram], (LOAD,)).verification
    found = draft_time({2: steps(1.5, 1.4, 1.6)}, None, rows)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((0.15, 0.1, 0.2))
    assert found.note.startswith("at least")
    between = draft_time({1: steps(1.4), 3: steps(1.8)}, None, rows)  # 1.6 at K = 2
    assert between is not None and between.value == pytest.approx(0.2)
    assert draft_time({3: steps(1.5)}, None, rows) is None, "another K does not tell"
    assert draft_time({2: steps(1.1)}, None, rows) is None, "a draft cannot take less than no time"
    sparse = apart([make_trial(0), less_covered(ngram, 24)], (LOAD,)).verification
    assert draft_time({2: steps(1.5)}, None, sparse) is None


@pytest.mark.parametrize(("factor", "value"), [(1.0, 1.5), (2.0, 1.25), (1e12, 1.0), (0.5, 2.0)])
def test_another_draft_speed_changes_the_passes_alone(factor: float, value: float) -> None:
    """Two passes of 0.25 beside a verification of 1."""
    assert with_draft_speed(steps(1.5), 2, steps(0.25), factor).value == pytest.approx(value)


def test_drafting_takes_no_more_than_what_is_beyond_a_plain_step() -> None:
    assert with_draft_speed(steps(1.5), 2, steps(0.6), 2.0).value == pytest.approx(1.25)
    assert with_draft_speed(steps(0.9), 2, steps(0.6), 2.0).value == pytest.approx(0.9)


def test_the_interval_of_another_speed_takes_the_unfavourable_ends() -> None:
    faster = with_draft_speed(steps(2.0, 1.8, 2.2), 2, steps(0.25, 0.2, 0.3), 2.0)
    assert (faster.low, faster.high) == pytest.approx((1.8 - 0.3, 2.2 - 0.2))
    slower = with_draft_speed(steps(2.0, 1.8, 2.2), 2, steps(0.25, 0.2, 0.3), 0.5)
    assert (slower.low, slower.high) == pytest.approx((1.8 + 0.4, 2.2 + 0.6))


@given(st.floats(1.0, 10.0), st.integers(1, 8), st.floats(0.01, 3.0), st.floats(0.1, 100.0), st.floats(0.1, 100.0))
def test_a_faster_draft_never_makes_a_longer_step(
    step: float, k: int, of_draft: float, factor: float, other: float
) -> None:
    slow, fast = sorted((factor, other))
    at = [with_draft_speed(steps(step), k, steps(of_draft), f).value or 0.0 for f in (slow, fast)]
    assert at[0] >= at[1] - 1e-9
    assert at[1] >= 1.0 - 1e-9
