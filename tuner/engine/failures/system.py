"""Causes that lie in the machine, and those that only the way it ended tells. Pure."""

from __future__ import annotations

import re
import signal
from dataclasses import replace

from tuner.engine.failures.cause import Case, Phase, Row, Told
from tuner.records import FailureKind

_RAY = re.compile(
    r"killed due to the node running low on memory|killed due to memory pressure|"
    r"exceeds the memory usage threshold"
)
_RAY_SIZES = re.compile(r"was (?P<used>\d{1,9}(?:\.\d{1,9})?) ?GB(?: used)? / (?P<total>\d{1,9}(?:\.\d{1,9})?) ?GB")
_HOST = re.compile(
    r"can't allocate memory: you tried to allocate (?P<bytes>\d{1,12}) bytes|Cannot allocate memory|^MemoryError|"
    r"Failed core proc\(s\): \{[^}]*: -9[,}]|^Killed\b|std::bad_alloc",
    re.MULTILINE,
)
_DRIVER = re.compile(
    r"NVIDIA driver on your system is too old|CUDA driver version is insufficient|forward compatibility was attempted|"
    r"no CUDA-capable device|Found no NVIDIA driver|lib(?:cuda|cudart|nvrtc|cublas)[\w-]*\.so[\d.]*: cannot open|"
    r"undefined symbol: \S*cu\w+|Could not find nvcc|CUDA_HOME (?:environment variable )?is not set|"
    r"PTX .*unsupported toolchain|CUDA initialization: "
)
_NCCL = re.compile(r"NCCL error|ncclUnhandledCudaError|DistBackendError|ncclSystemError|ProcessGroupNCCL.*[Tt]imeout")
_PORT = re.compile(
    r"No TCP port of [\d-]+ is free|Address already in use|EADDRINUSE|error while attempting to bind on address"
)
_NOT_STARTED = re.compile(r"The engine could not be started: (?P<why>.*)")
_SUPERVISOR = re.compile(r"The engine's supervisor was ended by someone")
_STAYS = re.compile(r"The engine's processes do not go away although they were killed")
_NOT_RETURNED = re.compile(r"More GPU memory is in use than before the engine.*?\((?P<more>[^)]*)\)")
_STORE = re.compile(r"could not be sent: ")
_DISK = re.compile(r"No space left on device|Disk quota exceeded")
_FAULT = re.compile(
    r"CUDA error: (?P<what>(?!out of memory)[\w ,'-]+)|device-side assert triggered|Segmentation fault|"
    r"Fatal Python error: (?P<fatal>[\w ]+)|illegal memory access"
)
_TOO_LONG = re.compile(
    r"maximum context length is (?P<limit>\d{1,12})|"
    r"longer than the maximum model length of (?P<length>\d{1,12})"
)
_WITH_SPECULATION = re.compile(r"(?P<what>[^.:\n]{0,120}not (?:yet )?supported with speculative decoding)")
_DECLINED = re.compile(r"HTTP [45]\d\d|server error in the stream")
_STATUS = re.compile(r"HTTP (?P<status>[45]\d\d)")


def _ray(match: re.Match[str], case: Case) -> Told:
    sizes = _RAY_SIZES.search(case.errors)
    used = f" at {sizes['used']} of {sizes['total']} GB" if sizes else ""
    return Told(f"Ray's memory monitor ended the engine{used}: the host's memory ran out, not the GPU's.")


def _host(match: re.Match[str], case: Case) -> Told:
    if match["bytes"]:
        return Told(f"The host's memory ran out: {int(match['bytes']) / 2**30:.1f} GiB could not be had.")
    return Told("The system ended a process of the engine: the host's memory ran out, not the GPU's.")


def _not_started(match: re.Match[str], case: Case) -> Told:
    return Told(f"The engine could not be started: {match['why'][:200].rstrip(' .')}.")


