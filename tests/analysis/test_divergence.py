"""Where answers part, and which of them the baseline's own probabilities explain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.divergence import (
    Answer,
    against_baseline,
    against_itself,
    first_difference,
    reference_groups,
)
from tuner.records import Divergence, LoadPoint, Sampling

TOKENS = st.lists(st.integers(0, 3), max_size=8).map(tuple)


def ended(*token_ids: int) -> Answer:
    return Answer(token_ids, cut=False)


def cut(*token_ids: int) -> Answer:
    return Answer(token_ids, cut=True)


def test_the_first_difference_by_hand() -> None:
    assert first_difference((1, 2, 3), (1, 2, 3), both_cut=False) is None
    assert first_difference((1, 2, 3), (1, 9, 3), both_cut=False) == 1
    assert first_difference((1, 2, 3), (1, 2), both_cut=False) == 2
    assert first_difference((1, 2, 3), (1, 2), both_cut=True) is None
    assert first_difference((1, 9, 3), (1, 2), both_cut=True) == 1


@given(TOKENS, TOKENS, st.booleans())
def test_a_first_difference_is_one_and_the_first(a: tuple[int, ...], b: tuple[int, ...], both_cut: bool) -> None:
    at = first_difference(a, b, both_cut)
    assert at == first_difference(b, a, both_cut)
    if at is None:
        assert a == b or (both_cut and a[: len(b)] == b[: len(a)])
    else:
        assert a[:at] == b[:at] and a[at : at + 1] != b[at : at + 1]


def test_an_answer_that_equals_any_of_the_baselines_is_equal_else_the_nearest_counts() -> None:
    baseline = {"p": [ended(1, 2, 3, 4), ended(1, 2, 8, 4)]}
    answers = {"p": [ended(1, 2, 8, 4), ended(1, 2, 8, 5), ended(7, 2, 3, 4)], "unknown": [ended(1)]}
    arm = against_baseline(answers, baseline, {})
    assert (arm.equal, arm.compared) == (1, 3)
    assert arm.unequal == (Divergence("p", 3, None), Divergence("p", 0, None))


def test_an_answer_cut_by_its_limit_is_compared_up_to_there_only_with_another_that_was_cut() -> None:
    assert against_baseline({"p": [cut(1, 2)]}, {"p": [cut(1, 2, 3)]}, {}).equal == 1
    assert against_baseline({"p": [ended(1, 2)]}, {"p": [cut(1, 2, 3)]}, {}).unequal == (Divergence("p", 2, None),)


def test_the_baseline_is_compared_with_its_other_answers_leaving_each_out() -> None:
    baseline = {"p": [ended(1, 2), ended(1, 2), ended(1, 3)], "q": [ended(5), ended(5)], "alone": [ended(4)]}
    itself = against_itself(baseline, {})
    assert (itself.equal, itself.compared) == (4, 5)
    assert itself.unequal == (Divergence("p", 1, None),)


def test_the_reference_pass_is_one_more_of_the_baselines_answers() -> None:
    reference = {"p": Answer((1, 3), False, (2.0, 0.1))}
    assert against_baseline({"p": [ended(1, 3)]}, {"p": [ended(1, 2)]}, reference).equal == 1
    itself = against_itself({"p": [ended(1, 2)]}, reference)
    assert (itself.equal, itself.compared, itself.unequal) == (0, 1, (Divergence("p", 1, 0.1),))


def test_a_gap_counts_only_where_the_reference_pass_had_the_same_tokens_before_it() -> None:
    reference = {"p": Answer((1, 2, 3), False, (2.0, 0.1, 0.7))}
    baseline = {"p": [ended(1, 2, 3), ended(9, 9, 9)]}

    def gap(answer: Answer) -> float | None:
        [divergence] = against_baseline({"p": [answer]}, baseline, reference).unequal
        return divergence.gap

    assert gap(ended(1, 8, 3)) == 0.1
    assert gap(ended(1, 2, 8)) == 0.7
    assert gap(ended(9, 9, 1)) is None
    assert gap(ended(1, 2, 3, 4)) is None


def test_near_ties_are_two_steps_of_bfloat16_and_clear_is_one_nat() -> None:
    gaps = (0.0, 0.125, 0.2500003, 0.375, 1.0, 1.125)
    references = {f"p{i}": Answer((1,), True, (gap,)) for i, gap in enumerate(gaps)}
    answers = {prompt: [cut(2)] for prompt in references}
    arm = against_baseline(answers, {prompt: [cut(1)] for prompt in references}, references)
    assert [divergence.gap for divergence in arm.unexplained] == [0.375, 1.0, 1.125]
    assert [divergence.gap for divergence in arm.clear] == [1.125]


def test_a_prompt_counts_with_the_share_of_its_answers() -> None:
    arm = against_baseline(
        {"p": [ended(1), ended(2), ended(2), ended(1)], "q": [ended(9)]}, {"p": [ended(1)], "q": [ended(1)]}, {}
    )
    assert arm.unexplained_prompts == 1.5


def test_load_points_at_temperature_0_are_grouped_by_what_decides_an_answer() -> None:
    four, one = LoadPoint("e", concurrency=4), LoadPoint("e", concurrency=1, weight=2.0)
    longer, warm = LoadPoint("e", max_tokens=7), LoadPoint("e", sampling=Sampling(temperature=0.5))
    assert reference_groups([four, longer, warm, one]) == ((one, four), (longer,))
