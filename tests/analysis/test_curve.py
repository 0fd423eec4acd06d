from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.curve import best_k, inflection, k_curves, per_token, smallest_tied
from tuner.analysis.metrics import trial_figures
from tuner.analysis.statistics import Estimate
from tuner.records import Candidate, CurvePoint, Figure, KCurve, LoadPoint, Trial, TrialFigures

LOAD = LoadPoint("chat", 1, 33)
Make = Callable[..., Trial]


def gain(low: float, high: float) -> Figure:
    return Figure((low + high) / 2, "fraction", "gain", 24, "prompts", low, high)


def curve_of(*steps: tuple[int, float, float] | int) -> list[CurvePoint]:
    """Return points: (K, low, high) of the gain per token that led to K; a bare K is a failed one."""
    points = [CurvePoint(0, Figure(1.0, "x", "e", 0), Figure(0.02, "s", "e", 1), Figure(1.0, "tokens", "e", 1))]
    for step in steps:
        k, figure = (step, None) if isinstance(step, int) else (step[0], gain(*step[1:]))
        value = None if figure is None else 1.5
        points.append(CurvePoint(k, Figure(value, "x", "e", 1), points[0].tpot, points[0].tpot, (), figure))
    return points


def test_inflection_is_the_first_k_whose_next_gain_is_below_by_its_upper_bound() -> None:
    found = inflection(curve_of((1, 0.3, 0.4), (2, 0.05, 0.08), (3, 0.001, 0.004), (4, -0.05, -0.02)), 0.01)
    assert (found.k, found.candidates, found.threshold) == (2, (2,), 0.01)


def test_a_gain_that_straddles_the_threshold_leaves_its_k_open() -> None:
    found = inflection(curve_of((1, 0.3, 0.4), (2, -0.01, 0.03), (3, -0.05, -0.02)), 0.01)
    assert (found.k, found.candidates) == (2, (1, 2))


def test_nothing_clearly_below_is_not_resolved() -> None:
    found = inflection(curve_of((1, 0.3, 0.4), (2, -0.01, 0.03), (3, -0.02, 0.05)), 0.01)
    assert (found.k, found.candidates) == (None, (1, 2, 3))
    assert found.note.startswith("not resolved")


def test_a_curve_that_still_rises_has_not_reached_it() -> None:
    found = inflection(curve_of((1, 0.3, 0.4), (2, 0.1, 0.2)), 0.01)
    assert (found.k, found.candidates) == (None, (2,))
    assert found.note.startswith("not reached")


def test_a_curve_that_falls_at_once_bends_at_zero() -> None:
    assert inflection(curve_of((1, -0.4, -0.3), (2, -0.2, -0.1)), 0.01).k == 0


def test_a_later_rise_is_mentioned() -> None:
    found = inflection(curve_of((1, 0.2, 0.3), (2, -0.05, -0.02), (3, 0.05, 0.1)), 0.01)
    assert found.k == 1
    assert "rises again after K = 2" in found.note


def test_failed_points_are_skipped() -> None:
    found = inflection(curve_of((1, 0.3, 0.4), 2, (3, -0.05, -0.02)), 0.01)
    assert found.k == 1


def test_a_gain_without_an_interval_leaves_its_k_open() -> None:
    points = curve_of((1, 0.3, 0.4), (2, 0.0, 0.0))
    bare = [*points[:2], CurvePoint(2, points[2].speedup, points[2].tpot, points[2].tpot, (), None)]
    assert inflection(bare, 0.01).candidates == (1, 2)


@given(st.lists(st.tuples(st.floats(-0.5, 0.5), st.floats(0, 0.2)), min_size=1, max_size=8), st.floats(0, 0.1))
def test_inflection_properties(steps: list[tuple[float, float]], threshold: float) -> None:
    points = curve_of(*((k, low, low + width) for k, (low, width) in enumerate(steps, 1)))
    found = inflection(points, threshold)
    assert list(found.candidates) == sorted(set(found.candidates))
    if found.k is None:
        assert all(low + width >= threshold for low, width in steps)
        assert found.candidates[-1] == len(steps)
    else:
        assert found.candidates[-1] == found.k
        assert steps[found.k][0] + steps[found.k][1] < threshold


# --- K that were not measured -----------------------------------------------------------------------------------------


def test_a_falling_average_over_a_gap_says_only_that_it_is_before_its_end() -> None:
    """K = 1, 3 and 8 of 1-8: a token of 4 ... 8 gains less than 1 %, and so may token 2 or 3 (say -5 % and +27 %)."""
    found = inflection(curve_of((1, 0.3, 0.4), (3, 0.09, 0.11), (8, -0.03, -0.01)), 0.01, range(1, 9))
    assert (found.k, found.candidates) == (None, (1, 2, 3, 4, 5, 6, 7))
    assert found.note == "not resolved: at most K = 7; K = 2, 4, 5, 6, 7 were not measured"


