from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.errors import ModelError
from tuner.preflight import tokens
from tuner.preflight.engine_python import SCRIPTS
from tuner.preflight.tokens import Counted, TokenizerSpec, chat_template_text, count_tokens, count_words
from tuner.records import Prompt

MakeModel = Callable[..., Path]

CHAT = Prompt("chat", "c", ({"role": "user", "content": "one two three"},))
PLAIN = Prompt("plain", "c", prompt="one two three")
SYSTEM = Prompt("system", "c", ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "one"}))


class WithoutTemplate:
    """A tokenizer of words."""

    chat_template = None

    def __call__(self, text: str) -> dict[str, list[str]]:
        return {"input_ids": text.split()}


def test_words() -> None:
    assert count_words([CHAT, PLAIN, SYSTEM]) == Counted((3, 3, 3), {})


def test_chat_template_and_special_tokens_are_counted(make_model: MakeModel) -> None:
    # chat: <s> user one two three </s> <s> assistant; plain: <s> one two three; the template refuses a system message.
    counted = count_tokens([CHAT, PLAIN, SYSTEM], TokenizerSpec(sys.executable, str(make_model())))
    assert counted == Counted((8, 4, None), {2: "System role not supported"})


def test_a_chat_template_of_the_engines_arguments_is_used(make_model: MakeModel) -> None:
    spec = TokenizerSpec(sys.executable, str(make_model(chat_template=None)), chat_template="{{ messages[0].content }}")
    assert count_tokens([CHAT], spec).counts == (3,)


def test_no_chat_template_matters_to_chat_only(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"counts": [None, 4], "problems": {}, "has_chat_template": False}
    monkeypatch.setattr(tokens, "run_script", lambda *_: answer)
    assert count_tokens([PLAIN], TokenizerSpec("python", "model")).counts == (None, 4)
    with pytest.raises(ModelError, match="the tokenizer in model has no chat template"):
        count_tokens([CHAT, PLAIN], TokenizerSpec("python", "model"))


def test_the_script_leaves_chat_uncounted_without_a_template() -> None:
    prompts = [{"messages": [{"role": "user", "content": "a b"}]}, {"prompt": "a b c"}]
    answer = runpy.run_path(str(SCRIPTS / "count_tokens.py"))["count_all"](WithoutTemplate(), prompts)
    assert answer == {"counts": [None, 3], "problems": {}, "has_chat_template": False}


def test_mistrals_own_tokenizer_needs_no_chat_template(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    common = pytest.importorskip("mistral_common")
    monkeypatch.setenv("LD_LIBRARY_PATH", "")  # what it imports adds to it, for every later child of this process
    model = make_model(chat_template=None)
    own = Path(common.__file__).parent / "data" / "mistral_instruct_tokenizer_240323.model.v3"
    (model / "tokenizer.model.v3").write_bytes(own.read_bytes())
    script = runpy.run_path(str(SCRIPTS / "count_tokens.py"))
    monkeypatch.setitem(script["answer_to"].__globals__, "load_tokenizer", lambda *_: WithoutTemplate())
    wrong = {"messages": [{"role": "assistant", "content": "a"}]}
    prompts = [{"messages": [{"role": "user", "content": "a b"}]}, {"prompt": "a b"}, wrong]
    request = {"tokenizer": str(model), "trust_remote_code": False, "chat_template": None, "prompts": prompts}
    answer = script["answer_to"](request)
    assert answer["counts"] == [5, 3, None]  # <s> [INST] a b [/INST]; <s> a b
    assert "2" not in answer["problems"] and "must start" in answer["problems"][2]
    assert answer["has_chat_template"] is True

    def fails(*_: object) -> None:
        raise ValueError("no tokenizer.json")

    monkeypatch.setitem(script["answer_to"].__globals__, "load_tokenizer", fails)
    assert script["answer_to"](request) == answer
    (model / "tokenizer.model.v3").unlink()
    with pytest.raises(ValueError, match="no tokenizer"):
        script["answer_to"](request)


def test_chat_template_text(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("{{ messages }}")
    assert chat_template_text(str(path)) == "{{ messages }}"
    assert chat_template_text("{{ x }}") == "{{ x }}"
    assert chat_template_text(None) is None
    with pytest.raises(ModelError, match="is not a file"):
        chat_template_text(str(tmp_path / "none.jinja"))
