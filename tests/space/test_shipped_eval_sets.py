"""What the eval sets that come with the package promise."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from tuner.records import EvalSet
from tuner.space.eval_sets import EvalSetNotes, dump_eval_set, find_eval_set, load_eval_set
from tuner.space.shipped import shipped_names

TRAFFIC = ("chat", "chat_zh", "code", "extraction", "maths", "short_qa", "summarisation", "translation")


def last_message(eval_set: EvalSet) -> list[str]:
    return [prompt.messages[-1]["content"] for prompt in eval_set.prompts if prompt.messages]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def test_these_are_all() -> None:
    assert set(shipped_names("eval_sets", ".jsonl")) == {*TRAFFIC, "demo"}


@pytest.mark.parametrize("name", [*TRAFFIC, "demo"])
def test_a_shipped_set_is_clean_and_in_the_form_that_we_write(name: str) -> None:
    eval_set, notes = load_eval_set(name)
    assert notes == EvalSetNotes()
    assert find_eval_set(name).read_text(encoding="utf-8") == dump_eval_set(eval_set)


@pytest.mark.parametrize("name", TRAFFIC)
def test_a_traffic_set_is_large_and_varied(name: str) -> None:
    eval_set, _ = load_eval_set(name)
    assert len(eval_set.prompts) >= 24
    assert {prompt.category for prompt in eval_set.prompts} == {name}
    texts = last_message(eval_set)
    assert len(texts) == len(eval_set.prompts)
    assert max(map(len, texts)) > 2 * min(map(len, texts))
    for one, other in combinations(map(words, texts), 2):
        assert len(one & other) < 0.6 * len(one | other), "two prompts are one template"


@pytest.mark.parametrize("name", ["maths", "short_qa"])
def test_every_question_with_a_right_answer_has_it(name: str) -> None:
    assert all(prompt.reference for prompt in load_eval_set(name)[0].prompts)


def test_summaries_have_long_passages() -> None:
    texts = last_message(load_eval_set("summarisation")[0])
    assert all(len(text.split()) >= 250 or len(text) >= 600 for text in texts)


def test_chinese_chat_is_chinese() -> None:
    for text in last_message(load_eval_set("chat_zh")[0]):
        assert len(re.findall(r"[\u4e00-\u9fff]", text)) > 0.5 * len(text)


def test_the_demo_is_mixed_and_short() -> None:
    prompts = load_eval_set("demo")[0].prompts
    assert 8 <= len(prompts) <= 10
    assert len({prompt.category for prompt in prompts}) >= 6
    assert all(prompt.max_tokens is not None and prompt.max_tokens <= 64 for prompt in prompts)
