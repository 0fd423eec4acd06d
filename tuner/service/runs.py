"""Sweeps as the service shows them: the queue's own, and runs that somebody started otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tuner.errors import OutputError
from tuner.page.pages import PAGE
from tuner.service.documents import Progress, Shown, SweepDocument, Worker
from tuner.service.problems import Refused, not_found
from tuner.service.queue.sweeps import Sweep
from tuner.service.queue.waiting import Waiting
from tuner.status import State, Status, read_status
from tuner.store.reading import RUN_FILE

OTHER = "run-"
"""What ids of runs that the queue did not start begin with."""
_PATTERNS = (f"*/{RUN_FILE}", f"*/*/{RUN_FILE}")
_MOST_OTHERS = 100
_STATES = {State.FINISHED: Shown.DONE, State.STOPPED: Shown.STOPPED}


@dataclass(frozen=True)
class Runs:
    """root: below which `tuner sweep` puts its runs where it is not told otherwise."""

    waiting: Waiting
    root: Path

    def listed(self, most: int) -> tuple[SweepDocument, ...]:
        """Return sweeps of the queue, newest first, then other runs, newest first; at most so many of each."""
        own = [self._own(sweep) for sweep in self.waiting.newest_first()[:most]]
        others = [_other(path, status) for path, status in self._others(min(most, _MOST_OTHERS))]
        return (*own, *others)

    def get(self, sweep_id: str) -> SweepDocument:
        """Return one.  Refused, 404, where there is none."""
        if not sweep_id.startswith(OTHER):
            return self._own(self.waiting.get(sweep_id))
        return _other(*self._found(sweep_id))

    def report(self, sweep_id: str) -> bytes:
        """Return the page of its run.  Refused, 404, where there is none."""
        own = not sweep_id.startswith(OTHER)
        run = self._run(self.waiting.get(sweep_id)) if own else self._found(sweep_id)[0]
        if run is None:
            raise not_found("report", "/v1/sweeps")
        try:
            return (run / PAGE).read_bytes()
        except OSError as error:
            raise not_found("report", "/v1/sweeps") from error

    def check_cancellable(self, sweep_id: str) -> None:
        """Refused, 409, for a run that this server did not start."""
        if sweep_id.startswith(OTHER):
            self._found(sweep_id)
            detail = "This run was not started by this server."
            raise Refused(409, "not-ours", detail, "End it where it was started, with Ctrl-C.")

    def _run(self, sweep: Sweep) -> Path | None:
        """Return a sweep's run directory, None where it is a later sweep's by now."""
        return self.waiting.run_directory(sweep) if self.waiting.has_its_run(sweep) else None

    def _own(self, sweep: Sweep) -> SweepDocument:
        run = self._run(sweep)
        order = sweep.order
        named = (order.target, order.space, order.engine, *([order.eval_set] if order.eval_set else []))
        return SweepDocument(
            id=sweep.id,
            state=Shown(sweep.state.value),
            stopping=sweep.state.value == Shown.RUNNING and bool(sweep.cancelled_by),
            name=", ".join(named),
            order=order,
            asked_by=sweep.asked_by,
            asked_at=sweep.asked_at,
            started_at=sweep.started_at,
            ended_at=sweep.ended_at,
            outcome=sweep.outcome,
            progress=_progress_of(run) if run else None,
            report=run is not None and (run / PAGE).is_file(),
        )

    def _others(self, most: int) -> Iterator[tuple[Path, Status]]:
        found = (file.absolute() for pattern in _PATTERNS for file in self.root.glob(pattern))
        files = [file for file in found if not file.is_relative_to(self.waiting.root)]
        for file in sorted(files, key=_modified_s, reverse=True)[:most]:
            try:
                yield file.parent, read_status(file.parent)
            except OutputError:
                continue

    def _found(self, sweep_id: str) -> tuple[Path, Status]:
        found = next((one for one in self._others(_MOST_OTHERS) if _other_id(one[0]) == sweep_id), None)
        if found is None:
            raise not_found("sweep", "/v1/sweeps")
        return found


def _modified_s(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0  # removed since it was listed


def _other(path: Path, status: Status) -> SweepDocument:
    return SweepDocument(
        id=_other_id(path),
        state=_STATES.get(status.state, Shown.RUNNING),
        name=f"{path.parent.name}/{path.name}",
        progress=_progress(status),
        report=(path / PAGE).is_file(),
    )


def _other_id(path: Path) -> str:
    return OTHER + hashlib.sha256(str(path.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _progress_of(run: Path) -> Progress | None:
    try:
        return _progress(read_status(run))
    except OutputError:
        return None


def _progress(status: Status) -> Progress:
    found = status.progress if status.alive is not False else None
    if found is None:
        return Progress(state=status.state.value, trials=status.trials, verdict=status.verdict)
    return Progress(
        state=status.state.value,
        trials=status.trials,
        done=found.done,
        planned=found.planned,
        failed=found.failed,
        left_s=found.left_s,
        left_between_s=found.left_between_s,
        best=found.best,
        verdict=status.verdict,
        workers=tuple(Worker(**asdict(worker)) for worker in found.workers),
    )
