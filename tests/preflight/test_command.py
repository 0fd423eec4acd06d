"""`tuner preflight` as a user meets it: wrong set-ups, each with one clear message, and none by starting an engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.preflight.rule_building import SPECULATORS
from tests.quickness import quick
from tuner import prepare
from tuner.cli import main
from tuner.engine.ability import Ability
from tuner.engine.resolve import Engine, resolve_engine
from tuner.errors import ModelError
from tuner.preflight import inputs, inspection
from tuner.preflight.tokens import Counted, count_words

MakeFiles = Callable[..., Path]
SHUFFLED = {"<unk>": 0, "<s>": 1, "</s>": 2, "c": 3, "a": 4, "b": 5}


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine that nothing may start, words for tokens, and no device to plan for."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("prompts.jsonl").write_text('{"id": "a", "category": "c", "prompt": "one two"}\n')
    monkeypatch.setattr(prepare, "resolve_engine", lambda spec: Engine("vllm", sys.executable, "0.32.0", "cpu"))
    monkeypatch.setattr(inputs, "count_tokens", lambda prompts, tokenizer: count_words(prompts))
    monkeypatch.setattr(inspection, "read_device", lambda build: None)
    return tmp_path


def told(
    capsys: pytest.CaptureFixture[str], target: object, drafts: list[dict[str, Any]], *more: str, **space: Any
) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and its JSON."""
    document = {
        "target": str(target),
        "drafts": drafts,
        "load_points": [{"eval_set": "prompts.jsonl", "max_tokens": 8}],
        **space,
    }
    Path("space.yaml").write_text(json.dumps(document))
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        main(["preflight", "--space", "space.yaml", "--json", *more])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code, json.loads(capsys.readouterr().out)


def draft(path: object, *, k: int = 3, method: str = "draft_model", **options: Any) -> dict[str, Any]:
    return {"name": "draft", "method": method, "model": str(path), "k": [k], "options": options}


@dataclass(frozen=True)
class Wrong:
    """A set-up with one thing wrong.  target, draft: what the model's files say; use: how the draft is used."""

    code: str
    target: Mapping[str, Any] = field(default_factory=dict)
    draft: Mapping[str, Any] = field(default_factory=dict)
    use: Mapping[str, Any] = field(default_factory=dict)
    args: Mapping[str, Any] = field(default_factory=dict)


