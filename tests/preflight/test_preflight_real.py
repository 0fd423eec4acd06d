"""What preflight says of a draft, held against what the installed vLLM does with it.

Original and good of the demo models (`tuner models demo`), with a few tokens answered greedily: acceptance counts then
repeat exactly from engine to engine. Each engine start takes a minute or two.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuner.engine.argv import engine_command
from tuner.engine.counters import CounterTotals, parse_metrics
from tuner.engine.process import Launch, RunningEngine, free_port, running_engine
from tuner.engine.resolve import resolve_engine
from tuner.models.padding import pad_vocabulary
from tuner.records import Candidate, Speculation
from tuner.space.model_refs import demo_models_dir

pytestmark = pytest.mark.real

ROWS = 49280  # 49152 + 128
SHORT = 128
ARGS = {"max_model_len": 512, "max_num_seqs": 2, "enforce_eager": True, "gpu_memory_utilization": 0.3}
PROMPTS = ("Count: one, two, three,", "The capital of France is", "Water boils at", "def add(a, b):\n    return")
LONG = "one two three four five six seven eight nine ten " * 20


@dataclass(frozen=True)
class Seen:
    """What the engine counted: drafts, tokens proposed and accepted at the short prompts; the same at a long one."""

    drafts: int
    proposed: int
    accepted: int
    drafts_when_long: int
    accepted_when_long: int


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("preflight")
    done = subprocess.run([sys.executable, "-m", "tuner", "models", "demo"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


def linked(source: Path, out: Path, change: Callable[[dict[str, Any]], None], *without: str) -> Path:
    """A model that shares everything but its config.json."""
    out.mkdir()
    for file in source.iterdir():
        if file.name not in ("config.json", *without):
            (out / file.name).symlink_to(file)
    config = json.loads((source / "config.json").read_text())
    change(config)
    (out / "config.json").write_text(json.dumps(config))
    return out


def shuffled(source: Path, out: Path) -> Path:
    """The same model with its token ids dealt anew, tokenizer and embedding alike: as good, in a tongue of its own."""
    shutil.copytree(source, out)
    order = np.random.default_rng(1).permutation(49152)  # row i of the copy is row order[i] of the source
    data = bytearray((out / "model.safetensors").read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8 : 8 + length])["model.embed_tokens.weight"]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    rows = np.frombuffer(bytes(data[begin:end]), np.uint16).reshape(entry["shape"])
    data[begin:end] = rows[order].tobytes()
    (out / "model.safetensors").write_bytes(data)
    new = {int(old): number for number, old in enumerate(order)}
    tokenizer = json.loads((out / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {text: new[number] for text, number in tokenizer["model"]["vocab"].items()}
    tokenizer["added_tokens"] = [token | {"id": new[token["id"]]} for token in tokenizer["added_tokens"]]
    (out / "tokenizer.json").write_text(json.dumps(tokenizer))
    return out


def preflight(target: Path, draft: Path, cwd: Path) -> tuple[int, dict[str, Any]]:
    space = {
        "target": str(target),
        "engine_args": ARGS,
        "drafts": [{"name": "draft", "method": "draft_model", "model": str(draft), "k": [3]}],
        "load_points": [{"eval_set": "demo", "max_tokens": 24, "num_prompts": 4}],
    }
    (cwd / "space.yaml").write_text(json.dumps(space))
    command = [sys.executable, "-m", "tuner", "preflight", "--space", "space.yaml", "--json"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode in (0, 2), done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, told


def codes(told: dict[str, Any], level: str) -> set[str]:
    return {notice["code"] for notice in told["notices"] if notice["level"] == level}


def seen(target: Path, draft: Path, log: Path) -> Seen:
    """Start an engine, ask the short prompts and then the long one."""
    engine, port = resolve_engine(None), free_port()
    candidate = Candidate(ARGS, Speculation("draft_model", 3, "draft", str(draft)))
    launch = Launch(
        command=engine_command(engine, str(target), "preflight-real", port, candidate),
        env={"VLLM_CPU_KVCACHE_SPACE": "1"},
        log_path=log,
        port=port,
        served_name="preflight-real",
        api_key="sesame-4712",
        start_timeout_s=500,
        stall_timeout_s=300,
        version=engine.version,
    )
    with running_engine(launch) as running:
        for prompt in PROMPTS:
            ask(running, prompt)
        short = counters(running)
        ask(running, LONG)
        long = counters(running)
    assert short.drafts and short.draft_tokens and short.accepted_tokens is not None
    assert long.drafts and long.accepted_tokens is not None
    at_long = long.drafts - short.drafts, long.accepted_tokens - short.accepted_tokens
    return Seen(short.drafts, short.draft_tokens, short.accepted_tokens, *at_long)


def ask(engine: RunningEngine, prompt: str) -> None:
    body = {"model": engine.served_name, "prompt": prompt, "max_tokens": 24, "temperature": 0, "ignore_eos": True}
    call(engine, "/v1/completions", json.dumps(body).encode())


def counters(engine: RunningEngine) -> CounterTotals:
    return parse_metrics(call(engine, "/metrics", None))


def call(engine: RunningEngine, path: str, body: bytes | None) -> str:
    request = urllib.request.Request(f"{engine.base_url}{path}", body, {"Content-Type": "application/json"})
    request.add_header("Authorization", f"Bearer {engine.api_key}")
    with urllib.request.urlopen(request, timeout=300) as response:
        return str(response.read().decode())


@pytest.fixture(scope="module")
def short_context(workshop: Path) -> tuple[Path, Seen]:
    demo = demo_models_dir()
    draft = linked(demo / "good", workshop / "short", lambda config: config.update(max_position_embeddings=SHORT))
    return draft, seen(demo / "original", draft, workshop / "short.log")


def test_beyond_a_drafts_short_context_it_proposes_placeholders(
    short_context: tuple[Path, Seen], workshop: Path
) -> None:
    draft, counted = short_context
    code, told = preflight(demo_models_dir() / "original", draft, workshop)
    assert (code, codes(told, "error")) == (0, set())
    assert "draft_context_shorter" in codes(told, "warning")
    assert counted.drafts > 0 and counted.accepted > 0
    assert (counted.drafts_when_long, counted.accepted_when_long) == (23, 0)  # one step a token


def test_a_padded_draft_is_accepted_as_the_original_is(short_context: tuple[Path, Seen], workshop: Path) -> None:
    demo = demo_models_dir()
    target = pad_vocabulary(sys.executable, demo / "original", workshop / "padded-target", ROWS).directory
    code, told = preflight(target, demo / "good", workshop)
    assert code == 2 and codes(told, "error") == {"padded_vocab_size"}
    command = [sys.executable, "-m", "tuner", "models", "pad", "demo:good", "padded", "--like", str(target)]
    done = subprocess.run(command, cwd=workshop, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    padded = workshop / "padded"
    code, told = preflight(target, padded, workshop)
    assert (code, codes(told, "error"), told["comparisons"]["draft"]["same"]) == (0, set(), True)
    counted, original = seen(target, padded, workshop / "padded.log"), short_context[1]
    assert (counted.drafts, counted.proposed, counted.accepted) == (
        original.drafts,
        original.proposed,
        original.accepted,
    )
    assert counted.accepted_when_long > 0


def test_another_tokenizer_of_the_same_size_starts_and_is_not_accepted(
    short_context: tuple[Path, Seen], workshop: Path
) -> None:
    target = demo_models_dir() / "original"
    draft = shuffled(demo_models_dir() / "good", workshop / "shuffled")
    code, told = preflight(target, draft, workshop)
    assert (code, codes(told, "error")) == (0, set())
    assert "different_tokenizer_same_size" in codes(told, "warning")
    counted, same = seen(target, draft, workshop / "shuffled.log"), short_context[1]
    assert counted.accepted / counted.proposed < 0.05 < 0.3 < same.accepted / same.proposed


def test_a_target_without_a_chat_template_is_one_message(workshop: Path) -> None:
    demo = demo_models_dir()
    target = linked(
        demo / "original", workshop / "untold", lambda config: None, "chat_template.jinja", "tokenizer_config.json"
    )
    settings = json.loads((demo / "original" / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    (target / "tokenizer_config.json").write_text(json.dumps(settings))
    code, told = preflight(target, demo / "good", workshop)
    assert code == 2
    (error,) = [notice for notice in told["notices"] if notice["level"] == "error"]
    assert "has no chat template" in error["what"] and "chat_template" in error["next_step"]
