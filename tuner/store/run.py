"""The one writer of a run directory.

OUT/run.json                        fingerprint and manifest: what makes this directory a run
OUT/trials/NAME/samples.parquet     one row per request, written first
OUT/trials/NAME/record.json         written last: its existence means that the trial is done
OUT/summary.json                    the run is finished
OUT/quarantine/                     what was found broken, each with its reason
OUT/.lock, OUT/.holder.json         who writes here now
OUT/.status.json                    what the driver last showed, for `tuner status`; no truth, and not always there
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tuner.errors import OutputError
from tuner.records import Json, Trial, TrialRecord, canonical_json, short_hash, slug
from tuner.store.codec import Damaged, StoredRecord, encode_record, encode_samples, seal, sha256
from tuner.store.files import QUARANTINE, BrokenFile, is_leftover, set_aside, sync_directory, write_atomic
from tuner.store.lock import HOLDER_FILE, LOCK_FILE, RunLock
from tuner.store.reading import (
    RECORD_FILE,
    RUN_FILE,
    RUN_FORMAT,
    SAMPLES_FILE,
    STATUS_FILE,
    SUMMARY_FILE,
    TRIALS,
    read_identity,
    read_record,
    read_summary,
    read_trial,
    same_fingerprint,
    trial_directories,
)

_OURS = frozenset({LOCK_FILE, HOLDER_FILE, STATUS_FILE, QUARANTINE, TRIALS})


class RunStore:
    """One run on disk, open for writing by this process alone.

    path: the run directory.  earlier_manifest: what it had before this opening, None for a new run.
    """

    def __init__(
        self, path: Path, lock: RunLock, fingerprint: Mapping[str, Json], manifest: Mapping[str, Json]
    ) -> None:
        self.path = path
        self.earlier_manifest: Mapping[str, Json] | None = None
        self._lock = lock
        self._run = short_hash(fingerprint)
        self._broken: list[BrokenFile] = []
        self._records: dict[str, TrialRecord] = {}
        self._load(fingerprint, manifest)

    @staticmethod
    def open(out: Path, fingerprint: Mapping[str, Json], manifest: Mapping[str, Json]) -> RunStore:
        """Create the run `out`, or resume it if it has the same fingerprint.

        A run with another fingerprint is left alone: this one then lives beside it in "OUT-<hash of the fingerprint>".
        The manifest replaces that of an earlier opening.  OutputError: `out` holds something that is no run, cannot be
        written, or is being written by another sweep.
        """
        out = out.absolute()
        try:
            for path in (out, out.with_name(f"{out.name}-{short_hash(fingerprint)}")):
                store = _open_if_ours(path, fingerprint, manifest)
                if store is not None:
                    return store
        except OSError as error:
            raise _unwritable(out, error) from error
        raise OutputError(f"{out} and the directory beside it are other runs", "Give another output directory.")

    def save(self, trial: Trial) -> Path:
        """Keep a finished trial and return its directory.  A crash at any moment leaves the whole trial or none.

        OutputError if it cannot be written (a full disk).  ValueError if a trial of that name is kept already: what
        was measured is never overwritten.
        """
        record = trial.record
        if record.name in self._records:
            raise ValueError(f"trial {record.name} is saved already")
        samples = encode_samples(trial.samples)
        data = encode_record(StoredRecord(record, self._run, sha256(samples)))
        directory = self.trial_dir(record.name)
        try:
            (self.path / SUMMARY_FILE).unlink(missing_ok=True)
            write_atomic(directory / SAMPLES_FILE, samples)
            write_atomic(directory / RECORD_FILE, data)
        except OSError as error:
            raise _unwritable(directory, error) from error
        self._records[record.name] = record
        return directory

    def trials(self) -> tuple[Trial, ...]:
        """Return all whole trials with their samples, in the order of their numbers; read from disk at each call."""
        trials = []
        for record in self.records():
            directory = self.path / TRIALS / record.name
            try:
                trials.append(read_trial(directory))
            except Damaged as error:
                self._set_aside(directory, str(error))
                del self._records[record.name]
            except OSError as error:
                raise OutputError(f"cannot read {directory}: {error.strerror or error}") from error
        return tuple(trials)

    def records(self) -> tuple[TrialRecord, ...]:
        """Return the records of all whole trials, in the order of their numbers."""
        return tuple(sorted(self._records.values(), key=lambda record: record.number))

    @property
    def broken(self) -> tuple[BrokenFile, ...]:
        """What was found damaged since this run was opened, and where it was moved."""
        return tuple(self._broken)

    def trial_dir(self, name: str) -> Path:
        """Return the directory of a trial, created if need be: the engine's log goes there before the record does."""
        if slug(name) != name:
            raise ValueError(f"{name!r} is not a trial's name")
        directory = self.path / TRIALS / name
        if not directory.is_dir():
            try:
                directory.mkdir(parents=True)
                sync_directory(directory.parent)
            except OSError as error:
                raise _unwritable(directory, error) from error
        return directory

    def write_text(self, name: str, text: str) -> Path:
        """Write a file of the run (UTF-8), whole or not at all.  OutputError if it cannot be written."""
        path = self.path / name
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise ValueError(f"{name!r} is outside the run directory")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise _unwritable(path, error) from error
        return path

    def finish(self, summary: Mapping[str, Json]) -> None:
        """Mark the run as finished.  Saving another trial takes the mark away."""
        self.write_text(SUMMARY_FILE, seal({"summary": dict(summary)}).decode())

    @property
    def finished(self) -> bool:
        """Whether `finish` was called and no trial was saved since."""
        return self.summary is not None

    @property
    def summary(self) -> Mapping[str, Json] | None:
        """What `finish` was given, None while the run is not finished."""
        try:
            return read_summary(self.path)
        except Damaged as error:
            self._set_aside(self.path / SUMMARY_FILE, str(error))
            return None

    def close(self) -> None:
        """Let another sweep write here.  Safe to call twice."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _load(self, fingerprint: Mapping[str, Json], manifest: Mapping[str, Json]) -> None:
        self._remove_leftovers()
        for directory in trial_directories(self.path):
            try:
                stored = read_record(directory)
            except Damaged as error:
                self._set_aside(directory, str(error))
                continue
            if stored.run != self._run:
                self._set_aside(directory, f"{RECORD_FILE}: it belongs to another run ({stored.run})")
                continue
            self._records[directory.name] = stored.record
        self._write_identity(fingerprint, manifest)

    def _write_identity(self, fingerprint: Mapping[str, Json], manifest: Mapping[str, Json]) -> None:
        path = self.path / RUN_FILE
        try:
            self.earlier_manifest = read_identity(self.path)[1]
        except FileNotFoundError:
            pass
        except Damaged as error:
            self._set_aside(path, str(error))
        if self.earlier_manifest is None or canonical_json(self.earlier_manifest) != canonical_json(manifest):
            write_atomic(
                path, seal({"format": RUN_FORMAT, "fingerprint": dict(fingerprint), "manifest": dict(manifest)})
            )

    def _remove_leftovers(self) -> None:
        trials = self.path / TRIALS
        directories = [self.path, *(trials.iterdir() if trials.is_dir() else ())]
        for directory in filter(Path.is_dir, directories):
            for entry in filter(is_leftover, list(directory.iterdir())):
                entry.unlink()
            if not (directory / RECORD_FILE).exists():
                (directory / SAMPLES_FILE).unlink(missing_ok=True)

    def _set_aside(self, path: Path, reason: str) -> None:
        self._broken.append(set_aside(self.path, path, reason) if path.exists() else BrokenFile(path, reason))


def _open_if_ours(path: Path, fingerprint: Mapping[str, Json], manifest: Mapping[str, Json]) -> RunStore | None:
    if _is_another_run(path, fingerprint):
        return None
    lock = RunLock.acquire(path)
    try:
        # Asked again under the lock: another sweep may have made this its own in the meantime.
        if not _is_another_run(path, fingerprint):
            return RunStore(path, lock, fingerprint, manifest)
    except BaseException:
        lock.release()
        raise
    lock.release()
    return None


def _is_another_run(path: Path, fingerprint: Mapping[str, Json]) -> bool:
    """Whether `path` is a run of another fingerprint.  OutputError if it is something else than a run."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file, not a directory", "Give another output directory.")
    if not path.is_dir():
        return False
    try:
        return not same_fingerprint(read_identity(path)[0], fingerprint)
    except FileNotFoundError:
        _require_only_ours(path)
        return False
    except Damaged as error:
        # The records say whose run it was: each carries the hash of the fingerprint.
        owners = _owners(path)
        if owners - {short_hash(fingerprint)}:
            hint = "Restore the file, or give another output directory."
            raise OutputError(
                f"{path / RUN_FILE} cannot be used: {error}; its trials are another sweep's", hint
            ) from error
        return False


def _owners(path: Path) -> set[str]:
    owners = set()
    for directory in trial_directories(path):
        try:
            owners.add(read_record(directory).run)
        except Damaged:
            continue
    return owners


def _require_only_ours(path: Path) -> None:
    foreign = sorted(entry.name for entry in path.iterdir() if entry.name not in _OURS and not is_leftover(entry))
    if foreign or any(trial_directories(path)):
        found = foreign[0] if foreign else TRIALS
        raise OutputError(
            f"{path} is not empty and no run of tuner: it holds {found} and no {RUN_FILE}",
            "Give a new or empty output directory.",
        )


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot use {path}: {error.strerror or error}", "Free space or permissions, or give another OUT."
    )
