from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.sim import answers
from tuner.engine.sim.profile import Answers

LENGTHS = Answers(median_tokens=20, spread=0.3)
KEY = (0, "target", "prompt")


def test_no_word_needs_an_escape_and_all_differ() -> None:
    assert [json.dumps(word) for word in answers.WORDS] == [f'"{word}"' for word in answers.WORDS]
    assert len(set(answers.WORDS)) == len(answers.WORDS) == len(answers.TEXTS)


@given(st.text(), st.integers(1, 60), st.integers(0, 60))
def test_a_shorter_limit_gives_the_beginning_of_the_same_answer(prompt: str, limit: int, more: int) -> None:
    short = answers.greedy_answer(LENGTHS, (prompt,), limit, ignore_eos=False)
    longer = answers.greedy_answer(LENGTHS, (prompt,), limit + more, ignore_eos=False)
    cut = short.token_ids[:-1] if short.finish_reason == "stop" else short.token_ids
    assert longer.token_ids[: len(cut)] == cut
    assert len(short.token_ids) <= limit
    assert (short.token_ids[-1] == answers.EOS) == (short.finish_reason == "stop")


def test_ignored_ends_give_the_full_length() -> None:
    answer = answers.greedy_answer(LENGTHS, KEY, 500, ignore_eos=True)
    assert (len(answer.token_ids), answer.finish_reason) == (500, "length")
    assert answers.EOS not in answer.token_ids


def test_lengths_have_the_median_that_was_set() -> None:
    lengths = sorted(len(answers.greedy_answer(LENGTHS, (i,), 10_000, False).token_ids) for i in range(501))
    assert 18 <= lengths[250] <= 22
    assert lengths[0] < 12
    assert lengths[-1] > 35


def test_samples_follow_their_draw_and_stay_near_the_greedy_answer_when_cold() -> None:
    def sample(draw: object, temperature: float) -> tuple[int, ...]:
        return answers.sampled_answer(LENGTHS, KEY, 400, True, temperature, (draw,)).token_ids

    greedy = answers.greedy_answer(LENGTHS, KEY, 400, True).token_ids
    assert sample(1, 0.7) == sample(1, 0.7)
    assert sample(1, 0.7) != sample(2, 0.7)

    def like_greedy(temperature: float) -> float:
        return sum(a == b for a, b in zip(sample(1, temperature), greedy, strict=True)) / 400

    # softmax(0, -1, -2, -3) at temperature 1 gives the greedy token 0.64 of the time.
    assert abs(like_greedy(1.0) - 0.644) < 0.07
    assert like_greedy(0.1) > 0.98


def test_prompts_are_counted_by_words() -> None:
    assert answers.count_prompt_tokens("three little words") == 3 == len(answers.prompt_token_ids("three little words"))
    assert answers.count_prompt_tokens("") == 1 == len(answers.prompt_token_ids(""))
    assert answers.prompt_token_ids("a b a")[0] == answers.prompt_token_ids("a b a")[2]


def test_text_of_token_ids() -> None:
    answer = answers.greedy_answer(LENGTHS, KEY, 100, False)
    assert answers.text_of(answer.token_ids).split() == [answers.TEXTS[i].strip() for i in answer.token_ids[:-1]]