def test_measured_neighbours_resolve_it_whatever_else_was_not_measured() -> None:
    found = inflection(curve_of((1, 0.3, 0.4), (3, 0.09, 0.11), (4, -0.03, -0.01), (8, -0.2, -0.1)), 0.01, range(1, 9))
    assert (found.k, found.candidates, found.note) == (3, (1, 2, 3), "K = 2 was not measured")


def test_a_failed_k_is_no_candidate_and_neither_is_one_that_the_space_does_not_have() -> None:
    falls = curve_of((1, 0.3, 0.4), 2, (3, -0.05, -0.02))
    assert inflection(falls, 0.01, (1, 2, 3)).candidates == (1,)
    assert inflection(curve_of((1, 0.3, 0.4), (3, -0.05, -0.02)), 0.01, (1, 3)).k == 1


def test_k_above_the_largest_measured_one_are_left_open() -> None:
    found = inflection(curve_of((1, 0.3, 0.4), (2, 0.1, 0.2)), 0.01, range(1, 5))
    assert (found.k, found.candidates) == (None, (2, 3, 4))
    assert found.note == "not reached: every token up to K = 2 gains 1 % or more; K = 3, 4 were not measured"


@given(
    gains=st.lists(st.integers(-30, 30).map(lambda percent: percent / 100 + 0.005), min_size=1, max_size=8),
    kept=st.sets(st.integers(1, 8)),
    noise=st.floats(1e-9, 0.1),
)
def test_whatever_was_measured_the_true_inflection_is_a_candidate(
    gains: list[float], kept: set[int], noise: float
) -> None:
    """`gains` are the true gains of each token; those between two measured K show as their geometric mean."""
    threshold = 0.01
    ks = range(1, len(gains) + 1)
    steps: list[tuple[int, float, float]] = []
    before = 0
    for k in ks:
        if k in kept or k == ks[-1]:
            average = math.prod(1 + g for g in gains[before:k]) ** (1 / (k - before)) - 1
            steps.append((k, average - noise, average + noise))
            before = k
    found = inflection(curve_of(*steps), threshold, ks)
    truth = next((k for k, g in enumerate(gains) if g < threshold), len(gains))
    assert truth in found.candidates
    assert found.k is None or (found.k >= truth and gains[found.k] < threshold)


def test_gain_per_token_over_a_gap() -> None:
    # 1.21 over two tokens is 10 % a token.
    figure = per_token(Estimate(2 * 0.0953101798, 0.0, 5, 6), 2)
    assert figure.value == pytest.approx(0.1)
    assert (figure.low, figure.high) == pytest.approx((0.1, 0.1))
    assert per_token(None, 1).value is None
    assert per_token(Estimate(0.1, None, 0, 1), 1).low is None


# --- from trials ------------------------------------------------------------------------------------------------------


def wobble(speed: float, size: float = 0.0) -> Callable[[LoadPoint, int, int], float]:
    """Return TPOT 0.02 / speed, with alternating prompts slower and faster by `size`."""
    return lambda _load, i, _r: 0.02 / speed * (1 + size * (1 if i % 2 else -1))


def figures_of(make: Make, speeds: dict[int, Callable[[LoadPoint, int, int], float]]) -> list[TrialFigures]:
    base = make(tpot=0.02)
    return [trial_figures(base, None)] + [
        trial_figures(make(k, k=k, tpot=tpot), base) for k, tpot in sorted(speeds.items())
    ]


def one_curve(figures: Sequence[TrialFigures], failed: Sequence[tuple[Candidate, str]] = ()) -> KCurve:
    (curve,) = k_curves(figures, [LOAD], failed=failed)
    return curve


def test_curve_has_a_point_for_each_k_from_zero(make_trial: Make) -> None:
    curve = one_curve(figures_of(make_trial, {1: wobble(1.2), 3: wobble(1.2 * 1.21), 5: wobble(1.2)}))
    assert [p.k for p in curve.points] == [0, 1, 3, 5]
    assert [p.speedup.value for p in curve.points] == pytest.approx([1.0, 1.2, 1.452, 1.2])
    gains = [p.marginal_gain.value for p in curve.points if p.marginal_gain]
    assert gains == pytest.approx([0.2, 0.1, (1.2 / 1.452) ** 0.5 - 1])
    assert curve.points[0].tpot.value == pytest.approx(0.02)
    assert len(curve.points[2].acceptance_by_position) == 3
    assert (curve.inflection.k, curve.best_k) == (3, 3)
    assert (curve.draft_name, curve.method, curve.load_point) == ("good", "draft_model", LOAD)


