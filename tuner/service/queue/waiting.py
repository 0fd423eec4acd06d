"""The queue: one file a sweep, changed whole or not at all, so that a server that ends anyhow finds it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, RLock
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from tuner.errors import OutputError
from tuner.service.allowed import Order
from tuner.service.problems import Refused, not_found
from tuner.service.queue.sweeps import ENDS, Outcome, Sweep, SweepState, new_id
from tuner.store.files import set_aside, write_atomic
from tuner.store.lock import HOLDER_FILE

MOST_WAITING = 20
SWEEPS, RUNS, LOCK = "sweeps", "runs", ".serve.lock"


class Waiting:
    """Sweeps by id.  Every method may be called from any thread.

    changed: set when something was added or cancelled, for who works on it.
    """

    def __init__(self, root: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Open the queue in a directory.  OutputError where it cannot be written or another server has it."""
        self.root = root.absolute()
        self.changed = Event()
        self.set_aside: list[str] = []
        self._now = now
        self._guard = RLock()
        try:
            (self.root / SWEEPS).mkdir(parents=True, exist_ok=True)
            (self.root / RUNS).mkdir(exist_ok=True)
            self._lock = FileLock(self.root / LOCK, thread_local=False)
            self._lock.acquire(blocking=False)
            self._sweeps = {sweep.id: sweep for sweep in sorted(self._read(), key=lambda one: one.asked_at)}
        except Timeout as error:
            raise OutputError(f"another `tuner serve` uses {self.root}", "Stop it, or give another --state.") from error
        except OSError as error:
            raise OutputError(f"{self.root} cannot be used: {error}", "Give another --state.") from error

    def close(self) -> None:
        """Let another server have it."""
        self._lock.release()

    def _read(self) -> list[Sweep]:
        found = []
        for file in sorted((self.root / SWEEPS).glob("*.json")):
            try:
                sweep = Sweep.model_validate_json(file.read_bytes())
                if sweep.id != file.stem:
                    raise ValueError("it belongs to another sweep")
            except (ValidationError, ValueError) as error:
                self.set_aside.append(str(set_aside(self.root, file, str(error))))
                continue
            found.append(sweep)
        return found

    # ---- reading

    def newest_first(self) -> tuple[Sweep, ...]:
        """Return all sweeps."""
        with self._guard:
            return tuple(reversed(self._sweeps.values()))

    def get(self, sweep_id: str) -> Sweep:
        """Return one sweep.  Refused, 404, where there is none."""
        with self._guard:
            if sweep_id not in self._sweeps:
                raise not_found("sweep", "/v1/sweeps")
            return self._sweeps[sweep_id]

    def counts(self) -> Mapping[SweepState, int]:
        """Return how many there are in each state."""
        with self._guard:
            return Counter(sweep.state for sweep in self._sweeps.values())

    def next(self) -> Sweep | None:
        """Return what to work on: what ran when the last server ended, then the one that waits longest."""
        with self._guard:
            for state in (SweepState.RUNNING, SweepState.QUEUED):
                found = next((one for one in self._sweeps.values() if one.state is state), None)
                if found is not None:
                    return found
        return None

    def run_directory(self, sweep: Sweep) -> Path:
        """Return where it measures: as it said in the end; until then the one that is held, or that was asked for."""
        runs = self.root / RUNS
        if sweep.outcome and sweep.outcome.directory:
            return runs / sweep.outcome.directory
        held = (path for path in sorted(runs.glob(f"{sweep.run}*")) if (path / HOLDER_FILE).is_file())
        return next(held, runs / sweep.run)

    def has_its_run(self, sweep: Sweep) -> bool:
        """Whether no later sweep went on in the run directory of this one."""
        with self._guard:
            return [one.id for one in self._sweeps.values() if one.run == sweep.run][-1] == sweep.id

    # ---- changing

    def add(self, order: Order, asked_by: str) -> tuple[Sweep, bool]:
        """Queue a sweep; return it, and whether it is new: the same order that waits or runs is not queued twice.

        One that was cancelled or failed is gone on with in its run directory.  Refused, 429, where the queue is full.
        """
        with self._guard:
            alike = [one for one in self._sweeps.values() if one.order == order]
            waiting = next((one for one in alike if one.state not in ENDS and not one.cancelled_by), None)
            if waiting is not None:
                return waiting, False
            if self.counts()[SweepState.QUEUED] >= MOST_WAITING:
                detail = f"{MOST_WAITING} sweeps are waiting already."
                raise Refused(429, "queue-full", detail, "Wait for one to end, or cancel one.", {"Retry-After": "600"})
            now = self._now()
            new = new_id(now)
            begun = alike[-1].run if alike and alike[-1].state is not SweepState.DONE else new
            sweep = Sweep(id=new, order=order, run=begun, asked_by=asked_by, asked_at=now)
            self._keep(sweep)
        self.changed.set()
        return sweep, True

    def cancel(self, sweep_id: str, by: str) -> Sweep:
        """Ask for a sweep's end; one that waits has ended then.  Refused: 404, and 409 for one that has ended."""
        with self._guard:
            sweep = self.get(sweep_id)
            if sweep.state in ENDS:
                raise Refused(409, "ended-already", f"The sweep is {sweep.state} already.")
            if sweep.state is SweepState.QUEUED:
                sweep = self.change(sweep_id, state=SweepState.CANCELLED, ended_at=self._now(), cancelled_by=by)
            elif not sweep.cancelled_by:
                sweep = self.change(sweep_id, cancelled_by=by)
        self.changed.set()
        return sweep

    def started(self, sweep_id: str, pid: int | None, began_s: float | None) -> None:
        """Note that it runs.  pid, began_s: of its process on this machine."""
        sweep = self.get(sweep_id)
        at = sweep.started_at or self._now()
        self.change(sweep_id, state=SweepState.RUNNING, started_at=at, pid=pid, began_s=began_s)

    def put_back(self, sweep_id: str) -> None:
        """Note that it waits again: the server ended, not the sweep."""
        self.change(sweep_id, state=SweepState.QUEUED, pid=None, began_s=None)

    def ended(self, sweep_id: str, state: SweepState, outcome: Outcome) -> None:
        """Note its end."""
        changes = {"state": state, "ended_at": self._now(), "outcome": outcome, "pid": None, "began_s": None}
        self.change(sweep_id, **changes)

    def change(self, sweep_id: str, **fields: Any) -> Sweep:
        """Change fields of a sweep, on the disk first; return it."""
        with self._guard:
            sweep = Sweep.model_validate({**dict(self.get(sweep_id)), **fields})
            self._keep(sweep)
            return sweep

    def _keep(self, sweep: Sweep) -> None:
        text = sweep.model_dump_json(indent=1).encode() + b"\n"
        try:
            write_atomic(self.root / SWEEPS / f"{sweep.id}.json", text)
        except OSError as error:
            raise OutputError(
                f"the queue cannot be written: {error.strerror}", "Look after the server's disk."
            ) from error
        self._sweeps[sweep.id] = sweep
