"""The one thread that takes sweeps from the queue and sees each through to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread

from tuner.errors import OutputError, PoolError
from tuner.service.problems import Refused
from tuner.service.queue.runner import Ended, Runner, outcome
from tuner.service.queue.sweeps import Outcome, Sweep, SweepState
from tuner.service.queue.waiting import Waiting

POLL_S = 0.5
ENDING_TOO_S = 15.0
"""Whoever tells a sweep to end may tell this server too (a machine that shuts down), which answers requests first."""
AGAIN_S = 10.0
"""Until what could not be reached is asked again."""


class Working:
    """One sweep at a time, whatever it runs on: two would disturb each other's measurements, and one uses every GPU."""

    def __init__(
        self,
        sweeps: Waiting,
        runner: Runner,
        arguments: Callable[[Sweep], tuple[str, ...]],
        log: Callable[..., None],
    ) -> None:
        """arguments: of `tuner`, for a sweep; Refused where the allow-list has its names no more.

        log: called with the name of an event and facts.
        """
        self._sweeps = sweeps
        self._runner = runner
        self._arguments = arguments
        self._log = log
        self._ending = Event()
        self._thread = Thread(target=self._work, name="sweeps", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it works."""
        return self._thread.is_alive()

    def stop(self, within_s: float) -> bool:
        """End: a sweep that would not outlive the server is told to stop, and waits in the queue for the next one.

        Return whether it ended within `within_s`; a process that did not is taken over by the next server.
        """
        self._ending.set()
        self._sweeps.changed.set()
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            self._sweeps.changed.clear()
            if self._ending.is_set():
                return
            sweep = self._sweeps.next()
            if sweep is None:
                self._sweeps.changed.wait()
                continue
            try:
                self._see_through(sweep)
            except Refused as refused:
                problem = refused.problem
                failed = Outcome(error=problem.detail, next_step=problem.next_step)
                self._sweeps.ended(sweep.id, SweepState.FAILED, failed)
            except (PoolError, OutputError) as error:
                self._log("sweep not reached", id=sweep.id, error=error.message)
                self._ending.wait(AGAIN_S)

    def _see_through(self, sweep: Sweep) -> None:
        taken_over = sweep.state is SweepState.RUNNING and self._runner.adopt(sweep)
        if sweep.cancelled_by and not taken_over:
            self._sweeps.ended(sweep.id, SweepState.CANCELLED, Outcome())
            return
        if not taken_over:
            sweep = self._sweeps.change(sweep.id, attempt=sweep.attempt + 1)
            self._sweeps.started(sweep.id, *self._runner.start(sweep, self._arguments(sweep)))
        self._log("sweep taken over" if taken_over else "sweep started", id=sweep.id, attempt=sweep.attempt)
        ended = self._wait(sweep.id)
        if ended is not None:
            self._note(sweep.id, ended)

    def _wait(self, sweep_id: str) -> Ended | None:
        """Return how it ended; None where it goes on without this server."""
        told_s = time.monotonic() - AGAIN_S
        while (ended := self._runner.ended()) is None:
            if self._ending.is_set() and self._runner.outlives:
                return None
            to_end = self._ending.is_set() or bool(self._sweeps.get(sweep_id).cancelled_by)
            if to_end and time.monotonic() - told_s >= AGAIN_S:
                self._runner.interrupt()
                told_s = time.monotonic()
            self._sweeps.changed.clear()
            self._sweeps.changed.wait(POLL_S)
        return ended

    def _note(self, sweep_id: str, ended: Ended) -> None:
        cancelled = bool(self._sweeps.get(sweep_id).cancelled_by)
        if cancelled and ended.interrupted:
            self._sweeps.ended(sweep_id, SweepState.CANCELLED, Outcome(exit_code=ended.code))
        elif ended.code is None or (ended.interrupted and self._ending.wait(ENDING_TOO_S)):
            self._sweeps.put_back(sweep_id)  # the same command goes on, or finds that all is measured
        else:
            found = outcome(ended)
            self._sweeps.ended(sweep_id, SweepState.FAILED if found.error else SweepState.DONE, found)
        self._log("sweep ended", id=sweep_id, state=self._sweeps.get(sweep_id).state, exit_code=ended.code)