TWO_GPUS = {"tensor_parallel_size": 2}
WRONG = (
    Wrong("padded_vocab_size", draft={"vocab_size": 8}),
    Wrong("different_vocabulary", draft={"vocab_size": 8, "tokens": SHUFFLED}),
    Wrong("different_vocabulary", draft={"vocab_size": 8, "tokens": SHUFFLED}, use={"k": 1}),
    Wrong("embedding_rows_differ", draft={"rows": 8}),
    Wrong("embedding_rows_differ", target={"rows": 8}),
    Wrong("max_model_len_beyond_context", args={"max_model_len": 4096}),
    Wrong("draft_max_model_len_too_long", use={"max_model_len": 128}),
    Wrong("mrope_draft", draft={"rope_scaling": {"rope_type": "default", "mrope_section": [1, 1]}}),
    Wrong("heads_not_divisible", target={"num_attention_heads": 3}, args=TWO_GPUS),
    Wrong("heads_not_divisible", draft={"num_attention_heads": 3}, args=TWO_GPUS),
    Wrong("draft_tensor_parallel_size", use={"draft_tensor_parallel_size": 1}, args=TWO_GPUS),
    Wrong("no_mtp_layers", use={"method": "mtp"}),
    Wrong("k_not_a_multiple", draft={"num_nextn_predict_layers": 2}, use={"method": "mtp"}),
    Wrong("k_beyond_block", draft={"block_size": 3}, use={"method": "dflash"}),
    Wrong("head_as_draft_model", draft={"architectures": ["LlamaForCausalLMEagle3"]}),
    Wrong("model_as_head", use={"method": "eagle"}),
    Wrong("other_kind_of_head", draft={"architectures": ["Eagle3LlamaForCausalLM"]}, use={"method": "eagle"}),
    Wrong(
        "head_for_another_target",
        draft={"hidden": 16, "architectures": ["Eagle3LlamaForCausalLM"]},
        use={"method": "eagle3"},
    ),
    Wrong(
        "head_reads_missing_layers",
        draft={"architectures": ["Eagle3LlamaForCausalLM"], "eagle_aux_hidden_state_layer_ids": [1, 9]},
        use={"method": "eagle3"},
    ),
    Wrong("speculators_method", draft=SPECULATORS),
    Wrong("speculators_as_target", target=SPECULATORS),
)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.code)
def test_a_wrong_set_up_is_one_clear_message(
    wrong: Wrong, make_files: MakeFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    target, other = make_files("target", **wrong.target), make_files("draft", **wrong.draft)
    with quick(cpu_s=5.0):
        code, found = told(capsys, target, [draft(other, **wrong.use)], engine_args=dict(wrong.args))
    errors = [notice for notice in found["notices"] if notice["level"] == "error"]
    assert (code, found["ok"], wrong.code in {error["code"] for error in errors}) == (2, False, True), errors
    assert all(error["what"] and error["next_step"] for error in errors)
    assert len({error["code"] for error in errors}) == 1 or wrong.code.startswith(("head", "spec", "mrope", "diff"))


def test_a_sound_set_up_passes(make_files: MakeFiles, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = told(capsys, make_files(), [draft(make_files("draft"))])
    assert (code, found["ok"], found["unavailable"]) == (0, True, {})
    assert found["comparisons"]["draft"] == {
        **{"target_tokens": 6, "draft_tokens": 6, "conflicting": 0, "only_target": 0, "only_draft": 0},
        **{"first": None, "shared": 6, "same": True},
    }
    facts = found["models"]["target"]
    assert (facts["vocab_size"], facts["embedding_rows"], facts["tokens"], facts["context"]) == (6, 6, 6, 64)
    assert facts["tokens_sha256"] == found["models"]["draft"]["tokens_sha256"]
    assert facts["special_ids"] == {"bos_token": 1, "unk_token": 0}
    assert found["prompts"]["prompts.jsonl"]["prompts"] == 1


def test_one_wrong_draft_among_good_ones_is_shown_and_not_tried(
    make_files: MakeFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"name": "good", "method": "draft_model", "model": str(make_files("good")), "k": [3]}
    code, found = told(capsys, make_files(), [good, draft(make_files("draft", vocab_size=8))])
    assert code == 2
    assert list(found["unavailable"]) == ["draft K=3"]


def test_what_ends_the_checks_stands_beside_what_was_found(
    make_files: MakeFiles, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Counted:
        raise ModelError("the tokenizer has no chat template", "Set chat_template.")

    good = {"name": "good", "method": "draft_model", "model": str(make_files("good")), "k": [3]}
    monkeypatch.setattr(inputs, "count_tokens", refuse)
    code, found = told(capsys, make_files(), [good, draft(make_files("draft", vocab_size=8))])
    assert code == 2
    errors = {notice["code"]: notice for notice in found["notices"] if notice["level"] == "error"}
    assert set(errors) == {"model_refused", "padded_vocab_size"}
    assert errors["model_refused"]["next_step"] == "Set chat_template."


@pytest.mark.parametrize("missing", ["target", "draft"])
def test_a_model_that_is_missing_is_a_message(
    make_files: MakeFiles, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    models = {name: make_files(name) for name in ("target", "draft")}
    (models[missing] / "config.json").unlink()
    code, found = told(capsys, models["target"], [draft(models["draft"])])
    (error,) = found["notices"]
    assert (code, error["level"]) == (2, "error")
    assert "has no config.json" in error["what"] and error["what"].startswith(missing)


def test_a_person_gets_tables_grouped_by_subject(make_files: MakeFiles, capsys: pytest.CaptureFixture[str]) -> None:
    target, other = make_files(), make_files("draft", vocab_size=8)
    told(capsys, target, [draft(other)])
    with pytest.raises(SystemExit) as exit_:
        main(["preflight", "--space", "space.yaml"])
    assert exit_.value.code == 2
    text = " ".join(capsys.readouterr().out.split())
    assert "draft error: its tokens are the target's, but its vocab_size is 8 and the target's 6" in text
    assert "tuner models pad" in text
    assert text.endswith("no sweep can be started like this.")


def test_models_keep_their_names_and_numbers_where_it_is_narrow(
    make_files: MakeFiles, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, other = make_files(vocab_size=152064, rows=152064), make_files("draft", vocab_size=152064, rows=152064)
    told(capsys, target, [draft(other)])
    tables = []
    for columns in ("60", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        with pytest.raises(SystemExit):
            main(["preflight", "--space", "space.yaml"])
        table = capsys.readouterr().out.partition("memory of")[0]
        tables.append(sorted("".join(table.replace("─", "").split())))
    assert tables[0] == tables[1]


def test_a_prompt_that_does_not_fit_is_a_message(make_files: MakeFiles, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = told(capsys, make_files(max_position_embeddings=8), [draft(make_files("draft"))])
    assert (code, found["notices"][0]["code"]) == (2, "prompts_refused")


def test_a_simulated_engine_has_nothing_to_look_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "resolve_engine", resolve_engine)
    code, found = told(capsys, "simulated", [draft("good")], "--engine", "sim")
    assert (code, found["models"], found["notices"]) == (0, {}, [])


def test_what_is_said_of_the_engine_is_said_here_too(
    make_files: MakeFiles, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine("vllm", sys.executable, "0.32.0", "cpu")
    monkeypatch.setattr(prepare, "ability", lambda space, _: Ability(engine, note="It is newer than the tables."))
    code, found = told(capsys, make_files(), [draft(make_files("draft"))])
    assert code == 0
    assert "engine_beyond_the_tables" in {notice["code"] for notice in found["notices"]}
