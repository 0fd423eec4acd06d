"""Which of the profile's faults concern this engine life, and which of its requests."""

from __future__ import annotations

import logging
import os
import sys
import time
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
        "hang_at_start",
        "hang",
        "ignore_term",
        "counters_backwards",
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


def _engine_core_says(line: str) -> None:
    # A real engine core is a process of its own and has its own prefix.
    stamp = time.strftime("%m-%d %H:%M:%S")
    sys.stdout.write(f"(EngineCore pid={os.getpid()}) ERROR {stamp} [core.py:1] {line}\n")
