"""Which of the profile's faults concern this engine life, and which of its requests."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from tuner.engine.sim.draws import generator
from tuner.engine.sim.model import name_matches
from tuner.engine.sim.profile import Fault, FaultKind, Profile
from tuner.records import Speculation

_PER_LIFE: frozenset[FaultKind] = frozenset(
    {
        "crash_at_start",
        "crash",
        "out_of_memory",
        "memory_growth",
        "memory_until_lowered",
        "hang_at_start",
        "silent_port",
        "port_taken",
        "unhealthy",
        "unauthorized",
        "hang",
        "ignore_term",
        "stubborn_child",
        "daemonizes",
        "metrics_missing",
        "metrics_garbage",
        "counters_backwards",
        "counters_contradict",
        "speculation_off",
        "wrong_model_name",
        "log_flood",
    }
)
log = logging.getLogger(__name__)


def _concerns(fault: Fault, speculation: Speculation | None) -> bool:
    k = speculation.num_speculative_tokens if speculation else 0
    name = (speculation.draft or speculation.method) if speculation else "none"
    return name_matches(fault.draft, name) and fault.k_min <= k and (fault.k_max is None or k <= fault.k_max)


@dataclass(frozen=True)
class Faults:
    """The faults of one engine life."""

    active: tuple[Fault, ...]
    seed: int
    life: str

    def of_life(self, kind: FaultKind) -> Fault | None:
        """Return the fault of this kind that this life has, if any."""
        return next((fault for fault in self.active if fault.kind == kind), None)

    def all_of_life(self, kind: FaultKind) -> tuple[Fault, ...]:
        """Return the faults of this kind that this life has, in the profile's order."""
        return tuple(fault for fault in self.active if fault.kind == kind)

    def of_request(self, kind: FaultKind, number: int) -> Fault | None:
        """Return the fault of this kind that the number-th request (from 0) of this life meets, if any."""
        for fault in self.active:
            if fault.kind == kind and number >= fault.after_requests:
                draw = generator(self.seed, kind, self.life, number).random()
                return fault if draw < fault.rate else None
        return None


def faults_of(profile: Profile, speculation: Speculation | None, life: str) -> Faults:
    """Return the faults that concern a candidate in one engine life; `life` tells lives apart."""
    active = []
    for i, fault in enumerate(profile.faults):
        drawn = fault.kind not in _PER_LIFE or generator(profile.seed, "fault", i, life).random() < fault.rate
        if drawn and _concerns(fault, speculation):
            active.append(fault)
    return Faults(tuple(active), profile.seed, life)


def die(fault: Fault, message: str | None = None) -> NoReturn:
    """End the process as the fault says, with the cause and then vLLM's less helpful last words in the log."""
    for line in (
        "EngineCore encountered a fatal error.",
        "Traceback (most recent call last):",
        *(message or fault.message).splitlines(),
    ):
        _engine_core_says(line)
    log.error("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
    sys.stdout.flush()
    if fault.exit_code < 0:
        os.kill(os.getpid(), -fault.exit_code)
    os._exit(fault.exit_code % 256)


_DEVICE_GIB = 80.0
_TOO_MUCH: Mapping[str, str] = {
    "gpu_memory_utilization": (
        "ValueError: Free memory on device cuda:0 ({free:.2f}/{total:.2f} GiB) on startup is less than desired GPU "
        "memory utilization ({asked:g}, {wanted:.2f} GiB). Decrease GPU memory utilization or reduce GPU memory used "
        "by other processes."
    ),
    "max_model_len": (
        "ValueError: To serve at least one request with the model's max seq len ({asked:.0f}), (4.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (1.0 GiB). Based on the available memory, the "
        "estimated maximum model length is {at_most:.0f}. Try increasing `gpu_memory_utilization` or decreasing "
        "`max_model_len` when initializing the engine."
    ),
    "max_num_seqs": (
        "RuntimeError: CUDA out of memory occurred when warming up sampler with {asked:.0f} dummy requests. Please try "
        "lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine."
    ),
}
"""What vLLM says of an argument that asks for too much memory."""


def memory_message(fault: Fault, arguments: Mapping[str, float]) -> str | None:
    """Return what an engine with these arguments dies of; None where its argument is low enough."""
    asked = arguments[fault.argument]
    if asked <= fault.at_most:
        return None
    # A share that leaves a margin below what is free is then at_most or less.
    free, wanted = _DEVICE_GIB * (fault.at_most + 0.01), _DEVICE_GIB * asked
    return _TOO_MUCH[fault.argument].format(
        asked=asked, at_most=fault.at_most, free=free, total=_DEVICE_GIB, wanted=wanted
    )


def _engine_core_says(line: str) -> None:
    # A real engine core is a process of its own and has its own prefix.
    stamp = time.strftime("%m-%d %H:%M:%S")
    sys.stdout.write(f"(EngineCore pid={os.getpid()}) ERROR {stamp} [core.py:1] {line}\n")
