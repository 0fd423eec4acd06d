"""Set-ups that a newcomer gets wrong: each ends in one message that names the thing and what to do, and starts nothing.

They go through `tuner sweep`, the command that would start engines, with the real engine of this environment.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.quickness import quick
from tuner.cli import main
from tuner.engine import process
from tuner.engine.resolve import Engine

CPU_S = 15.0
"""Most take less than 5 s, with the engine's Python that they ask."""

WORDS = ("<unk>", "<s>", "</s>", "one", "two", "three")
TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}"
SPACE = """\
drafts: [{name: small, method: draft_model, model: DRAFT, k: [2]}]
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 8}]
protocol: {repeats: 1, lives: 1, warmup_requests: 0, reduced: "A test."}
"""


class Workshop:
    """A folder with everything that a sweep needs, all of it right until a case spoils something."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model("target", mlp=1000)
        self.model("small")
        self.write("prompts.jsonl", '{"id": "a", "category": "c", "prompt": "one two"}\n')
        self.write("chat.jsonl", '{"id": "a", "category": "c", "messages": [{"role": "user", "content": "one"}]}\n')
        self.space()

    def write(self, name: str, text: str) -> str:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def space(self, more: str = "", **replaced: str) -> None:
        text = SPACE.replace("DRAFT", "./small")
        for old, new in replaced.items():
            assert old in text
            text = text.replace(old, new)
        self.write("space.yaml", f"{text}{more}\n")

    def model(self, name: str, words: tuple[str, ...] = WORDS, template: str | None = TEMPLATE, mlp: int = 8) -> Path:
        directory = self.path / name
        config = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 8,
            "intermediate_size": mlp,
            "num_hidden_layers": 1,
            "num_attention_heads": 1,
            "num_key_value_heads": 1,
            "vocab_size": len(words),
            "max_position_embeddings": 64,
            "torch_dtype": "float32",
        }
        self.write(f"{name}/config.json", json.dumps(config))
        vocabulary = {word: number for number, word in enumerate(words)}
        tokenizer = {
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
        }
        self.write(f"{name}/tokenizer.json", json.dumps(tokenizer))
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}
        self.write(
            f"{name}/tokenizer_config.json", json.dumps(settings | ({"chat_template": template} if template else {}))
        )
        (directory / "model.safetensors").write_bytes(
            safetensors(
                {
                    "model.embed_tokens.weight": [len(words), 8],
                    "model.layers.0.mlp.up_proj.weight": [mlp, 8],
                    "lm_head.weight": [len(words), 8],
                }
            )
        )
        return directory


def safetensors(shapes: dict[str, list[int]]) -> bytes:
    """Return a file of float32 zeros."""
    header: dict[str, Any] = {}
    end = 0
    for name, (rows, columns) in shapes.items():
        begin, end = end, end + 4 * rows * columns
        header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


@dataclass(frozen=True)
class Case:
    """spoil: makes the set-up wrong and returns what is put after `tuner sweep`.  says: what the message holds."""

    name: str
    spoil: Callable[[Workshop], list[str]]
    says: tuple[str, ...]


def sweep(*more: str, target: str = "./target") -> list[str]:
    return [target, "--space", "space.yaml", "--out", "run", *more]


def without_target_files(*names: str) -> Callable[[Workshop], list[str]]:
    def spoil(shop: Workshop) -> list[str]:
        for name in names:
            (shop.path / "target" / name).unlink()
        return sweep()

    return spoil


def with_target_file(name: str, text: str, *gone: str) -> Callable[[Workshop], list[str]]:
    def spoil(shop: Workshop) -> list[str]:
        without_target_files(*gone)(shop)
        shop.write(f"target/{name}", text)
        return sweep()

    return spoil


def with_space(more: str = "", **replaced: str) -> Callable[[Workshop], list[str]]:
    def spoil(shop: Workshop) -> list[str]:
        shop.space(more, **replaced)
        return sweep()

    return spoil


def with_file(name: str, text: str, *arguments: str) -> Callable[[Workshop], list[str]]:
    def spoil(shop: Workshop) -> list[str]:
        shop.write(name, text)
        return sweep(*arguments)

    return spoil


def with_arguments(*arguments: str, target: str = "./target") -> Callable[[Workshop], list[str]]:
    return lambda _: sweep(*arguments, target=target)


def other_vocabulary(shop: Workshop) -> list[str]:
    shop.model("small", (*WORDS, "four"))
    return sweep()


def no_chat_template(shop: Workshop) -> list[str]:
    shop.model("target", template=None, mlp=1000)
    return sweep("--eval-set", "chat.jsonl")


def half_downloaded(shop: Workshop) -> list[str]:
    (shop.path / "target/model.safetensors").rename(shop.path / "target/model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    shop.write("target/model.safetensors.index.json", json.dumps({"weight_map": shards}))
    return sweep()


def cut_off(shop: Workshop) -> list[str]:
    weights = shop.path / "target/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    return sweep()


def no_vllm(shop: Workshop) -> list[str]:
    python = shop.path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    (shop.path / "venv/pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    return sweep("--engine", "venv")


def occupied(shop: Workshop) -> list[str]:
    shop.write("run/thesis.txt", "years of work")
    return sweep()


SHAREGPT = '[{"id": "x", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yes"}]}]\n'
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 3\n"

CASES = (
    Case("no such directory", with_arguments(target="/no/such/model"), ("/no/such/model does not exist",)),
    Case("hub id", with_arguments(target="org/model"), ("org/model", "hub cache", "--download")),
    Case("a file", with_arguments(target="./target/config.json"), ("config.json is a file", "directory")),
    Case("unknown demo model", with_arguments(target="demo:taget"), ("demo:taget", "demo:target")),
    Case("no target", lambda _: ["--space", "space.yaml"], ("No target", "MODEL_DIRECTORY")),
    Case(
        "GGUF only",
        with_target_file("m.gguf", "GGUF", "model.safetensors"),
        ("target holds GGUF files",),
    ),
    Case(
        "LoRA adapter",
        with_target_file("adapter_config.json", '{"peft_type": "LORA"}', "config.json"),
        ("no config.json", "LoRA adapter"),
    ),
    Case("LFS pointer", with_target_file("model.safetensors", LFS), ("Git LFS pointer", "lfs pull")),
    Case("half downloaded", half_downloaded, ("lacks 1 weight file", "model-00002-of-00002.safetensors")),
    Case("config.json broken", with_target_file("config.json", '{"a": '), ("config.json is not JSON",)),
    Case(
        "no tokenizer",
        without_target_files("tokenizer.json", "tokenizer_config.json"),
        ("has no tokenizer", "tokenizer.json"),
    ),
    Case("no chat template", no_chat_template, ("no chat template", "instruct")),
    Case("draft is missing", with_space(**{"./small": "./smal"}), ("draft 'small'", "smal does not exist")),
    Case("draft of another vocabulary", other_vocabulary, ("small", "vocab_size is 7 and the target's 6")),
    Case("typo in the space", with_space(load_points="loadpoints"), ("space.yaml:2", "loadpoints", "'load_points'")),
    Case("typo in an engine argument", with_space("engine_args: {max_modl_len: 9}"), ("space.yaml:4", "max_model_len")),
    Case("K is 0", with_space(**{"k: [2]": "k: [0]"}), ("space.yaml:1", "1 or more", "k: [1, 3, 5]")),
    Case("K is negative", with_space(**{"k: [2]": "k: [-3]"}), ("space.yaml:1", "not -3")),
    Case("K is text", with_space(**{"k: [2]": "k: [two]"}), ("space.yaml:1", "whole number, not 'two'")),
    Case("unknown method", with_space(draft_model="draftmodel"), ("space.yaml:1", "'draftmodel'", "'draft_model'")),
    Case("old flag in the space", with_space("engine_args: {speculative_model: x}"), ("speculative_model", "drafts:")),
    Case(
        "old flags on the command line",
        with_arguments("--speculative-model", "./small", "--num-speculative-tokens=5"),
        ("--speculative-model, --num-speculative-tokens", "model: ./small", "k: 5"),
    ),
    Case("memory in percent", with_space("engine_args: {gpu_memory_utilization: 90}"), ("at most 1, not 90",)),
    Case(
        "context longer than trained", with_space("engine_args: {max_model_len: 4096}"), ("4096", "Lower max_model_len")
    ),
    Case(
        "context shorter than prompts",
        with_space("engine_args: {max_model_len: 5}"),
        ("prompt 'a'", "Raise max_model_len"),
    ),
    Case(
        "engine is no Python", with_arguments("--engine", "/bin/ls"), ("/bin/ls does not run as a Python", "--engine")
    ),
    Case("engine is a folder", with_arguments("--engine", "target"), ("no bin/python in it", "--engine")),
    Case("engine without vLLM", no_vllm, ("No vLLM in", "pip install vllm")),
    Case(
        "eval set is empty", with_file("mine.jsonl", "\n", "--eval-set", "mine.jsonl"), ("mine.jsonl is empty", '"id"')
    ),
    Case(
        "eval set is no JSON",
        with_file("mine.jsonl", '{"id": \n', "--eval-set", "mine.jsonl"),
        ("mine.jsonl:1", "JSON"),
    ),
    Case(
        "ShareGPT",
        with_file("s.json", SHAREGPT, "--eval-set", "s.json"),
        ("s.json holds a JSON array", "eval-set import"),
    ),
    Case(
        "ShareGPT by lines",
        with_file("s.jsonl", SHAREGPT.strip("[]\n") + "\n", "--eval-set", "s.jsonl"),
        ("s.jsonl:1", "ShareGPT", "tuner eval-set import"),
    ),
    Case("eval set is missing", with_arguments("--eval-set", "caht"), ("'caht'", "Did you mean chat?")),
    Case("output is a file", lambda _: [*sweep()[:-1], "prompts.jsonl"], ("prompts.jsonl", "is a file")),
    Case(
        "output cannot be written",
        lambda _: [*sweep()[:-1], "prompts.jsonl/run"],
        ("prompts.jsonl/run", "Give an output directory that you may write in"),
    ),
    Case("output is occupied", occupied, ("run is not empty", "thesis.txt", "new or empty")),
    Case("unknown option", with_arguments("--frobnicate", "4"), ("--frobnicate", "--help")),
    Case("a key of the space as an option", with_arguments("--concurrency", "4"), ("--concurrency", "load_points")),
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "TUNER_MODELS", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return Workshop(tmp_path)


@pytest.fixture(autouse=True)
def no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting an engine, here or through Ray, is what must not be reached."""

    def started(*_: object, **__: object) -> NoReturn:
        pytest.fail("an engine, or Ray for it, was started")

    monkeypatch.setattr(process.Supervised, "__init__", started)
    monkeypatch.setattr("tuner.pool.ray_pool.connected", started)


