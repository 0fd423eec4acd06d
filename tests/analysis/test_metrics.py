from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.life import load_view
from tuner.analysis.metrics import (
    acceptance_by_position,
    conditional_by_position,
    counter_figures,
    percentile_figure,
    trial_figures,
    worst_category,
)
from tuner.records import Counters, Figure, LoadPoint, Repeat, Sampling, Trial

LOAD = LoadPoint("chat", 1, 33)
Make = Callable[..., Trial]


def repeat(**fields: object) -> Repeat:
    base: dict[str, object] = {"generation_tokens": 0, "prompt_tokens": 0, "requests": 0}
    return Repeat(0, 1.0, Counters(**{**base, **fields}), requests=1, failed=0)  # type: ignore[arg-type]


def only(trial: Trial, baseline: Trial | None = None, again: Trial | None = None) -> Mapping[str, Figure]:
    return trial_figures(trial, baseline, again).loads[0].figures


def test_counter_estimators_by_hand() -> None:
    # D = 100 drafts of K = 4, A = 80 + 60 + 40 + 20 = 200; C = 330, R = 30, S = 120.
    counts = repeat(
        generation_tokens=330,
        requests=30,
        decode_steps=120,
        drafts=100,
        draft_tokens=400,
        accepted_tokens=200,
        accepted_per_pos=(80, 60, 40, 20),
    )
    figures = counter_figures([counts])
    assert figures["acceptance_rate"].value == 0.5
    assert figures["mean_acceptance_length"].value == 3.0
    assert figures["mean_proposed_length"].value == 4.0
    assert figures["draft_coverage"].value == pytest.approx(100 / 120)
    assert figures["effective_tokens_per_step"].value == 2.5
    assert [f.value for f in acceptance_by_position([counts])] == [0.8, 0.6, 0.4, 0.2]
    conditional = conditional_by_position([counts])
    assert [f.value for f in conditional] == pytest.approx([0.8, 0.75, 2 / 3, 0.5])  # 80/100, 60/80, 40/60, 20/40
    assert [(f.n, f.n_of) for f in conditional[:2]] == [(100, "drafts"), (80, "drafts accepted at position 1")]
    assert {(f.unit, f.estimator) for f in conditional} == {("fraction", "A_i/A_(i-1)")}
    assert figures["acceptance_rate"].n == 400
    assert figures["acceptance_rate"].n_of == "draft tokens"


def test_counters_are_summed_before_dividing() -> None:
    few = repeat(drafts=10, draft_tokens=10, accepted_tokens=10, accepted_per_pos=(10,), decode_steps=10)
    many = repeat(drafts=90, draft_tokens=90, accepted_tokens=0, accepted_per_pos=(0,), decode_steps=90)
    assert counter_figures([few, many])["acceptance_rate"].value == 0.1
    assert [f.value for f in acceptance_by_position([few, many])] == [0.1]
    assert [f.value for f in conditional_by_position([few, many])] == [0.1]


def test_conditional_acceptance_ends_with_a_reason_where_nothing_got_that_far() -> None:
    counts = repeat(drafts=10, draft_tokens=40, accepted_tokens=4, accepted_per_pos=(4, 0, 0, 0))
    figures = conditional_by_position([counts])
    assert [f.value for f in figures] == [0.4, 0.0, None, None]
    assert [f.note for f in figures] == ["", "", *(f"nothing was accepted at position {i}" for i in (2, 3))]
    idle = conditional_by_position([repeat(drafts=0, accepted_per_pos=(0, 0))])
    assert [(f.value, f.note) for f in idle] == [(None, "no drafts")] * 2


def test_no_drafts_is_undefined_with_a_reason() -> None:
    figures = counter_figures([repeat(drafts=0, draft_tokens=0, accepted_tokens=0, decode_steps=5)])
    assert figures["acceptance_rate"].value is None
    assert figures["acceptance_rate"].note == "no drafts"
    assert figures["mean_acceptance_length"].value is None
    assert figures["draft_coverage"].value == 0.0


def test_missing_counters_are_undefined_with_a_reason() -> None:
    figures = counter_figures([repeat()])
    assert "does not expose" in figures["acceptance_rate"].note
    assert acceptance_by_position([repeat()]) == ()
    assert conditional_by_position([repeat()]) == ()


