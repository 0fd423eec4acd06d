"""Reading a run directory: what is whole is used, what is broken is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import NothingMeasured, OutputError
from tuner.records import Json, Trial, TrialRecord, canonical_json
from tuner.store.codec import Damaged, StoredRecord, check_fingerprint, decode_record, decode_samples, sha256, unseal
from tuner.store.files import TRIALS, BrokenFile

RUN_FILE = "run.json"
SUMMARY_FILE = "summary.json"
LAST_FILE = "last_sweep.json"
STATUS_FILE = ".status.json"
RECORD_FILE = "record.json"
SAMPLES_FILE = "samples.parquet"
RUN_FORMAT = 1
_WHAT_TO_GIVE = "Give the directory of a sweep."
_READABLE = "Give yourself the right to read it: chmod -R u+rX RUN, or call tuner as the user who measured."


@dataclass(frozen=True)
class Manifest:
    """What a run directory says about itself.

    fingerprint, details: as given to RunStore.open.  summary: as given to RunStore.finish, None if it did not finish.
    broken: files that were left out when the run was read.
    """

    path: Path
    fingerprint: Mapping[str, Json]
    details: Mapping[str, Json]
    summary: Mapping[str, Json] | None = None
    broken: tuple[BrokenFile, ...] = ()

    @contextmanager
    def naming_broken(self) -> Iterator[None]:
        """Let what cannot be concluded from the run say what was left out of it."""
        try:
            yield
        except NothingMeasured as error:
            if not self.broken:
                raise
            left_out = "; ".join(map(str, self.broken))
            raise NothingMeasured(f"{error.message} Left out: {left_out}", error.next_step) from error


def read_run(path: Path) -> tuple[Manifest, tuple[Trial, ...]]:
    """Return a run's manifest and its whole trials, in the order of their numbers; nothing on disk is changed.

    OutputError if the directory is no run or it or its run.json cannot be read.  Any other broken file is left out and
    named in `Manifest.broken`.
    """
    try:
        fingerprint, details = read_identity(path)
        directories = tuple(trial_directories(path))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise OutputError(f"{path} is not a run of tuner: it has no {RUN_FILE}", _WHAT_TO_GIVE) from error
    except Damaged as error:
        raise unusable(path, str(error)) from error
    except OSError as error:
        raise OutputError(f"{error.filename or path} cannot be read: {error.strerror or error}", _READABLE) from error
    broken: list[BrokenFile] = []
    found: dict[str, Trial] = {}
    for directory in directories:
        try:
            found[directory.name] = read_trial(directory)
        except (Damaged, OSError) as error:
            broken.append(BrokenFile(directory, str(error)))
    doubled = same_numbers({name: trial.record for name, trial in found.items()})
    broken += [BrokenFile(path / TRIALS / name, reason) for name, reason in doubled.items()]
    trials = [trial for name, trial in found.items() if name not in doubled]
    summary = None
    try:
        summary = read_summary(path)
    except (Damaged, OSError) as error:
        broken.append(BrokenFile(path / SUMMARY_FILE, str(error)))
    return Manifest(path, fingerprint, details, summary, tuple(broken)), tuple(sorted(trials, key=_number))


def unusable(path: Path, why: str) -> OutputError:
    """Return the error that says that the run.json of a run says nothing of use."""
    hint = "Start the same sweep with this output directory again: it restores the file and keeps the trials."
    return OutputError(f"{path / RUN_FILE} cannot be used: {why}", hint)


def _number(trial: Trial) -> int:
    return trial.record.number


def same_numbers(records: Mapping[str, TrialRecord]) -> dict[str, str]:
    """Return the trials whose number another has, by name, each with the reason; the one that began first keeps it.

    A sweep gives each number once: two of one number come from directories that were copied together.
    """
    first: dict[int, str] = {}
    order = sorted(records, key=lambda name: (records[name].started_at, name))
    return {
        name: f"{RECORD_FILE}: its number {records[name].number} is that of {first[records[name].number]} too"
        for name in order
        if first.setdefault(records[name].number, name) != name
    }


def read_identity(path: Path) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return fingerprint and details from run.json.  Damaged if they cannot be read; FileNotFoundError if missing."""
    body = unsealed(path / RUN_FILE)
    fingerprint, details = body.get("fingerprint"), body.get("manifest")
    if body.get("format") != RUN_FORMAT or not isinstance(fingerprint, dict) or not isinstance(details, dict):
        raise Damaged(f"it is not a run of format {RUN_FORMAT}")
    check_fingerprint(fingerprint)
    return fingerprint, details


def read_summary(path: Path) -> dict[str, Json] | None:
    """Return what the run finished with, None if it did not.  Damaged if that cannot be read."""
    try:
        summary = unsealed(path / SUMMARY_FILE).get("summary")
    except FileNotFoundError:
        return None
    if not isinstance(summary, dict):
        raise Damaged("it is no summary")
    return summary


def unsealed(path: Path) -> dict[str, Json]:
    """Return the content of a file that `seal` made.  Damaged if it is not what was written."""
    return unseal(_content(path))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except IsADirectoryError as error:
        raise Damaged("it is a directory where a file belongs") from error


def trial_directories(path: Path) -> Iterator[Path]:
    """Yield the directories of saved trials (those with a record), sorted by name."""
    trials = path / TRIALS
    if trials.is_dir():
        yield from (entry for entry in sorted(trials.iterdir()) if (entry / RECORD_FILE).exists())


def read_record(directory: Path) -> StoredRecord:
    """Return one trial's record after checking that its samples are those it was saved with.

    Damaged if either file is missing or not what was written.
    """
    return _checked(directory)[0]


def read_trial(directory: Path) -> Trial:
    """Return one whole trial.  Damaged as for `read_record`."""
    stored, samples = _checked(directory)
    try:
        return Trial(stored.record, decode_samples(samples))
    except Damaged as error:  # written so, as by a newer tuner
        raise Damaged(f"{SAMPLES_FILE}: {error}") from error


def _checked(directory: Path) -> tuple[StoredRecord, bytes]:
    # Other OSErrors (no file descriptor left, no permission) say nothing about the file: they are not damage.
    try:
        stored = decode_record(_content(directory / RECORD_FILE))
    except FileNotFoundError as error:
        raise Damaged(f"{RECORD_FILE}: it is missing") from error
    except Damaged as error:
        raise Damaged(f"{RECORD_FILE}: {error}") from error
    try:
        samples = _content(directory / SAMPLES_FILE)
    except FileNotFoundError as error:
        raise Damaged(f"{SAMPLES_FILE}: it is missing") from error
    except Damaged as error:
        raise Damaged(f"{SAMPLES_FILE}: {error}") from error
    if sha256(samples) != stored.samples_sha256:
        raise Damaged(f"{SAMPLES_FILE}: its content does not match the checksum in {RECORD_FILE}")
    if stored.record.name != directory.name:
        raise Damaged(f"{RECORD_FILE}: it belongs to {stored.record.name}")
    return stored, samples


def same_fingerprint(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Whether two fingerprints are equal as JSON (a tuple is a list, the order of keys does not count)."""
    return canonical_json(one) == canonical_json(other)
