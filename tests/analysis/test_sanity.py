"""Text that is worse than the baseline's bars a trial; what the baseline does itself does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from tuner.analysis.sanity import Shares, repeats_itself, repetition, text_bars
from tuner.analysis.statistics import fisher_more
from tuner.records import BarKind, LoadPoint, RequestSample, Sampling, Trial
from tuner.store.reading import read_run

LOAD = LoadPoint("chat", 1, 33)
BUSY = LoadPoint("chat", 8, 33)
RECORDED = Path(__file__).parents[1] / "data" / "h200-14b"
LOOP = (7, 8, 9, 10) * 8
Make = Callable[..., Trial]


def changed(trial: Trial, change: Callable[[RequestSample, int], RequestSample]) -> Trial:
    """Return the trial with each sample changed, given the number of its prompt."""
    return replace(trial, samples=tuple(change(s, int(s.prompt_id[1:])) for s in trial.samples))


def looping(first: int, last: int = 0) -> Callable[[RequestSample, int], RequestSample]:
    """Return a change that makes prompts last <= i < first loop."""
    return lambda s, i: replace(s, token_ids=LOOP) if last <= i < first else s


def kinds(trial: Trial, baseline: Trial, *loads: LoadPoint) -> list[BarKind]:
    return [bar.kind for bar in text_bars(trial, baseline, loads or (LOAD,))]


# --- estimators -------------------------------------------------------------------------------------------------------


def test_repetition_by_hand() -> None:
    # 1 2 3 4 1 2 3 4 1 2: seven 4-grams, four of them distinct.
    assert repetition((1, 2, 3, 4, 1, 2, 3, 4, 1, 2)) == pytest.approx(3 / 7)
    assert repetition((1, 2, 3, 4, 5)) == 0.0
    assert repetition((1, 1, 1)) == 0.0
    assert repetition((1,) * 103) == 0.99


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(2, 6))
def test_saying_it_again_is_more_repetitive_and_never_all(units: list[int], times: int) -> None:
    assert 0.0 <= repetition(units) < 1.0
    if len(units) >= 4:
        assert repetition(units * times) > repetition(units)


def test_text_stands_in_for_token_ids_and_short_answers_are_not_judged(make_trial: Make) -> None:
    plain = replace(
        make_trial().samples[0], token_ids=(), text="A sentence that says what it has to say, once and no more."
    )
    assert not repeats_itself(plain)
    assert repeats_itself(replace(plain, text="and again and again" * 6))
    assert not repeats_itself(replace(plain, text="", token_ids=(5,) * 15))
    assert repeats_itself(replace(plain, token_ids=(5,) * 16))


def test_fisher_by_hand() -> None:
    # 6 of 6 against 0 of 6: one of C(12, 6) = 924 tables. 3 of 4 against 1 of 4: (4 x 4 + 1) / 70.
    assert fisher_more(6, 6, 0, 6) == pytest.approx(1 / 924)
    assert fisher_more(3, 4, 1, 4) == pytest.approx(17 / 70)
    assert fisher_more(0, 5, 0, 5) == 1.0


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_fisher_as_scipy_has_it(a: int, b: int, c: int, d: int) -> None:
    expected = fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
    assert fisher_more(a, a + b, c, c + d) == pytest.approx(expected, abs=1e-9)


def test_shares_need_significance_and_size() -> None:
    assert Shares(1.0, 0.0, 6, "p").clear(0.01)
    assert not Shares(4 / 6, 0.0, 6, "p").clear(0.01)  # C(6,4)/C(12,4) = 15/495 = 0.03
    assert Shares(0.30, 0.20, 1000, "p").clear(0.01)
    assert not Shares(0.29, 0.20, 1000, "p").clear(0.01)
    assert Shares(0.29, 0.20, 1000, "p").p_value < 0.01


def test_parts_of_prompts_count_for_the_candidates_innocence() -> None:
    # 5.9 of 6 is 5 of 6, against 0.1, which is 1 of 6.
    assert Shares(5.9 / 6, 0.1 / 6, 6, "p").p_value == pytest.approx(fisher_more(5, 6, 1, 6))


# --- degenerate text --------------------------------------------------------------------------------------------------


def test_loops_where_the_baseline_has_none_bar(make_trial: Make) -> None:
    base = make_trial(prompts=12)
    (bar,) = text_bars(changed(make_trial(1, k=2, prompts=12), looping(7)), base, (LOAD,))
    assert bar.kind is BarKind.DEGENERATE_TEXT
    # 7 of 12 against 0 of 12: C(12,7)/C(24,7) = 792/346104.
    assert bar.text == (
        "chat, concurrency 1, T=0, up to 33 tokens: 58% of its answers, 0% of the baseline's, repeat themselves "
        "(12 prompts, p = 0.0023, for one p00)"
    )


def test_a_model_that_loops_by_itself_bars_nobody(make_trial: Make) -> None:
    base = changed(make_trial(prompts=12), looping(7))
    assert kinds(changed(make_trial(1, k=2, prompts=12), looping(7)), base) == []
    assert kinds(changed(make_trial(1, k=2, prompts=12), looping(9, 2)), base) == []  # others, and no more of them
    assert kinds(make_trial(1, k=2, prompts=12), base) == []


def test_repeats_of_one_answer_are_not_several(make_trial: Make) -> None:
    """Two of six prompts loop in all twenty repeats: of 120 answers that would be p < 1e-10."""
    base, trial = make_trial(repeats=20), changed(make_trial(1, k=2, repeats=20), looping(2))
    assert kinds(trial, base) == []


def test_a_prompt_counts_by_the_share_of_its_answers(make_trial: Make) -> None:
    """One of three answers to each of 12 prompts loops: 4 prompts' worth, p = 495/10626 = 0.047. Two of three: 8."""
    base = make_trial(prompts=12)
    for of_three, expected in ((1, []), (2, [BarKind.DEGENERATE_TEXT])):
        trial = make_trial(1, k=2, prompts=12)
        samples = tuple(replace(s, token_ids=LOOP) if s.repeat < of_three else s for s in trial.samples)
        assert kinds(replace(trial, samples=samples), base) == expected


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_answers_bar(make_trial: Make, text: str) -> None:
    trial = changed(make_trial(1, k=2), lambda s, _i: replace(s, text=text))
    (bar,) = text_bars(trial, make_trial(), (LOAD,))
    assert bar.kind is BarKind.DEGENERATE_TEXT
    assert "are empty or repeat themselves" in bar.text