@given(st.integers(1, 500), st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_positions_sum_to_the_mean_acceptance_length(drafts: int, shares: list[float]) -> None:
    row = tuple(sorted((round(drafts * share) for share in shares), reverse=True))
    counts = repeat(
        drafts=drafts,
        draft_tokens=drafts * len(row),
        accepted_tokens=sum(row),
        accepted_per_pos=row,
        decode_steps=drafts,
    )
    figures = counter_figures([counts])
    positions = [f.value or 0.0 for f in acceptance_by_position([counts])]
    assert 1 + sum(positions) == pytest.approx(figures["mean_acceptance_length"].value)
    assert sum(positions) / len(row) == pytest.approx(figures["acceptance_rate"].value)
    assert positions == sorted(positions, reverse=True)
    so_far = 1.0
    for position, conditional in zip(positions, conditional_by_position([counts]), strict=True):
        if conditional.value is None:
            assert position == 0.0
            assert conditional.note
        else:
            assert 0.0 <= conditional.value <= 1.0
            so_far *= conditional.value
            assert so_far == pytest.approx(position)


def test_latencies_by_hand(make_trial: Make) -> None:
    # Two prompts; per prompt the median over three repeats is 0.01 and 0.04 s: geometric mean 0.02 s.
    times = {0: [0.01, 0.5, 0.01], 1: [0.04, 0.04, 0.001]}
    figures = only(make_trial(tpot=lambda _load, i, r: times[i][r], prompts=2, ttft=0.1))
    assert figures["tpot_s"].value == pytest.approx(0.02)
    assert (figures["tpot_s"].n, figures["tpot_s"].n_of, figures["tpot_s"].unit) == (2, "prompts", "s")
    assert figures["ttft_s"].value == pytest.approx(0.1)
    # 33 tokens: E2E = 0.1 + 32 x TPOT; p50 over the six requests is between 0.42 (0.01) and 1.38 (0.04): 0.9.
    assert figures["e2e_s_p50"].value == pytest.approx(0.9)
    assert figures["e2e_s_p50"].n == 6


def test_throughput_is_the_median_over_repeats(make_trial: Make) -> None:
    # 2 prompts x 33 tokens; a repeat lasts 2 x (0.1 + 32 x TPOT).
    figures = only(make_trial(tpot=lambda _load, _i, r: [0.01, 0.02, 0.03][r], prompts=2))
    assert figures["throughput_tok_s"].value == pytest.approx(66 / (2 * (0.1 + 0.64)))
    assert figures["throughput_tok_s"].n == 3


def test_counts(make_trial: Make) -> None:
    figures = only(make_trial(prompts=4, failed=1, preemptions=2))
    assert (figures["requests"].value, figures["failed"].value, figures["preemptions"].value) == (15, 3, 6)


def test_a_high_percentile_of_few_requests_says_so() -> None:
    assert "few" in percentile_figure([1.0, 2.0], 99).note
    assert percentile_figure([1.0, 2.0, 3.0, 4.0], 50).note == ""
    assert percentile_figure([1.0] * 200, 99).note == ""
    assert percentile_figure([], 50).value is None


def test_invalid_repeats_do_not_count(make_trial: Make) -> None:
    slow_last = make_trial(tpot=lambda _load, _i, r: 9.0 if r == 2 else 0.01, problems={2: ("foreign traffic",)})
    figures = only(slow_last)
    assert figures["tpot_s_p99"].value == pytest.approx(0.01)
    assert figures["throughput_tok_s"].n == 2


def test_nothing_valid_is_undefined_with_a_reason(make_trial: Make) -> None:
    figures = only(make_trial(problems=dict.fromkeys(range(3), ("foreign traffic",))))
    assert figures["tpot_s"].value is None
    assert figures["tpot_s"].note
    assert figures["throughput_tok_s"].note == "no valid repeat"


def test_a_whole_answer_in_one_chunk_is_no_measurement(make_trial: Make) -> None:
    trial = make_trial(tpot=lambda _load, i, _r: 0.0 if i == 0 else 0.01, prompts=3)
    view = load_view(trial, LOAD.key)
    assert view is not None
    assert sorted(view.tpot_by_prompt) == ["p01", "p02"]


def test_speedup_by_hand(make_trial: Make) -> None:
    # Paired ratios 2 and 8: geometric mean 4; their logs have s = ln(4)/sqrt(2), se = ln(4)/2, t(1) = 12.7062.
    base = make_trial(tpot=lambda _load, i, _r: [0.02, 0.08][i], prompts=2, ttft=0.1)
    fast = make_trial(1, k=2, tpot=0.01, prompts=2, ttft=0.2)
    figures = trial_figures(fast, base).loads[0]
    speedup = figures.figures["speedup_tpot"]
    assert speedup.value == pytest.approx(4.0)
    assert speedup.low == pytest.approx(math.exp(math.log(4) - 12.7062 * math.log(4) / 2), rel=1e-4)
    assert speedup.high == pytest.approx(math.exp(math.log(4) + 12.7062 * math.log(4) / 2), rel=1e-4)
    assert figures.speedup_by_prompt == {"p00": pytest.approx(2.0), "p01": pytest.approx(8.0)}
    assert figures.figures["ttft_ratio"].value == pytest.approx(2.0)
    assert "within this engine life" in speedup.note


def steps(values: tuple[float, float, float], spread: float = 0.0) -> Callable[[LoadPoint, int, int], float]:
    """Return TPOT whose log is by so much off in each repeat, and by +-spread in alternating prompts."""
    return lambda _load, i, r: 0.01 * math.exp(values[r] + (spread if i % 2 else -spread))


def test_what_moves_a_whole_repeat_is_in_the_interval(make_trial: Make) -> None:
    # Prompts: logs ln 2 +- 0.1, s^2/4 = 0.04/3/4 = 1/300, 3 df. Repeats: s^2/3 = 0.01/3 = 1/300, 2 df.
    # Sum 1/150, df = 2^2 / (1/3 + 1/2) = 4.8. With the same in the baseline 1/100, df = 3^2 / (1/3 + 1/2 + 1/2) = 6.75.
    # t(4.8) = 2.603134, t(6.75) = 2.382494.
    moved = (-0.1, 0.1, 0.0)
    fast = make_trial(1, k=2, tpot=steps(moved, 0.1), prompts=4)
    for base, half in (
        (make_trial(tpot=0.02, prompts=4), 2.603134 * math.sqrt(1 / 150)),
        (make_trial(tpot=lambda _l, _i, r: 0.02 * math.exp(moved[r]), prompts=4), 2.382494 / 10),
    ):
        figures = trial_figures(fast, base).loads[0]
        speedup = figures.figures["speedup_tpot"]
        assert speedup.value == pytest.approx(2.0)
        assert speedup.high == pytest.approx(2 * math.exp(half), rel=1e-6)
        assert speedup.low == pytest.approx(2 / math.exp(half), rel=1e-6)
        assert (figures.repeat_variance, figures.repeat_df) == pytest.approx((1 / 300, 2))
    assert (figures.baseline_repeat_variance, figures.baseline_repeat_df) == pytest.approx((1 / 300, 2.0))
    twice = trial_figures(fast, base, base).loads[0]
    assert (twice.baseline_repeat_variance, twice.baseline_repeat_df) == pytest.approx((1 / 600, 4.0))


def test_a_disturbed_repeat_widens_the_interval(make_trial: Make) -> None:
    base, calm, disturbed = make_trial(tpot=0.02), steps((0.0, 0.0, 0.0), 0.01), steps((0.0, 0.0, 0.3), 0.01)
    narrow, wide = (only(make_trial(1, k=2, tpot=tpot), base)["speedup_tpot"] for tpot in (calm, disturbed))
    assert narrow.value == pytest.approx(wide.value)
    assert (wide.high or 0) / (wide.low or 9) > 1.3 > 1.05 > (narrow.high or 9) / (narrow.low or 1)


def test_a_prompt_missing_from_a_repeat_does_not_move_it(make_trial: Make) -> None:
    """Prompt 5 is ten times as slow as the rest and fails in repeat 0: the repeats are equal all the same."""
    trial = make_trial(tpot=lambda _l, i, _r: 0.1 if i == 5 else 0.01)
    lost = tuple(s for s in trial.samples if (s.prompt_id, s.repeat) != ("p05", 0))
    assert trial_figures(replace(trial, samples=lost), None).loads[0].repeat_variance == pytest.approx(0.0, abs=1e-20)


def test_one_repeat_says_what_its_interval_leaves_out(make_trial: Make) -> None:
    base = make_trial(tpot=0.02)
    assert "with one repeat" in only(make_trial(1, k=2, repeats=1), base)["speedup_tpot"].note
    assert "with one repeat" in only(make_trial(1, k=2), make_trial(repeats=1))["speedup_tpot"].note
    assert "one repeat" not in only(make_trial(1, k=2), base)["speedup_tpot"].note


def test_a_closing_baseline_without_valid_samples_is_dropped(make_trial: Make) -> None:
    base, fast = make_trial(tpot=0.02), make_trial(1, k=2, tpot=0.01)
    again = make_trial(9, tpot=0.04, problems=dict.fromkeys(range(3), ("foreign traffic",)))
    figures = only(fast, base, again)
    assert figures["speedup_tpot"].value == pytest.approx(2.0)
    assert "drift is unknown" in figures["speedup_tpot"].note
    assert "baseline_drift" not in figures
    assert only(fast, again)["speedup_tpot"].note == "no prompt worked in both arms"


def test_speedup_is_the_ratio_of_the_reported_tpots(make_trial: Make) -> None:
    base = make_trial(tpot=lambda _load, i, r: 0.02 + 0.001 * i + 0.0001 * r)
    fast = make_trial(1, k=2, tpot=lambda _load, i, r: 0.01 + 0.002 * i - 0.0001 * r)
    own, theirs = only(fast, base), only(base)
    assert own["speedup_tpot"].value == pytest.approx((theirs["tpot_s"].value or 0) / (own["tpot_s"].value or 1))


def test_a_baseline_has_no_speedup(make_trial: Make) -> None:
    figures = trial_figures(make_trial(), None).loads[0]
    assert "speedup_tpot" not in figures.figures
    assert figures.speedup_by_prompt == {}


def test_drift_widens_the_interval_and_centres_the_speedup(make_trial: Make) -> None:
    # Baseline 0.020 s, later 0.022 s (drift 1.1); candidate 0.01: speedup sqrt(2 x 2.2), no spread between prompts.
    base, again, fast = make_trial(tpot=0.02), make_trial(9, tpot=0.022), make_trial(1, k=2, tpot=0.01)
    figures = only(fast, base, again)
    assert figures["baseline_drift"].value == pytest.approx(1.1)
    centre = math.sqrt(2 * 2.2)
    speedup = figures["speedup_tpot"]
    assert speedup.value == pytest.approx(centre)
    assert (speedup.low, speedup.high) == pytest.approx((centre / 1.1**1.5, centre * 1.1**1.5))
    assert "drift of 10.0%" in speedup.note
    assert only(base, None, again)["baseline_drift"].value == pytest.approx(1.1)


def test_e2e_is_compared_only_at_equal_lengths(make_trial: Make) -> None:
    sampled = (replace(LOAD, sampling=Sampling(temperature=0.7)),)
    figures = only(make_trial(1, k=2, loads=sampled), make_trial(loads=sampled))
    assert figures["speedup_e2e"].value is None
    assert "differ in length" in figures["speedup_e2e"].note
    fixed = (replace(sampled[0], ignore_eos=True),)
    assert only(make_trial(1, k=2, loads=fixed), make_trial(loads=fixed))["speedup_e2e"].value == pytest.approx(1.0)


def test_prompts_whose_answers_differ_in_length_are_no_e2e_pair(make_trial: Make) -> None:
    longer = make_trial(1, k=2, tpot=0.02, tokens=lambda _load, i, _r: 66 if i == 0 else 33)
    figures = only(longer, make_trial(tpot=0.02))
    assert figures["speedup_e2e"].value == pytest.approx(1.0)
    assert figures["speedup_e2e"].n == 5
    assert "1 prompts could not be paired" in figures["speedup_e2e"].note
    assert figures["speedup_tpot"].n == 6


def test_throughput_ratio(make_trial: Make) -> None:
    base, fast = make_trial(tpot=0.02, ttft=0.0), make_trial(1, k=2, tpot=0.01, ttft=0.0)
    assert only(fast, base)["throughput_ratio"].value == pytest.approx(2.0)


def test_failed_prompts_are_not_paired(make_trial: Make) -> None:
    figures = only(make_trial(1, k=2, prompts=4), make_trial(prompts=6))
    assert figures["speedup_tpot"].n == 4
    assert "2 prompts could not be paired" in figures["speedup_tpot"].note


@given(st.lists(st.tuples(st.floats(1e-3, 1), st.floats(1e-3, 1)), min_size=2, max_size=6), st.floats(0.01, 100))
def test_speedup_does_not_depend_on_the_unit(make_trial: Make, pairs: list[tuple[float, float]], factor: float) -> None:
    def speedup(of: list[tuple[float, float]]) -> Figure:
        base = make_trial(tpot=lambda _load, i, _r: of[i][0], prompts=len(of), repeats=1)
        fast = make_trial(1, k=1, tpot=lambda _load, i, _r: of[i][1], prompts=len(of), repeats=1)
        return only(fast, base)["speedup_tpot"]

    plain = speedup(pairs)
    assert plain.value is not None
    assert speedup([(a * factor, b * factor) for a, b in pairs]).value == pytest.approx(plain.value, rel=1e-6)
    assert plain.value * (speedup([(b, a) for a, b in pairs]).value or 0) == pytest.approx(1.0, rel=1e-6)
    assert (plain.low or 9e9) <= plain.value <= (plain.high or 0)


# --- categories -------------------------------------------------------------------------------------------------------


def test_each_category_has_its_own_speedup(make_trial: Make) -> None:
    # Even prompts (0, 2) run at 2x and 8x: 4x, logs with s = ln(4)/sqrt(2), se = ln(4)/2, t(1) = 12.7062. Odd: 0.5x.
    times = {0: 0.01, 1: 0.04, 2: 0.0025}
    figures = trial_figures(
        make_trial(1, k=2, tpot=lambda _load, i, _r: times[i], prompts=3), make_trial(tpot=0.02, prompts=3)
    ).loads[0]
    even, odd = figures.categories["even"], figures.categories["odd"]
    assert list(figures.categories) == ["even", "odd"]
    assert even.value == pytest.approx(4.0)
    assert (even.n, even.n_of) == (2, "prompts")
    assert even.high == pytest.approx(math.exp(math.log(4) + 12.7062 * math.log(4) / 2), rel=1e-4)
    assert odd.value == pytest.approx(0.5)
    assert (odd.n, odd.low, odd.high) == (1, None, None)
    assert "one prompt gives no interval" in odd.note
    assert even.estimator == figures.figures["speedup_tpot"].estimator
    assert worst_category(figures) == ("odd", odd)


def test_one_category_is_no_worst_one(make_trial: Make) -> None:
    figures = trial_figures(make_trial(1, k=2, prompts=1), make_trial(prompts=1)).loads[0]
    assert list(figures.categories) == ["even"]
    assert worst_category(figures) is None
    assert worst_category(trial_figures(make_trial(), None).loads[0]) is None


def test_a_category_that_one_arm_lost_is_undefined_and_not_the_worst(make_trial: Make) -> None:
    base, fast = make_trial(), make_trial(1, k=2)
    kept = replace(fast, samples=tuple(s for s in fast.samples if s.category == "even"))
    categories = trial_figures(kept, base).loads[0].categories
    assert categories["odd"].value is None
    assert categories["odd"].note == "no prompt worked in both arms"
    assert worst_category(trial_figures(kept, base).loads[0]) is None


def test_a_category_is_widened_by_its_own_drift(make_trial: Make) -> None:
    """Only the even prompts became slower between the baseline's lives, by 10 %."""
    later = make_trial(9, tpot=lambda _load, i, _r: 0.02 if i % 2 else 0.022)
    categories = trial_figures(make_trial(1, k=2, tpot=0.01), make_trial(tpot=0.02), later).loads[0].categories
    assert (categories["even"].high or 0) / (categories["even"].low or 1) == pytest.approx(1.1**3)
    assert (categories["odd"].low, categories["odd"].high) == pytest.approx((2.0, 2.0))
