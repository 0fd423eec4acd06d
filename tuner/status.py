"""Where a sweep is, for whoever asks from another terminal.

The driver writes what it shows into the run directory now and then; records stay the truth, and nothing reads this
file but people and scripts that watch.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.errors import OutputError
from tuner.progress import Progress, SweepView
from tuner.records import Json, TrialRecord
from tuner.store.codec import Damaged
from tuner.store.files import replace_quickly
from tuner.store.lock import HOLDER_FILE, holder
from tuner.store.reading import RUN_FILE, STATUS_FILE, read_summary, trial_directories

if TYPE_CHECKING:
    from pydantic import TypeAdapter

EVERY_S = 1.0
SILENT_S = 30.0
"""A driver on another host that wrote nothing for so long is not known to live."""


class State(StrEnum):
    """What a run is at.  FINISHING: nothing runs or waits any more, the answer is being written."""

    STARTING = "starting"
    MEASURING = "measuring"
    FINISHING = "finishing"
    FINISHED = "finished"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Written:
    """What a driver last wrote.  pid, host: of it.  written_s: seconds since 1970.  earlier: trials before it began."""

    pid: int
    host: str
    written_s: float
    progress: Progress
    earlier: int = 0


@dataclass(frozen=True)
class Status:
    """Where a run is.

    alive: whether its driver lives, None where that cannot be told from here.  changed_s: seconds since it last wrote.
    progress: as it last wrote it, None where it never did; of the last session alone.  earlier: trials that were there
    when that began.  trials: measured in all sessions, failed ones included.  verdict: "" unless finished.
    pid, host: of the driver, None where nobody holds the run.
    """

    run: Path
    state: State
    alive: bool | None
    trials: int
    progress: Progress | None = None
    changed_s: float | None = None
    earlier: int = 0
    verdict: str = ""
    pid: int | None = None
    host: str | None = None


class KeepingStatus:
    """A view that passes everything on and keeps the last state in the run directory, at most once a second.

    A file system that refuses it is no reason to stop: the records will meet it, and say so.
    """

    def __init__(self, view: SweepView, run: Path, earlier: int = 0, every_s: float = EVERY_S) -> None:
        """earlier: trials that the run held before this session."""
        self._view = view
        self._earlier = earlier
        self._path = run / STATUS_FILE
        self._every_s = every_s
        self._last_s: float | None = None

    def message(self, text: str) -> None:
        """Pass it on."""
        self._view.message(text)

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Pass it on; the next state is kept at once."""
        self._last_s = None
        self._view.trial_done(record, words)

    def update(self, progress: Progress) -> None:
        """Pass it on, and keep it where the last one is old enough."""
        self._view.update(progress)
        now_s = time.monotonic()
        busy = any(worker.trial for worker in progress.workers)
        if self._last_s is not None and busy and now_s - self._last_s < self._every_s:
            return
        self._last_s = now_s
        written = Written(os.getpid(), socket.gethostname(), time.time(), progress, self._earlier)
        with suppress(OSError):
            replace_quickly(self._path, json.dumps(asdict(written)).encode())


def read_status(run: Path, *, now_s: float | None = None) -> Status:
    """Return where `run` is.  now_s: seconds since 1970, the present if None.

    Raises OutputError where it is no run and nobody is making it one.
    """
    found, written, now_s = holder(run), _written(run), time.time() if now_s is None else now_s
    if found is None and not (run / RUN_FILE).is_file():
        raise OutputError(f"{run} is not a run of tuner: it has no {RUN_FILE}", "Give the directory of a sweep.")
    if written is not None and found is not None and (written.pid, written.host) != found:
        written = None  # of an earlier session: what it says of workers is over
    changed_s = None if written is None else max(0.0, now_s - written.written_s)
    alive = _alive(run, found, changed_s)
    verdict = _verdict(run)
    return Status(
        run=run,
        state=_state(written, holds=found is not None and alive is not False, finished=bool(verdict)),
        alive=alive,
        trials=sum(1 for _ in trial_directories(run)),
        progress=None if written is None else written.progress,
        changed_s=changed_s,
        earlier=0 if written is None else written.earlier,
        verdict=verdict,
        pid=found[0] if found else None,
        host=found[1] if found else None,
    )


def status_json(status: Status) -> dict[str, Json]:
    """Return it for scripts."""
    told: dict[str, Json] = json.loads(json.dumps(asdict(replace(status, run=Path())), default=str))
    return {**told, "run": str(status.run)}


def _state(written: Written | None, *, holds: bool, finished: bool) -> State:
    if not holds:
        return State.FINISHED if finished else State.STOPPED
    if written is None:
        return State.STARTING
    progress = written.progress
    waits = progress.done < progress.planned or any(worker.trial for worker in progress.workers)
    return State.MEASURING if waits else State.FINISHING


def _alive(run: Path, found: tuple[int, str] | None, changed_s: float | None) -> bool | None:
    """Return whether the driver lives: by its process on this host, by what it wrote on another."""
    if found is None:
        return False
    pid, host = found
    if host != socket.gethostname():
        return True if changed_s is not None and changed_s < SILENT_S else None
    import psutil

    try:
        began_s = psutil.Process(pid).create_time()
        held_s = (run / HOLDER_FILE).stat().st_mtime
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False
    except psutil.AccessDenied:
        return True
    return began_s <= held_s + 1  # a process that began after the file was written has only the same number


@cache
def _adapter() -> TypeAdapter[Written]:
    from pydantic import TypeAdapter

    return TypeAdapter(Written)


def _written(run: Path) -> Written | None:
    """Return what a driver last wrote, None where there is nothing or it cannot be used."""
    try:
        return _adapter().validate_json((run / STATUS_FILE).read_bytes())
    except (OSError, ValueError):
        return None


def _verdict(run: Path) -> str:
    try:
        summary = read_summary(run)
    except (OSError, Damaged):
        return ""
    return str(summary.get("verdict", "")) if summary else ""
