"""What limits an answer and what would settle it, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tuner.analysis.comparison import speedup_estimate
from tuner.analysis.metrics import trial_figures
from tuner.analysis.power import lives_needed, noncentrality, smallest_effect
from tuner.analysis.resolution import repeat_spread, resolution
from tuner.records import Candidate, Limit, LoadFigures, LoadPoint, Resolution, Role, Speculation, Trial, TrialFigures

Make = Callable[..., Trial]
C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33, weight=3.0)


def lived(logs: list[float], repeats: float = 0.0, df: int = 6) -> TrialFigures:
    """Return figures of rounds with these log speedups, of whose variance `repeats` comes from each arm's repeats."""
    load = LoadFigures(
        C1,
        {},
        rounds={n: {"a": math.exp(x), "b": math.exp(x)} for n, x in enumerate(logs)},
        repeat_variance=repeats,
        repeat_df=df,
        baseline_repeat_variance=repeats,
        baseline_repeat_df=df,
    )
    return TrialFigures(1, Candidate({}, Speculation("draft_model", 4, "good", "g")), "a/0", (load,), lives=len(logs))


def found(trial: TrialFigures, resolve: float = 0.03, confidence: float = 0.95) -> Resolution:
    fine = resolution(trial, (C1,), resolve, confidence)
    assert fine is not None
    return fine


def test_lives_that_differ_limit_by_lives() -> None:
    # Log speedups -0.05, 0, 0.05: SD 0.05 from life to life; 3 % is the effect, as the mean is 0.
    fine = found(lived([-0.05, 0.0, 0.05]))
    assert fine.limited_by is Limit.LIVES
    assert fine.life_sd == pytest.approx(0.05)
    assert fine.repeat_sd == pytest.approx(0.0)
    assert fine.effect == pytest.approx(0.03)
    assert math.log1p(fine.smallest_effect) == pytest.approx(6.7956 * 0.05 / math.sqrt(3), rel=1e-3)
    assert fine.needed == lives_needed(0.05, math.log(1.03), 0.95)


def test_the_measured_effect_counts_where_it_is_larger() -> None:
    fine = found(lived([0.05, 0.1, 0.15]))
    assert fine.effect == pytest.approx(math.expm1(0.1))
    assert fine.needed == lives_needed(0.05, 0.1, 0.95)


def test_a_stricter_claim_sees_less() -> None:
    plain, strict = found(lived([-0.05, 0.0, 0.05])), found(lived([-0.05, 0.0, 0.05]), confidence=0.99)
    assert strict.smallest_effect > plain.smallest_effect
    assert (strict.needed or 0) > (plain.needed or 0)


def test_repeats_that_differ_limit_by_repeats() -> None:
    # Variance of a round 0.01^2, of it 2 x 4.5e-5 = 9e-5 from repeats.
    # Three repeats per life and arm: 2 df in each of 3 lives.
    fine = found(lived([-0.01, 0.0, 0.01], repeats=4.5e-5))
    assert fine.limited_by is Limit.REPEATS
    assert fine.life_sd == pytest.approx(math.sqrt(1e-5))
    assert fine.repeat_sd == pytest.approx(math.sqrt(9e-5))
    smallest = smallest_effect(0.01, 3, 0.95)
    allowed = 1e-4 * (math.log(1.03) / smallest) ** 2  # variance of a round with which 3 % is seen in three lives
    assert fine.needed == math.ceil(3 * 9e-5 / (allowed - 1e-5))


def test_repeats_that_could_not_help_enough_limit_by_lives() -> None:
    """Without any repeat noise the lives would still differ too much to see 1 % in three of them."""
    fine = found(lived([-0.01, 0.0, 0.01], repeats=3e-5), resolve=0.01)
    assert fine.limited_by is Limit.LIVES
    assert fine.needed == lives_needed(0.01, math.log(1.01), 0.95)


def test_more_of_the_spread_than_there_is_cannot_come_from_repeats() -> None:
    fine = found(lived([-0.01, 0.0, 0.01], repeats=1.0))
    assert fine.life_sd == pytest.approx(0.0)
    assert fine.repeat_sd == pytest.approx(0.01)


def test_one_round_or_no_speedup_has_no_resolution() -> None:
    alone = lived([0.1, 0.2])
    assert resolution(alone, (C8,), 0.03) is None
    one = TrialFigures(1, alone.candidate, "a/0", lived([0.1]).loads, lives=3)
    assert resolution(one, (C1,), 0.03) is None


def test_repeats_of_load_points_count_with_the_square_of_their_share() -> None:
    # Shares 1/4 and 3/4: (1/16 + 9/16) x (0.02 + 0.06).
    loads = tuple(
        LoadFigures(load, {}, repeat_variance=0.02, repeat_df=2, baseline_repeat_variance=0.06, baseline_repeat_df=2)
        for load in (C1, C8)
    )
    trial = TrialFigures(1, Candidate({}), "a/0", loads)
    assert repeat_spread(trial, (C1, C8)).variance == pytest.approx(0.08 * 10 / 16)


# --- one life ---------------------------------------------------------------------------------------------------------


def prompts_differ(_load: LoadPoint, i: int, _r: int) -> float:
    return 0.02 * math.exp(0.05 * (-1) ** i)


def test_few_prompts_limit_one_life(make_trial: Make) -> None:
    # Logs -0.05 and 0.05, three each: s^2 = 6 x 0.0025 / 5, se^2 = s^2 / 6 = 0.0005 with 5 df.
    trial = trial_figures(make_trial(1, k=4, tpot=prompts_differ), make_trial(tpot=0.02))
    fine = found(trial)
    smallest = noncentrality(0.95, 5) * math.sqrt(0.0005)
    assert fine.limited_by is Limit.PROMPTS
    assert fine.life_sd is None
    assert math.log1p(fine.smallest_effect) == pytest.approx(smallest)
    assert fine.needed == math.ceil(6 * (smallest / math.log(1.03)) ** 2)


def test_repeats_limit_one_life(make_trial: Make) -> None:
    def slower_repeat(_load: LoadPoint, _i: int, r: int) -> float:
        return 0.02 * math.exp((-0.1, 0.0, 0.1)[r])

    fine = found(trial_figures(make_trial(1, k=4, tpot=slower_repeat), make_trial(tpot=0.02)))
    assert fine.limited_by is Limit.REPEATS
    assert fine.repeat_sd == pytest.approx(math.sqrt(1 / 300))
    smallest = noncentrality(0.95, 2) * math.sqrt(1 / 300)
    assert fine.needed == math.ceil(3 * (smallest / math.log(1.03)) ** 2)


def test_a_drift_that_hides_the_effect_is_settled_by_nothing(make_trial: Make) -> None:
    again = make_trial(2, tpot=0.02 * 1.05, role=Role.BASELINE_AGAIN)
    trial = trial_figures(make_trial(1, k=4, tpot=0.02), make_trial(tpot=0.02), again)
    fine = found(trial)
    estimate = speedup_estimate(trial, (C1,))
    assert estimate is not None
    assert (fine.limited_by, fine.needed) == (Limit.DRIFT, None)
    assert math.log1p(fine.smallest_effect) == pytest.approx(estimate.allowance, abs=1e-6)