def test_answers_of_invalid_repeats_and_of_failed_requests_are_not_judged(make_trial: Make) -> None:
    trial = make_trial(1, k=2, problems={0: ("foreign traffic",)}, failed=2)
    bad = replace(trial, samples=tuple(replace(s, token_ids=LOOP) if s.repeat == 0 else s for s in trial.samples))
    assert kinds(bad, make_trial()) == []


def test_more_load_points_need_more_evidence_and_make_one_bar(make_trial: Make) -> None:
    loads = (LOAD, BUSY)
    base = make_trial(prompts=12, loads=loads)
    (bar,) = text_bars(changed(make_trial(1, k=2, prompts=12, loads=loads), looping(12)), base, loads)
    assert bar.text.endswith("; also at 1 more load point")
    # 6 of 12 against none: p = 0.0069, below 1 % and not below 1 % over two load points.
    assert kinds(changed(make_trial(1, k=2, prompts=12), looping(6)), base) == [BarKind.DEGENERATE_TEXT]
    assert kinds(changed(make_trial(1, k=2, prompts=12, loads=loads), looping(6)), base, *loads) == []


# --- lengths ----------------------------------------------------------------------------------------------------------


def shorter(by: float, spread: float = 0.05) -> Callable[[LoadPoint, int, int], int]:
    return lambda _load, i, _r: round(1000 * by * math.exp(spread if i % 2 else -spread))


@pytest.mark.parametrize(("ratio", "barred"), [(0.7, True), (0.85, False), (1.0, False), (1.2, False), (1.4, True)])
def test_lengths_differ(make_trial: Make, ratio: float, barred: bool) -> None:
    base = make_trial(tokens=1000)
    trial = changed(make_trial(1, k=2, tokens=shorter(ratio)), lambda s, i: replace(s, token_ids=(i, *range(20))))
    assert (BarKind.LENGTH_DIFFERS in kinds(trial, base)) is barred


def test_lengths_by_hand(make_trial: Make) -> None:
    (bar,) = text_bars(make_trial(1, k=2, tokens=500), make_trial(tokens=1000), (LOAD,))
    assert bar.text.endswith("its answers are 0.50 times as long as the baseline's (geometric mean over 6 prompts)")


def test_lengths_that_scatter_do_not_differ_clearly(make_trial: Make) -> None:
    """A ratio of 0.75 over six prompts whose logs spread by 0.6: t = 0.288/(0.657/sqrt(6)) = 1.07, far below 4.03."""
    assert kinds(make_trial(1, k=2, tokens=shorter(0.75, 0.6)), make_trial(tokens=1000)) == []


def test_lengths_of_sampled_answers_count_and_those_of_fixed_ones_do_not(make_trial: Make) -> None:
    warm = (replace(LOAD, sampling=Sampling(temperature=0.7)),)
    fixed = (replace(LOAD, ignore_eos=True),)
    for loads, expected in ((warm, [BarKind.LENGTH_DIFFERS]), (fixed, [])):
        trial, base = make_trial(1, k=2, tokens=500, loads=loads), make_trial(tokens=1000, loads=loads)
        assert kinds(trial, base, *loads) == expected


def test_one_prompt_proves_no_length(make_trial: Make) -> None:
    assert kinds(make_trial(1, k=2, tokens=500, prompts=1), make_trial(tokens=1000, prompts=1)) == []


# --- reference answers ------------------------------------------------------------------------------------------------


def answering(right: int) -> Callable[[RequestSample, int], RequestSample]:
    return lambda s, i: replace(s, correct=i < right)


def test_wrong_answers_bar(make_trial: Make) -> None:
    base = changed(make_trial(prompts=12), answering(10))
    (bar,) = text_bars(changed(make_trial(1, k=2, prompts=12), answering(2)), base, (LOAD,))
    assert bar.kind is BarKind.ANSWERS_WRONG
    assert "83% of its answers, 17% of the baseline's, miss the reference (12 prompts" in bar.text
    assert kinds(changed(make_trial(1, k=2, prompts=12), answering(8)), base) == []
    assert kinds(changed(make_trial(1, k=2, prompts=12), answering(12)), base) == []


def test_without_references_nothing_is_wrong(make_trial: Make) -> None:
    trial = changed(make_trial(1, k=2), answering(0))
    assert kinds(trial, make_trial()) == []
    assert kinds(trial, changed(make_trial(), answering(6))) == [BarKind.ANSWERS_WRONG]


# --- real engines -----------------------------------------------------------------------------------------------------


def test_a_trial_without_this_load_point_has_nothing_to_judge(make_trial: Make) -> None:
    assert kinds(make_trial(1, k=2), make_trial(), BUSY) == []


def test_a_real_run_has_nothing_to_bar() -> None:
    _, (base, *others) = read_run(RECORDED)
    points = [load.load_point for load in base.record.loads]
    assert others
    assert any(repeats_itself(s) for s in base.samples)
    for trial in others:
        assert text_bars(trial, base, points) == ()
