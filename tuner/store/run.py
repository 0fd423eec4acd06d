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

import shlex
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tuner.errors import OutputError
from tuner.records import Json, Trial, TrialRecord, canonical_json, short_hash, slug
from tuner.store.codec import Damaged, StoredRecord, encode_record, encode_samples, seal, sha256
from tuner.store.files import (
    TRIALS,
    BrokenFile,
    is_leftover,
    make_way,
    set_aside,
    sync_directory,
    write_atomic,
)
from tuner.store.lock import RunLock
from tuner.store.reading import (
    LAST_FILE,
    RECORD_FILE,
    RUN_FILE,
    RUN_FORMAT,
    SAMPLES_FILE,
    SUMMARY_FILE,
    read_identity,
    read_record,
    read_summary,
    read_trial,
    same_numbers,
    trial_directories,
    unsealed,
)
from tuner.store.whose import is_another_run


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
        self._told = 0
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

        OutputError if it cannot be written (a full disk, a directory that was moved away).  ValueError if a trial of
        that name is kept already: what was measured is never overwritten.
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

    def newly_broken(self) -> tuple[BrokenFile, ...]:
        """Return what was found damaged since the last call, for whoever tells the user."""
        new = self.broken[self._told :]
        self._told += len(new)
        return new

    def trial_dir(self, name: str) -> Path:
        """Return the directory of a trial, created if need be: the engine's log goes there before the record does."""
        if slug(name) != name:
            raise ValueError(f"{name!r} is not a trial's name")
        directory = self.path / TRIALS / name
        try:
            if not (self.path / RUN_FILE).is_file():
                hint = "Put it back and call the same command again: it goes on. Without it a new sweep begins."
                raise OutputError(f"{self.path} was deleted or moved away while the sweep wrote in it", hint)
            if not directory.is_dir():
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
        self._broken += make_way(self.path)
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
        for name, reason in same_numbers(self._records).items():
            self._set_aside(self.path / TRIALS / name, reason)
            del self._records[name]
        self._check_last()
        self._write_identity(fingerprint, manifest)

    def _check_last(self) -> None:
        """What the sweep began with is read by others, to whom a damaged file is none: it is named here."""
        try:
            unsealed(self.path / LAST_FILE)
        except FileNotFoundError:
            pass
        except Damaged as error:
            self._set_aside(self.path / LAST_FILE, str(error))

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
        if path.parent.name == TRIALS:
            (self.path / SUMMARY_FILE).unlink(missing_ok=True)  # not finished any more
        self._broken.append(set_aside(self.path, path, reason) if path.exists() else BrokenFile(path, reason))


def _command(manifest: Mapping[str, Json]) -> str:
    words = manifest.get("repeat_with")
    return shlex.join(map(str, words)) if isinstance(words, list | tuple) else ""


def _open_if_ours(path: Path, fingerprint: Mapping[str, Json], manifest: Mapping[str, Json]) -> RunStore | None:
    if is_another_run(path, fingerprint):
        return None
    lock = RunLock.acquire(path, _command(manifest))
    try:
        # Asked again under the lock: another sweep may have made this its own in the meantime.
        if not is_another_run(path, fingerprint):
            return RunStore(path, lock, fingerprint, manifest)
    except BaseException:
        lock.release()
        raise
    lock.release()
    return None


def _unwritable(path: Path, error: OSError) -> OutputError:
    hint = "Free space or fix permissions, then call the same command again: what is measured is kept."
    return OutputError(f"cannot use {error.filename or path}: {error.strerror or error}", hint)