def _not_returned(match: re.Match[str], case: Case) -> Told:
    return Told(f"GPU memory is still in use although the engine is gone: {match['more']}.")


def _fault(match: re.Match[str], case: Case) -> Told:
    what = (match["what"] or match["fatal"] or match[0]).strip()
    return Told(f"The engine's own code failed on the device: {what}.")


def _too_long(match: re.Match[str], case: Case) -> Told:
    return Told(f"The engine refuses a prompt: its context is {match['limit'] or match['length']} tokens.")


def _parameter(match: re.Match[str], case: Case) -> Told:
    return Told(f"The engine refuses the requests: {match['what'].strip()}.")


def _refused(match: re.Match[str], case: Case) -> Told:
    status = _STATUS.search(case.ending.said)
    which = f" with HTTP {status['status']}" if status else ""
    return Told(f"The engine answers and declines{which}.")


def _unusable(match: re.Match[str], case: Case) -> Told:
    said = case.ending.said.partition("the first: ")[2] or case.ending.said
    return Told(f"The engine's answers cannot be used: {said[:300].rstrip(' .')}.")


def _killed(match: re.Match[str], case: Case) -> Told:
    when = "while it started" if case.ending.phase is Phase.STARTING else "under load"
    return Told(f"The system killed the engine {when} (SIGKILL), mostly because the host's memory ran out.")


def _by_signal(match: re.Match[str], case: Case) -> Told:
    number = -(case.ending.code or 0)
    known = number in {member.value for member in signal.Signals}
    return Told(f"The engine was ended by {signal.Signals(number).name if known else f'signal {number}'}.")


def _crash(match: re.Match[str], case: Case) -> Told:
    when = "while it started" if case.ending.phase is Phase.STARTING else "under load"
    code = f" with exit code {case.ending.code}" if case.ending.code is not None else ""
    seen = f": {case.cause[:300].rstrip(' .')}" if case.cause else ", and its log does not say why"
    return Told(f"The engine ended {when}{code}{seen}.")


_HOST_ADVICE = (
    "Give the host more memory, use fewer workers (--max-workers) or smaller models; with the CPU build lower "
    "VLLM_CPU_KVCACHE_SPACE and gpu_memory_utilization. dmesg shows what the kernel ended."
)

_PORT_TAKEN = Row(
    "port_taken",
    "Another process has the port.",
    "Run with --retry-failed: each try gets a new port. ss -ltnp shows who listens.",
    _PORT,
)

BY_TEXT = (
    Row(
        "not_started",
        "The engine could not be started.",
        "See that the interpreter of --engine can be executed on that machine.",
        _NOT_STARTED,
        tell=_not_started,
    ),
    Row(
        "supervisor_ended",
        "Somebody ended the engine's supervisor, and the engine went with it.",
        "Run with --retry-failed.",
        _SUPERVISOR,
    ),
    Row(
        "processes_stay",
        "The engine's processes do not go away although they were killed.",
        "They are probably stuck in the GPU's driver: look at dmesg; the device may need a reset.",
        _STAYS,
    ),
    Row(
        "memory_not_returned",
        "GPU memory is still in use although the engine is gone.",
        "nvidia-smi shows whose it is; nothing else may use the GPU. Then run with --retry-failed.",
        _NOT_RETURNED,
        tell=_not_returned,
    ),
    Row(
        "killed_by_ray",
        "Ray's memory monitor ended the engine: the host's memory ran out.",
        _HOST_ADVICE,
        _RAY,
        tell=_ray,
    ),
    Row("host_memory", "The host's memory ran out.", _HOST_ADVICE, _HOST, tell=_host),
    Row(
        "cuda_driver",
        "Driver, CUDA toolkit and the engine's torch do not match.",
        "Install a driver for the CUDA release of the engine's torch, or a torch and vLLM for this driver.",
        _DRIVER,
    ),
    Row(
        "nccl",
        "The GPUs of one engine cannot talk to each other (NCCL).",
        "Set NCCL_DEBUG=INFO under env and look at the log; try disable_custom_all_reduce: true, a larger /dev/shm, or "
        "tensor_parallel_size 1.",
        _NCCL,
    ),
    _PORT_TAKEN,
    Row(
        "object_store_full",
        "A trial's result fits neither Ray's object store on its node nor the disk behind it.",
        "Free space where Ray keeps its files there (/tmp/ray), or start that node with more --object-store-memory.",
        _STORE,
        lambda case: case.ending.kind is FailureKind.WORKER_LOST,
    ),
    Row("disk_full", "A disk is full.", "Free space in the run directory, /tmp, /dev/shm and VLLM_CACHE_ROOT.", _DISK),
    Row(
        "device_fault",
        "The engine's own code failed on the device.",
        "Try enforce_eager: true, another attention_backend or another release.",
        _FAULT,
        tell=_fault,
    ),
    Row(
        "prompt_too_long",
        "A prompt does not fit the engine's context.",
        "Raise max_model_len, or leave the prompt out. A draft with a shorter context may have lowered it.",
        _TOO_LONG,
        tell=_too_long,
    ),
    Row(
        "sampling_not_supported",
        "A sampling parameter does not go together with speculation.",
        "Take it out of the load points.",
        _WITH_SPECULATION,
        lambda case: case.ending.phase is not Phase.STARTING,
        _parameter,
    ),
)

