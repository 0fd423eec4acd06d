"""What is examined, and what several checks read: each of it is read once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tuner.doctor.facts import EngineFacts, Gpus
from tuner.doctor.gather import engine, gpus
from tuner.errors import TunerError

QUICK_S = 8.0

T = TypeVar("T")


class Once(Generic[T]):
    """A value that is read when it is first asked for, by one thread; the others wait for it. Errors are kept too."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._value: tuple[T] | None = None
        self._error: TunerError | None = None

    def __call__(self) -> T:
        """Return the value. Raises the TunerError that reading it raised."""
        with self._lock:
            if self._value is None and self._error is None:
                try:
                    self._value = (self._read(),)
                except TunerError as error:
                    self._error = error
        if self._value is None:
            assert self._error is not None
            raise self._error
        return self._value[0]


@dataclass(frozen=True)
class Examined:
    """What is examined.

    out: the run directory, or one that holds some.  deep: also start Ray and import vLLM.  variables: the environment.
    engine_spec: what --engine says.  engine, gpus: its packages and this machine's GPUs; the first may raise
    EngineNotFound or ScriptFailed.
    """

    out: Path
    deep: bool
    variables: Mapping[str, str]
    engine_spec: str | None
    engine: Callable[[], EngineFacts]
    gpus: Callable[[], Gpus]


def this_machine(engine_spec: str | None, out: Path | None, *, deep: bool) -> Examined:
    """Return this machine as it is, with defaults for what was not named."""
    return Examined(
        out=out or Path("runs"),
        deep=deep,
        variables=dict(os.environ),
        engine_spec=engine_spec,
        engine=Once(lambda: engine.engine_facts(engine_spec, QUICK_S)),
        gpus=Once(gpus.gpus),
    )
