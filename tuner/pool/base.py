"""What a pool of workers is, whoever runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tuner.records import WorkerFacts

Report = Callable[[str], None]
Job = Callable[[WorkerFacts, Report], Any]
Result = tuple[int, Any]  # a worker's number, and what its job returned or the TunerError that it ended with


UNWIND_S = 12.0
"""How long a job of a closed pool may take to stop its engine: a second to notice, the engine's grace, and to leave."""


class Abandoned(BaseException):
    """Raised inside a job of a closed pool, so that it unwinds and stops its engine; no `except Exception` holds it."""


class Pool(Protocol):
    """Workers that each run one job at a time.

    A job is called with the facts of its worker and a function that takes the name of the phase it is in.
    """

    notes: list[str]
    """What a person should know about these workers (fewer than wanted, for example); who shows one takes it out."""

    @property
    def workers(self) -> Sequence[WorkerFacts]:
        """All that there are or were; the index is a worker's number. It grows when a node joins."""

    def start(self, worker: int, job: Job) -> None:
        """Start a job; it has to be picklable (a partial of a module's function).  ValueError: the worker is busy."""

    def phases(self) -> Mapping[int, str]:
        """Return the last known phase of each running job.  Does not wait for the workers."""

    def wait(self, timeout_s: float) -> list[Result]:
        """Wait until a job ends, at most `timeout_s`, and return all that ended; [] at once if none is running.

        A TunerError of a job is its result; so is a PoolError if its worker was lost, and the other workers go on. That
        worker may be given its next job; a WorkerGone, which no job came of, says that it may not any more.
        Any other exception of a job is raised, after the results of the others were returned.
        PoolError: none of the workers can be reached any more.
        """

    def close(self) -> None:
        """End all workers, whatever they are doing, their engines first.  Safe to call twice."""
