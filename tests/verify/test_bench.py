"""The other client's command line and its result file; its run is `make verify-client`."""

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.verify.bench import Bench, BenchFailed, bench_command, bench_reading, prompt_text, sendable
from tests.verify.shims import named_vllm
from tuner.engine.client import Endpoint, Request
from tuner.engine.resolve import Engine
from tuner.records import Prompt, Sampling

CHAT = Prompt("p1", "chat", messages=({"role": "user", "content": "Hello"},))
TEXT = Prompt("p2", "chat", prompt="Once upon a time")
SYSTEM = Prompt("p3", "chat", messages=({"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}))
# As written by vLLM 0.32.0, shortened.
RESULT: dict[str, Any] = {
    "completed": 6,
    "failed": 0,
    "output_throughput": 9.5,
    "median_ttft_ms": 120.0,
    "median_tpot_ms": 101.5,
    "median_e2el_ms": 2500.0,
    "spec_decode_acceptance_rate": 82.5,
    "spec_decode_acceptance_length": 3.475,
}


def command(prompt: Prompt) -> list[str]:
    bench = Bench(Engine("vllm", "/e/bin/python", "0.32.0", "cpu"), "/models/target", Path("/scratch"), {})
    endpoint = Endpoint("http://127.0.0.1:20001", "verify-1", "secret-key")
    request = Request(0, prompt, 24, Sampling(), True, "salt", 0)
    return bench_command(bench, endpoint, [request] * 6, concurrency=4, warmups=5)


def value_of(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def test_it_sends_what_the_tuner_sends() -> None:
    words = command(CHAT)
    assert words[:5] == ["/e/bin/python", "-m", "vllm.entrypoints.cli.main", "bench", "serve"]
    assert value_of(words, "--backend") == "openai-chat"
    assert value_of(words, "--endpoint") == "/v1/chat/completions"
    assert value_of(words, "--served-model-name") == "verify-1"
    assert (value_of(words, "--max-concurrency"), value_of(words, "--num-prompts")) == ("4", "6")
    assert (value_of(words, "--custom-output-len"), value_of(words, "--request-rate")) == ("24", "inf")
    assert float(value_of(words, "--temperature")) == 0
    assert json.loads(value_of(words, "--extra-body")) == {"top_p": 1.0, "top_k": -1, "seed": 0}
    assert {"--ignore-eos", "--disable-shuffle", "--skip-chat-template", "--no-oversample"} <= set(words)
    assert not any("secret-key" in word for word in words)


def test_plain_prompts_go_to_completions() -> None:
    words = command(TEXT)
    assert (value_of(words, "--backend"), value_of(words, "--endpoint")) == ("openai", "/v1/completions")


def test_what_it_can_send() -> None:
    assert [sendable(prompt) for prompt in (CHAT, TEXT, SYSTEM)] == [True, True, False]
    assert [prompt_text(prompt) for prompt in (CHAT, TEXT)] == ["Hello", "Once upon a time"]


def test_its_result_in_our_units() -> None:
    assert bench_reading(RESULT, 6) == {
        "ttft_s": 0.12,
        "tpot_s": 0.1015,
        "e2e_s": 2.5,
        "throughput_tok_s": 9.5,
        "acceptance_rate": 0.825,
        "acceptance_length": 3.475,
    }
    without = {name: value for name, value in RESULT.items() if not name.startswith("spec")}
    assert bench_reading(without, 6)["acceptance_rate"] is None
    with pytest.raises(BenchFailed, match="6 of 7"):
        bench_reading(RESULT, 7)


@pytest.mark.parametrize(("version", "found"), [("0.32.0", "0.32.0+cpu"), ("0.32.0+cpu", "0.32.0+cpu")])
def test_the_cpu_build_is_found_under_vllms_name(tmp_path: Path, version: str, found: str) -> None:
    assert named_vllm(tmp_path, version) == {"PYTHONPATH": str(tmp_path)}
    (distribution,) = metadata.distributions(path=[str(tmp_path)])
    assert (distribution.metadata["Name"], distribution.version) == ("vllm", found)
