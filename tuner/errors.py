"""Every error that this package raises on purpose.

TunerError
├── InputError          what the user gave cannot be used                               exit code 2
│   ├── SpaceError          the search-space file
│   ├── EvalSetError        an eval set
│   ├── ModelError          a model directory or hub id
│   ├── EngineNotFound      no usable vLLM behind --engine
│   ├── ArtifactError       a best_config.yaml
│   ├── ToleranceError      a file of tolerances
│   └── OutputError         the output directory
├── EngineError         an engine did not do what it was started for (one failed trial)
│   ├── EngineCrashed       its process ended
│   ├── EngineTimeout       not ready within the limit
│   ├── EngineStuck         not ready, and silent for longer than the limit
│   ├── WrongServer         something else answered on the port
│   ├── EngineRefused       it answered a probe request with an error
│   ├── SpeculationInactive speculation was asked for and is not running
│   └── MeasurementInvalid  counters or requests contradict each other
├── PoolError           the workers cannot do the work (no GPU fits, all were lost)     exit code 3
│   └── WorkerGone          one worker cannot be had any more; the others go on
└── NothingMeasured     the sweep ended without a usable baseline                       exit code 3

Each message names the thing and each error carries the next step, so that whoever prints it prints both.

Two commands answer a question with their exit code: `tuner check` 0 it holds, 1 it is stale; `tuner compare` 0 the same
or better, 1 worse, 4 cannot tell.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_BAD_INPUT = 2
EXIT_WORSE = 1
EXIT_NOTHING_MEASURED = 3
EXIT_CANNOT_TELL = 4
EXIT_INTERRUPTED = 130


class TunerError(Exception):
    """Base of all expected errors.

    message: what happened, naming the thing.  next_step: what the user can do about it ("" if nothing).
    """

    exit_code = 1

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message}\n{self.next_step}" if self.next_step else self.message

    def __reduce__(self) -> tuple[type[TunerError], tuple[object, ...]]:
        # Ray carries exceptions between processes by pickle, which would call __init__ with one argument.
        return (type(self), (self.message, self.next_step))


class InputError(TunerError):
    """What the user gave cannot be used; found before any engine starts."""

    exit_code = EXIT_BAD_INPUT


class SpaceError(InputError):
    """The search-space file is wrong."""


class EvalSetError(InputError):
    """An eval set is missing, empty or malformed."""


class ModelError(InputError):
    """A model directory or hub id cannot be served."""


class EngineNotFound(InputError):
    """No usable vLLM behind --engine."""


class ArtifactError(InputError):
    """A best_config.yaml cannot be read: no artifact, newer than this tuner, or with a wrong field."""


class ToleranceError(InputError):
    """A file of tolerances is wrong."""


class OutputError(InputError):
    """The output directory cannot be used."""


class EngineError(TunerError):
    """An engine did not do what it was started for: one failed trial, not a failed sweep."""


class EngineCrashed(EngineError):
    """The engine's process ended before it should.  code: its exit code, negative for a signal, None if not known."""

    def __init__(self, message: str, next_step: str = "", code: int | None = None) -> None:
        super().__init__(message, next_step)
        self.code = code

    def __reduce__(self) -> tuple[type[TunerError], tuple[object, ...]]:
        return (type(self), (self.message, self.next_step, self.code))


class EngineTimeout(EngineError):
    """The engine was not ready within the limit although it was making progress."""


class EngineStuck(EngineError):
    """The engine was not ready and its log was silent for longer than the limit."""


class WrongServer(EngineError):
    """Something that is not our engine answered on the port."""


class EngineRefused(EngineError):
    """The engine answered a probe request with an error."""


class SpeculationInactive(EngineError):
    """Speculation was asked for and the engine's counters show none."""


class MeasurementInvalid(EngineError):
    """Counters or requests contradict each other; the figures would not mean anything."""


class PoolError(TunerError):
    """The workers cannot do the work."""

    exit_code = EXIT_NOTHING_MEASURED


class WorkerGone(PoolError):
    """One worker is lost, and none can take its place; the others go on."""


class NothingMeasured(TunerError):
    """The sweep ended without a usable baseline."""

    exit_code = EXIT_NOTHING_MEASURED