def run(arguments: list[str]) -> int:
    """Return the exit code of `tuner sweep`, which must be quick."""
    with quick(CPU_S), pytest.raises(SystemExit) as exit_:
        main(["sweep", *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_wrong_set_up_is_one_clear_message_and_no_start(
    case: Case, shop: Workshop, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = case.spoil(shop)
    code = run(arguments)
    told = capfd.readouterr()
    assert code == 2, told.err
    assert [words for words in case.says if words not in told.err] == [], told.err
    assert "Traceback" not in told.err
    first, *rest = [line for line in told.err.strip().splitlines() if not line.startswith(("hint: ", "warning: "))]
    assert first.startswith(("error: ", "Usage: ")) and len(first) < 300, "one message"
    assert any(line.strip() for line in rest), "and what to do"
    assert told.out == ""
    assert not list(shop.path.glob("run/trials/*"))


def test_weights_that_were_cut_off_are_named(shop: Workshop, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(cut_off(shop)) == 2
    assert "model.safetensors" in capfd.readouterr().err


@pytest.mark.parametrize(("word", "near"), [("sweeep", "Did you mean 'sweep'?"), ("frobnicate", "--help")])
def test_a_misspelt_command(word: str, near: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([word, "./target"])
    told = capfd.readouterr().err
    assert exit_.value.code == 2
    assert f"No such command '{word}'" in told and near in told


def test_too_few_gpus_are_told_before_ray_starts(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The machine is at fault, not the input: exit code 3."""
    monkeypatch.setattr("tuner.prepare.resolve_engine", lambda _: Engine("vllm", sys.executable, "0.32.0", "cuda"))
    monkeypatch.setattr("tuner.pool.ray_pool.visible_gpu_ids", lambda: ("0",))
    shop.space("engine_args: {tensor_parallel_size: 2}")
    for name in ("target", "small"):
        config = json.loads((shop.path / name / "config.json").read_text())
        shop.write(f"{name}/config.json", json.dumps(config | {"num_attention_heads": 2, "num_key_value_heads": 2}))
    code = run(sweep())
    told = capfd.readouterr().err
    assert code == 3, told
    assert "one engine needs 2 GPUs on one node; the largest node has 1" in told
    assert "tensor_parallel_size" in told


def test_the_target_as_its_own_draft_is_warned_of(shop: Workshop, capfd: pytest.CaptureFixture[str]) -> None:
    """It may be meant, to see what the engine's part alone costs; so it is no error."""
    shop.space(**{"./small": "./target"})
    with pytest.raises(SystemExit) as exit_:
        main(["preflight", "./target", "--space", "space.yaml", "--json"])
    told = capfd.readouterr()
    assert exit_.value.code == 0
    notices = json.loads(told.out)["notices"]
    assert [notice["what"] for notice in notices if notice["subject"] == "small" and "save time" in notice["what"]]


def test_the_set_up_that_the_cases_spoil_is_right(shop: Workshop, capfd: pytest.CaptureFixture[str]) -> None:
    """Else a case could be refused for another reason than its own."""
    with pytest.raises(SystemExit) as exit_:
        main(["plan", "./target", "--space", "space.yaml", "--json"])
    told = capfd.readouterr()
    assert exit_.value.code == 0, told.err
    plan = json.loads(told.out)
    assert [start["role"] for start in plan["starts"]] == ["baseline", "candidate", "baseline_again"]
    assert plan["unavailable"] == {}
