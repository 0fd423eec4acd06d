from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import EvalSetError
from tuner.preflight.lengths import PromptLengths, check_fit, prompts_in_use, summarise
from tuner.records import EvalSet, LoadPoint, Prompt

PROMPTS = tuple(Prompt(f"p{n}", "c", prompt="x") for n in range(5))
SETS = {"chat": EvalSet("chat", PROMPTS, ""), "none": EvalSet("none", (), "")}


def test_the_longest_use_of_a_set_counts() -> None:
    points = [LoadPoint("chat", num_prompts=2), LoadPoint("chat", num_prompts=4), LoadPoint("chat", num_prompts=1)]
    assert prompts_in_use(SETS, points) == {"chat": PROMPTS[:4]}
    assert prompts_in_use(SETS, [*points, LoadPoint("chat")]) == {"chat": PROMPTS}


def test_a_set_that_is_not_there_or_empty_is_refused() -> None:
    with pytest.raises(EvalSetError, match="no eval set 'code'"):
        prompts_in_use(SETS, [LoadPoint("code")])
    with pytest.raises(EvalSetError, match="'none' is empty"):
        prompts_in_use(SETS, [LoadPoint("none")])


@given(st.lists(st.integers(1, 10**6), min_size=1))
def test_summary_is_ordered(counts: list[int]) -> None:
    lengths = summarise(counts, "tokens", None)
    assert lengths.prompts == len(counts)
    assert lengths.shortest <= lengths.median <= lengths.longest


def test_summary_of_known_counts() -> None:
    assert summarise([3, 9, 4, 6], "words", 64) == PromptLengths(4, 3, 5.0, 9, "words", 64)


def test_exactly_full_fits() -> None:
    check_fit(LoadPoint("chat", max_tokens=10), PROMPTS, [90, 1, 1, 1, 1], 100, "tokens")


def test_the_longest_is_named_with_what_it_would_need() -> None:
    prompts = (*PROMPTS[:4], Prompt("own", "c", prompt="x", max_tokens=50))
    with pytest.raises(EvalSetError) as caught:
        check_fit(LoadPoint("chat", max_tokens=60), prompts, [41, 1, 1, 1, 60], 100, "tokens")
    assert caught.value.message == (
        "prompt 'own' of eval set 'chat' has 60 tokens; with max_tokens 50 it does not fit max_model_len 100 "
        "(1 more prompt(s) do not fit either)"
    )
    assert caught.value.next_step.startswith("Raise max_model_len to 110")


def test_a_prompt_may_ask_for_fewer_tokens_than_the_load_point_but_not_for_more() -> None:
    prompts = (Prompt("own", "c", prompt="x", max_tokens=50),)
    check_fit(LoadPoint("chat", max_tokens=10), prompts, [90], 100, "tokens")
    with pytest.raises(EvalSetError):
        check_fit(LoadPoint("chat", max_tokens=10), prompts, [91], 100, "tokens")


def test_prompts_that_are_not_sent_may_be_long() -> None:
    check_fit(LoadPoint("chat", max_tokens=10, num_prompts=4), PROMPTS, [1, 1, 1, 1, 1000], 100, "tokens")