BY_ENDING = (
    replace(_PORT_TAKEN, pattern=None, when=lambda case: case.ending.kind is FailureKind.WRONG_SERVER),
    Row(
        "worker_lost",
        "The worker process was lost, not the engine.",
        "The next call of the same command tries it again. If the host's memory ran out, give it more or use fewer "
        "workers (--max-workers).",
        when=lambda case: case.ending.kind is FailureKind.WORKER_LOST,
    ),
    Row(
        "stuck_starting",
        "The engine stopped making progress while it started.",
        "Look at the end of its log. If such a silence is normal (compiling), raise protocol.stall_timeout_s.",
        when=lambda case: case.ending.kind is FailureKind.STUCK and case.ending.phase is Phase.STARTING,
    ),
    Row(
        "stuck_under_load",
        "The engine accepts requests and does not finish them.",
        "Raise protocol.request_timeout_s if answers are that slow; else look at the end of its log.",
        when=lambda case: case.ending.kind is FailureKind.STUCK,
    ),
    Row(
        "slow_start",
        "The engine was not ready in time, though its log still grew.",
        "Raise protocol.start_timeout_s, or make the start cheaper: enforce_eager: true, a kept VLLM_CACHE_ROOT.",
        when=lambda case: case.ending.kind is FailureKind.TIMEOUT,
    ),
    Row(
        "unusable_answers",
        "The engine's answers cannot be used.",
        "Look at the end of its log, and see that nothing stands between the tuner and the engine.",
        when=lambda case: case.ending.kind is FailureKind.REFUSED and not _DECLINED.search(case.ending.said),
        tell=_unusable,
    ),
    Row(
        "refused",
        "The engine answers and declines.",
        "Its words are in the message: a parameter, the chat template or a prompt that it does not take.",
        when=lambda case: case.ending.kind is FailureKind.REFUSED,
        tell=_refused,
    ),
    Row(
        "killed_by_system",
        "The system killed the engine (SIGKILL).",
        _HOST_ADVICE,
        when=lambda case: case.ending.code == -signal.SIGKILL,
        tell=_killed,
    ),
    Row(
        "ended_by_signal",
        "The engine was ended by a signal.",
        "If nobody sent it, the engine's own code failed: look at the end of its log and at dmesg.",
        when=lambda case: (case.ending.code or 0) < 0,
        tell=_by_signal,
    ),
    Row(
        "engine_crash",
        "The engine ended for another reason.",
        "The first causal line and the end of the log are in the trial's record.",
        tell=_crash,
    ),
)