def test_gains_multiply_to_the_speedup(make_trial: Make) -> None:
    curve = one_curve(figures_of(make_trial, {1: wobble(1.3, 0.1), 2: wobble(1.5, 0.2), 4: wobble(1.4, 0.05)}))
    product, before = 1.0, 0
    for point in curve.points[1:]:
        assert point.marginal_gain is not None
        product *= (1 + (point.marginal_gain.value or 0.0)) ** (point.k - before)
        before = point.k
        assert product == pytest.approx(point.speedup.value)


def test_a_failed_k_stays_on_the_curve_without_a_value(
    make_trial: Make, make_candidate: Callable[..., Candidate]
) -> None:
    figures = figures_of(make_trial, {1: wobble(1.2), 3: wobble(1.5)})
    curve = one_curve(figures, [(make_candidate(2), "out of memory"), (make_candidate(1), "first try")])
    assert [(p.k, p.speedup.value is None) for p in curve.points] == [(0, False), (1, False), (2, True), (3, False)]
    assert curve.points[2].speedup.note == "failed: out of memory"
    step = curve.points[3].marginal_gain
    assert step is not None
    assert step.value == pytest.approx((1.5 / 1.2) ** 0.5 - 1)


def test_drafts_and_engine_arguments_have_curves_of_their_own(make_trial: Make) -> None:
    base, other = make_trial(), make_trial(1, args={"max_num_seqs": 8})
    trials = [
        trial_figures(base, None),
        trial_figures(make_trial(2, k=1), base),
        trial_figures(make_trial(3, k=1, draft="weak"), base),
        trial_figures(make_trial(4, k=1, args={"max_num_seqs": 8}), other),
    ]
    curves = k_curves(trials, [LOAD])
    assert [c.draft_name for c in curves] == ["good", "weak", "good"]
    assert len({c.args_key for c in curves}) == 2


def test_ties_go_to_the_smaller_k(make_trial: Make) -> None:
    figures = figures_of(make_trial, {2: wobble(1.5), 4: wobble(1.51, 0.1), 6: wobble(1.3)})
    assert best_k(figures[1:], [LOAD]) == 2


def test_pairing_separates_what_overlapping_intervals_would_not(make_trial: Make) -> None:
    """Both K have wide intervals over prompts, but K = 4 is 3 % faster on every single prompt."""
    figures = figures_of(make_trial, {2: wobble(1.5, 0.2), 4: wobble(1.5 * 1.03, 0.2)})
    spread = figures[1].loads[0].figures["speedup_tpot"]
    assert (spread.high or 0) > 1.5 * 1.03
    assert best_k(figures[1:], [LOAD]) == 4


def test_drift_between_the_lives_of_the_baseline_ties_what_differs_by_less(make_trial: Make) -> None:
    base, again = make_trial(tpot=0.02), make_trial(9, tpot=0.021)
    two = [trial_figures(make_trial(k, k=k, tpot=wobble(s)), base, again) for k, s in ((2, 1.5), (4, 1.5 * 1.03))]
    assert best_k(two, [LOAD]) == 2


def test_a_disturbed_repeat_ties_what_differs_by_less(make_trial: Make) -> None:
    """Repeats 10 % apart say that 3 % between two K may be chance, on however many prompts it is seen."""
    still, moved = wobble(1.5), wobble(1.5 * 1.03)
    figures = figures_of(make_trial, {2: still, 4: lambda load, i, r: moved(load, i, r) * (0.9, 1.0, 1.1)[r]})
    assert best_k(figures[1:], [LOAD]) == 2
    gain = one_curve(figures).points[2].marginal_gain
    assert gain is not None
    assert (gain.low or 9) < 0 < (gain.high or -9)


def test_no_k_clearly_faster_is_zero(make_trial: Make) -> None:
    assert best_k(figures_of(make_trial, {1: wobble(1.02, 0.2), 2: wobble(0.9)})[1:], [LOAD]) == 0
    assert best_k([], [LOAD]) == 0
    assert smallest_tied([], [LOAD]) is None


def test_a_small_k_that_is_itself_in_doubt_does_not_hide_a_larger_one_that_pays(make_trial: Make) -> None:
    figures = figures_of(make_trial, {1: wobble(1.1, 0.6), 4: wobble(1.3)})
    assert best_k(figures[1:], [LOAD]) == 4
