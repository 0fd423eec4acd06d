"""The command line of vLLM's API server, as far as it matters here; unknown flags end with exit code 2."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tuner.records import Json, Speculation

# Accepted and without effect on the simulation, as they have no cost model here.
# fmt: off
_IGNORED_VALUES = (
    "dtype", "tokenizer", "tokenizer-mode", "revision", "tokenizer-revision", "quantization", "kv-cache-dtype",
    "load-format", "download-dir", "generation-config", "override-generation-config", "config-format", "seed",
    "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "distributed-executor-backend",
    "block-size", "max-num-batched-tokens", "cpu-offload-gb", "kv-cache-memory-bytes", "num-gpu-blocks-override",
    "attention-backend", "compilation-config", "reasoning-parser", "max-logprobs", "scheduling-policy",
    "per-request-spec-decode-metrics", "hf-overrides", "limit-mm-per-prompt", "prefix-caching-hash-algo",
    "cudagraph-capture-sizes", "max-cudagraph-capture-size", "optimization-level", "additional-config",
    "moe-backend", "numa-bind", "chat-template",
    "chat-template-content-format", "tool-call-parser", "uvicorn-log-level", "root-path",
)
_SWITCHES = (
    "enforce-eager", "enable-prefix-caching", "enable-chunked-prefill", "trust-remote-code", "disable-log-stats",
    "async-scheduling", "enable-log-requests", "disable-cascade-attn", "disable-sliding-window",
    "enable-expert-parallel", "language-model-only", "enable-sleep-mode", "disable-custom-all-reduce",
    "skip-tokenizer-init", "enable-flashinfer-autotune",
    "enable-auto-tool-choice", "disable-uvicorn-access-log",
)
# fmt: on
_METHODS = ("draft_model", "ngram", "ngram_gpu", "eagle", "eagle3", "mtp", "dflash", "dspark", "suffix")
_WITHOUT_MODEL = ("ngram", "ngram_gpu", "suffix", "mtp")


class SpeculativeConfig(BaseModel):
    """vLLM's --speculative-config; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")

    method: str | None = None
    model: str | None = None
    num_speculative_tokens: int | None = Field(None, gt=0)
    num_speculative_tokens_per_batch_size: list[tuple[int, int, int]] | None = None
    prompt_lookup_min: int | None = Field(None, ge=1)
    prompt_lookup_max: int | None = Field(None, ge=1)
    draft_tensor_parallel_size: int | None = Field(None, ge=1)
    max_model_len: int | None = Field(None, ge=1)
    quantization: str | None = None
    revision: str | None = None
    rejection_sample_method: Literal["standard", "block"] | None = None
    draft_sample_method: Literal["greedy", "probabilistic"] | None = None
    use_heterogeneous_vocab: bool | None = None
    parallel_drafting: bool | None = None
    disable_padded_drafter_batch: bool | None = None
    attention_backend: str | None = None
    suffix_decoding_max_tree_depth: int | None = None
    suffix_decoding_max_cached_requests: int | None = None
    suffix_decoding_max_spec_factor: float | None = None
    suffix_decoding_min_token_prob: float | None = None

    @model_validator(mode="after")
    def _complete(self) -> SpeculativeConfig:
        method = self.method or ("draft_model" if self.model else "ngram")
        if method not in _METHODS:
            raise ValueError(f"Unsupported speculative method: '{method}'")
        if self.model is None and method not in _WITHOUT_MODEL:
            raise ValueError("num_speculative_tokens was provided but without speculative model.")
        if self.num_speculative_tokens is None and method != "suffix":
            raise ValueError("A speculative model was provided, but `num_speculative_tokens` was not provided")
        low, high = self.prompt_lookup_min, self.prompt_lookup_max
        if low and high and low > high:
            raise ValueError(f"prompt_lookup_min={low} must be <= prompt_lookup_max={high}")
        return self

    def speculation(self) -> Speculation:
        """Return the same as the tuner's record of it."""
        method = self.method or ("draft_model" if self.model else "ngram")
        options: dict[str, Json] = self.model_dump(
            exclude_none=True, exclude={"method", "model", "num_speculative_tokens"}, mode="json"
        )
        return Speculation(method, self.num_speculative_tokens or 24, self.model or method, self.model, options)


@dataclass(frozen=True)
class Arguments:
    """What the command line says.  Values that were not given are None."""

    model: str
    host: str
    port: int
    served_name: str
    api_key: str
    speculative_config: str | None
    max_model_len: int | None
    max_num_seqs: int | None
    gpu_memory_utilization: float | None
    profile: str | None
    prefix_caching: bool
    log_stats: bool
    async_scheduling: bool | None = None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="api_server.py", allow_abbrev=False, description="Simulated vLLM server.")
    parser.add_argument("--model", default="simulated/target")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--served-model-name", nargs="+")
    parser.add_argument("--api-key", default=os.environ.get("VLLM_API_KEY", ""))
    parser.add_argument("--speculative-config", "-sc")
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--max-num-seqs", type=int)
    parser.add_argument("--gpu-memory-utilization", type=float)
    parser.add_argument("--config", help="YAML file of flags; the command line wins")
    parser.add_argument("--sim-profile", help="profile of the simulation: a YAML file or a preset's name")
    for name in _IGNORED_VALUES:
        parser.add_argument(f"--{name}", nargs="*")
    for name in _SWITCHES:
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction)
    return parser


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Read the command line, and the file that --config names. Wrong flags end the process with exit code 2."""
    parser = _parser()
    given = [_with_hyphens(word) for word in argv]
    first, _ = parser.parse_known_args(given)
    if first.config:
        given = [*_flags_of_file(parser, first.config), *given]
    options = parser.parse_args(given)
    return Arguments(
        model=options.model,
        host=options.host,
        port=options.port,
        served_name=(options.served_model_name or [options.model])[0],
        api_key=options.api_key,
        speculative_config=options.speculative_config,
        max_model_len=options.max_model_len,
        max_num_seqs=options.max_num_seqs,
        gpu_memory_utilization=options.gpu_memory_utilization,
        profile=options.sim_profile,
        prefix_caching=options.enable_prefix_caching is not False,
        log_stats=not options.disable_log_stats,
        async_scheduling=options.async_scheduling,
    )


def _with_hyphens(word: str) -> str:
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value if word.startswith("--") else word


def _flags_of_file(parser: argparse.ArgumentParser, path: str) -> list[str]:
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        parser.error(f"cannot read --config {path}: {error}")
    if not isinstance(content, dict):
        parser.error(f"--config {path} is not a mapping")
    return [word for key, value in content.items() for word in _flag(str(key), value)]


def _flag(key: str, value: Any) -> list[str]:
    name = "--" + key.replace("_", "-")
    if isinstance(value, bool):
        # vLLM drops a false value without a word.
        return [name] if value else []
    if isinstance(value, list):
        return [name, *map(str, value)]
    return [name, json.dumps(value) if isinstance(value, dict) else str(value)]


def parse_speculation(text: str | None) -> Speculation | None:
    """Return what --speculative-config asks for.

    Raises ValueError if it is no JSON, pydantic's ValidationError (a ValueError) if vLLM would refuse it.
    """
    return None if text is None else SpeculativeConfig.model_validate(json.loads(text)).speculation()
