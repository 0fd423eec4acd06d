"""vLLM releases: one row for each that changed something the tuner depends on.

Read from the releases themselves (0.8.5 to 0.33.0). A version newer than the last row uses the last row and says so;
whoever starts the engine then has its own answers (`--help`, /version) to go by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tuner.errors import EngineNotFound

Release = tuple[int, int, int]


@dataclass(frozen=True)
class EngineVersion:
    """What holds from `release` until the next row.

    gpu_memory_utilization: the engine's own default.  nested_config: a --config file may hold speculative-config as a
    mapping (a JSON string works in all).  runner: the general default model runner on a GPU (without Triton, as in the
    CPU build, an engine falls back to v1).  help_flag: what makes the engine list all its flags.  key_names_cache: its
    compile cache is named by VLLM_API_KEY, too (`compile_factors` in vllm/envs.py).  known: False if the version asked
    for is newer than the table.
    """

    release: str
    changed: str
    gpu_memory_utilization: float = 0.9
    nested_config: bool = False
    runner: str = "v1"
    help_flag: str = "--help"
    key_names_cache: bool = False
    known: bool = True


_FIRST = EngineVersion("0.8.5", "speculation is one JSON value, --speculative-config", runner="v0")


def _rows() -> tuple[EngineVersion, ...]:
    """Each row is the one before it with one thing changed."""
    rows = [_FIRST]

    def then(release: str, changed: str, **what: float | bool | str) -> None:
        rows.append(replace(rows[-1], release=release, changed=changed, **what))  # type: ignore[arg-type]

    then("0.9.0", "speculative_token_tree added")
    then("0.10.0", "draft_model raises NotImplementedError; typical acceptance sampling removed", runner="v1")
    then("0.11.0", "method mtp replaces the methods named after models; --help=all", help_flag="--help=all")
    then("0.11.1", "method suffix added; speculative option disable_logprobs removed")
    then("0.12.0", "VLLM_API_KEY became part of the compile cache's name", key_names_cache=True)
    then("0.15.0", "draft_model is back")
    then("0.16.0", "a nested speculative-config works in a --config file; parallel_drafting added", nested_config=True)
    then("0.17.0", "disable_by_batch_size removed; use_local_argmax_reduction, draft_load_config added")
    then("0.18.0", "method ngram_gpu and rejection_sample_method added")
    then("0.19.0", "rejection_sample_method synthetic and draft moe_backend added")
    then(
        "0.20.0",
        "method dflash added; CPU builds speculate; default gpu_memory_utilization 0.9 became 0.92",
        gpu_memory_utilization=0.92,
    )
    then("0.21.0", "rejection_sample_method strict and probabilistic became standard; draft_sample_method added")
    then(
        "0.22.0",
        "method custom_class and the flags --spec-method, --spec-model, --spec-tokens added; "
        "draft_sample_method gumbel became probabilistic",
    )
    then("0.24.0", "num_speculative_tokens_per_batch_size added (K schedule)")
    then("0.25.0", "method dspark, use_heterogeneous_vocab and rejection_sample_method block added")
    then("0.26.0", "draft kv_cache_dtype added")
    then("0.28.0", "dspark options enable_adaptive_verification and dspark_draft_topk added")
    then(
        "0.29.0",
        "the V2 model runner is the general default; VLLM_API_KEY left the compile cache's name",
        runner="v2",
        key_names_cache=False,
    )
    then("0.30.0", "disable_eagle_block_drop added")
    then("0.33.0", "medusa and mlp_speculator removed; lossy rejection_sample_method fly added")
    return tuple(rows)


VERSIONS: tuple[EngineVersion, ...] = _rows()


def parse_release(version: str) -> Release | None:
    """Return major, minor, patch of "0.12.0.post2" or "0.33.0+sim"; None for what is no release number."""
    match = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version.strip())
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def release(version: str) -> Release:
    """Return the release to compare with.  A source build without a usable number counts as newer than all."""
    parsed = parse_release(version)
    if parsed is None or (parsed < _of(_FIRST) and "dev" in version):
        return (10**6, 0, 0)
    return parsed


def version_row(version: str) -> EngineVersion:
    """Return what holds for `version`; for a newer one than the table knows its last row, with `known` False.

    Raises EngineNotFound for a release before 0.8.5, whose flags are other ones.
    """
    wanted = release(version)
    if wanted < _of(_FIRST):
        message = f"vLLM {version} is older than {_FIRST.release}, the first release that the tuner can drive."
        raise EngineNotFound(message, "Install a newer vLLM, or name another engine with --engine.")
    row = [row for row in VERSIONS if _of(row) <= wanted][-1]
    return replace(row, known=wanted[:2] <= _of(VERSIONS[-1])[:2])


def _of(row: EngineVersion) -> Release:
    return parse_release(row.release) or (0, 0, 0)
