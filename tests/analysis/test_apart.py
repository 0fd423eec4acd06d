"""Draft and target timed apart, and verification seen through n-gram: figures known by construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.apart import apart
from tuner.analysis.metrics import trial_figures
from tuner.analysis.step_growth import measured_growth
from tuner.records import LoadPoint, Role, Trial

C1 = LoadPoint("chat", 1, 33)
Make = Callable[..., Trial]


def alone(make: Make, tpot: float, failure: str | None = None, **more: object) -> Trial:
    trial = make(5, role=Role.DRAFT_ALONE, tpot=tpot, failure=failure, loads=(C1,), **more)
    return Trial(replace(trial.record, served="/models/good"), trial.samples)


def test_the_ratio_is_target_over_draft_with_the_spread_of_both(make_trial: Make) -> None:
    plain = make_trial(0, tpot=lambda _l, i, _r: 0.02 * 1.1 ** (i - 2.5), loads=(C1,))
    (row,) = apart([plain, alone(make_trial, 0.0025)], (C1,)).drafts
    assert row.draft == "/models/good"
    assert row.draft_tpot.value == pytest.approx(0.0025)
    assert row.target_tpot.value == pytest.approx(0.02)
    assert row.ratio.value == pytest.approx(8.0)
    assert row.ratio.low is not None and row.target_tpot.low is not None
    # The draft has no spread here: the ratio's interval is the target's, over the draft.
    assert row.ratio.low == pytest.approx(row.target_tpot.low / 0.0025)
    assert row.rules == (True, None if (row.ratio.high or 0) > 10 else False)


@pytest.mark.parametrize(
    ("tpot", "rules"), [(0.0015, (True, True)), (0.003, (True, False)), (0.01, (False, False))], ids=str
)
def test_the_rules_are_kept_broken(make_trial: Make, tpot: float, rules: tuple[bool, bool]) -> None:
    (row,) = apart([make_trial(0, loads=(C1,)), alone(make_trial, tpot)], (C1,)).drafts
    assert row.rules == rules


def test_a_rule_inside_the_interval_is_open(make_trial: Make) -> None:
    wide = make_trial(0, tpot=lambda _l, i, _r: 0.02 * 1.5 ** (i - 2.5), loads=(C1,))
    (row,) = apart([wide, alone(make_trial, 0.004)], (C1,)).drafts
    assert row.rules[0] is None


def test_the_draft_is_compared_on_its_own_device(make_trial: Make) -> None:
    elsewhere = make_trial(0, tpot=0.5, loads=(C1,), device="node-b/cpu")
    here = make_trial(1, tpot=0.02, loads=(C1,))
    (row,) = apart([elsewhere, here, alone(make_trial, 0.002)], (C1,)).drafts
    assert row.ratio.value == pytest.approx(10.0)
    assert apart([elsewhere, alone(make_trial, 0.002)], (C1,)).drafts == ()


def test_verification_grows_by_tpot_times_tokens_per_step(make_trial: Make) -> None:
    """TPOT 0.01 at 1 + 0.5 + 0.25 tokens a step is a step of 0.0175 s, against 0.014 s: 1.25x."""
    plain = make_trial(0, tpot=0.014, loads=(C1,))
    ngram = make_trial(1, k=2, draft="ngram", method="ngram", tpot=0.01, acceptance=[0.5, 0.25], loads=(C1,))
    (row,) = apart([plain, ngram], (C1,)).verification
    tokens = 32 * 18 / ngram.record.loads[0].repeats[0].counters.decode_steps / 3  # type: ignore[operator]
    assert tokens == pytest.approx(1.75, rel=0.01)
    assert row.step.value == pytest.approx(0.01 * tokens)
    assert row.growth.value == pytest.approx(0.01 * tokens / 0.014)
    assert row.coverage.value == pytest.approx(1.0)


def test_a_draft_that_did_not_start_is_named_until_it_does(make_trial: Make) -> None:
    plain, failed = make_trial(0, loads=(C1,)), alone(make_trial, 0.01, failure="context too long")
    assert apart([plain, failed], (C1,)).failed == {"/models/good": "context too long"}
    assert apart([plain, failed, alone(make_trial, 0.01)], (C1,)).failed == {}


def test_candidates_with_a_draft_model_say_nothing_of_verification(make_trial: Make) -> None:
    assert apart([make_trial(0, loads=(C1,)), make_trial(1, k=2, loads=(C1,))], (C1,)).verification == ()


def test_all_lives_of_the_baseline_count_as_they_do_for_speedups(make_trial: Make) -> None:
    """Lives of 20 and 12.8 ms: their mean is 16, and their drift widens what is told by it."""
    first = make_trial(0, tpot=lambda _l, i, _r: 0.02 * 1.01**i / 1.01**2.5, loads=(C1,))
    again = make_trial(6, tpot=lambda _l, i, _r: 0.0128 * 1.01**i / 1.01**2.5, loads=(C1,), role=Role.BASELINE_AGAIN)
    ngram = make_trial(1, k=2, draft="ngram", method="ngram", tpot=0.01, acceptance=[0.5, 0.25], loads=(C1,))
    found = apart([first, ngram, again, alone(make_trial, 0.0025)], (C1,))
    (row,), (checked,) = found.drafts, found.verification
    assert row.target_tpot.value == pytest.approx(0.016)
    assert row.ratio.value == pytest.approx(6.4)
    assert row.ratio.low is not None and row.ratio.low < 0.0128 / 0.0025
    assert row.rules == (None, None), "the lives differ by more than what would tell"
    growth = measured_growth(trial_figures(ngram, first, again).loads[0])
    assert growth is not None
    assert checked.growth.value == pytest.approx(growth.value), "both are in plain steps of the same lives"
