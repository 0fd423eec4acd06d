from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tuner.errors import EvalSetError, ModelError
from tuner.preflight import PromptLengths, check_inputs, inputs
from tuner.preflight.tokens import Counted, TokenizerSpec, count_words
from tuner.records import EvalSet, LoadPoint, Prompt
from tuner.space.search_space import DraftSpec, SearchSpace

MakeModel = Callable[..., Path]

CHAT = Prompt("hello", "c", ({"role": "user", "content": "one two three"},))
LONG = Prompt("long", "c", ({"role": "user", "content": "word " * 20},))
PLAIN = Prompt("plain", "c", prompt="one two")
SETS = {"chat": EvalSet("chat", (CHAT, LONG), ""), "plain": EvalSet("plain", (PLAIN,), "")}
POINTS = (LoadPoint("chat", max_tokens=10), LoadPoint("plain", max_tokens=20))


def space(**fields: Any) -> SearchSpace:
    given = {"name": "s", "source": "", "target": None, "drafts": (), "load_points": POINTS} | fields
    return SearchSpace(**given)


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> list[TokenizerSpec]:
    """Tokens are words here, so that no script runs; returns the tokenizers that were asked for."""
    asked: list[TokenizerSpec] = []

    def count(prompts: list[Prompt], tokenizer: TokenizerSpec) -> Counted:
        asked.append(tokenizer)
        return count_words(prompts)

    monkeypatch.setattr(inputs, "count_tokens", count)
    return asked


def check(search_space: SearchSpace, target: object, *, simulated: bool = False) -> dict[str, PromptLengths]:
    return check_inputs(search_space, SETS, python=sys.executable, simulated=simulated, target=str(target))


def test_all_sets_are_counted_by_the_models_tokenizer(make_model: MakeModel) -> None:
    # <s> user ... </s> <s> assistant: 5 tokens around a chat message; <s> before a plain prompt.
    assert check(space(), make_model()) == {
        "chat": PromptLengths(2, 8, 16.5, 25, "tokens", 64),
        "plain": PromptLengths(1, 3, 3.0, 3, "tokens", 64),
    }


def test_a_message_that_the_chat_template_refuses_is_named(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sets are counted in one run: plain, hello, long.
    monkeypatch.setattr(inputs, "count_tokens", lambda *_: Counted((2, 8, None), {2: "System role not supported"}))
    points = (LoadPoint("plain"), LoadPoint("chat"))
    with pytest.raises(
        EvalSetError, match=r"prompt 'long' of eval set 'chat' is refused .*: System role not supported"
    ):
        check(space(load_points=points), make_model())


def test_a_prompt_too_long_for_the_model(make_model: MakeModel, by_words: list[TokenizerSpec]) -> None:
    check(space(), make_model("exact", context=30))
    with pytest.raises(EvalSetError, match=r"'long' .* 20 tokens; with max_tokens 10 .* max_model_len 29"):
        check(space(), make_model("short", context=29))


def test_a_tokenizers_own_limit_is_not_the_engines(make_model: MakeModel, by_words: list[TokenizerSpec]) -> None:
    model = make_model()
    (model / "tokenizer_config.json").write_text('{"model_max_length": 25}')  # DeepSeek-V3: 16384 beside 163840
    assert check(space(), model)["chat"].max_model_len == 64


def test_a_context_that_arguments_change_is_not_read_from_the_files(
    make_model: MakeModel, by_words: list[TokenizerSpec]
) -> None:
    model = make_model(context=29)
    overrides = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}
    assert check(space(engine_args={"hf_overrides": overrides}), model)["chat"].max_model_len is None
    with pytest.raises(EvalSetError, match="max_model_len 25"):
        check(space(engine_args={"hf_overrides": overrides, "max_model_len": 25}), model)


def test_the_smallest_max_model_len_counts(make_model: MakeModel, by_words: list[TokenizerSpec]) -> None:
    model = make_model()
    assert check(space(engine_args={"max_model_len": 40}), model)["chat"].max_model_len == 40
    with pytest.raises(EvalSetError, match="max_model_len 25"):
        check(space(choices={"max_model_len": (64, 25)}), model)


def test_a_class_is_not_looked_for_on_disk(make_model: MakeModel, by_words: list[TokenizerSpec]) -> None:
    check(space(drafts=(DraftSpec("mine", "custom_class", "my.module.Proposer", {}, (1,)),)), make_model())


def test_engine_arguments_choose_tokenizer_and_template(make_model: MakeModel, by_words: list[TokenizerSpec]) -> None:
    model, other = make_model(), make_model("other")
    args = {"tokenizer": str(other), "chat_template": "{{ messages }}", "trust_remote_code": True}
    check(space(engine_args=args), model)
    assert by_words == [TokenizerSpec(sys.executable, str(other), True, "{{ messages }}")]
    (other / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer: .* has no tokenizer"):
        check(space(engine_args=args), model)


def test_the_simulated_engine_needs_no_files_and_counts_words() -> None:
    draft = DraftSpec("good", "draft_model", "/nowhere", {}, (1,))
    found = check(space(drafts=(draft,)), "/nowhere", simulated=True)
    assert found["chat"] == PromptLengths(2, 3, 11.5, 20, "words", None)
    with pytest.raises(EvalSetError, match="20 words; with max_tokens 10 it does not fit max_model_len 29"):
        check(space(engine_args={"max_model_len": 29}), "/nowhere", simulated=True)
