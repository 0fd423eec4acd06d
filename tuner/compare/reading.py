"""From what a user writes - an artifact, a run directory, a registry entry, a target - to a sweep to be compared."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tuner.compare.from_artifact import side_of
from tuner.compare.from_records import with_records
from tuner.compare.sides import Side
from tuner.errors import ArtifactError
from tuner.records import Trial
from tuner.registry import locate
from tuner.registry.shelf import Shelf
from tuner.store.codec import Damaged, decode_record, decode_samples, sha256
from tuner.store.files import TRIALS
from tuner.store.reading import RECORD_FILE, RUN_FILE, SAMPLES_FILE


@dataclass(frozen=True)
class Read:
    """A sweep.  trials, broken: records beside the artifact, and those that could not be used, each with the reason."""

    side: Side
    trials: tuple[Trial, ...] = ()
    broken: tuple[str, ...] = ()


def read_side(ref: str, registry: str) -> Read:
    """Return the sweep that `ref` names: see tuner.registry.locate; with its records where they lie beside it.

    Raises ArtifactError where there is no artifact or it cannot be read, OutputError where a registry is out of reach.
    """
    located = locate(ref, registry)
    if not located.config.answers:
        raise ArtifactError(f"{located.where} has no answer", "Write it again from its run: tuner report RUN.")
    directory, slash, _ = located.where.rpartition("/")
    trials, broken = read_trials(Shelf(directory if slash else "."))
    return Read(with_records(side_of(located.where, located.config), trials), tuple(trials), tuple(broken))


def read_trials(shelf: Shelf) -> tuple[list[Trial], list[str]]:
    """Return the trials beside an artifact, in order, and what is wrong with others.

    None where the directory is no run and no entry of one.  A trial whose samples were not kept has none; broken
    samples are left out with their trial.
    """
    trials: list[Trial] = []
    broken: list[str] = []
    if not _has_run(shelf):
        return trials, broken
    for name in shelf.names(TRIALS):
        path = f"{TRIALS}/{name}"
        try:
            stored = decode_record(shelf.read(f"{path}/{RECORD_FILE}"))
            samples = _samples(shelf, path)
            if samples and sha256(samples) != stored.samples_sha256:
                raise Damaged(f"{SAMPLES_FILE} is not what was written")
            trials.append(Trial(stored.record, decode_samples(samples) if samples else ()))
        except FileNotFoundError:
            continue  # a trial that was not finished has no record
        except Damaged as error:
            broken.append(f"{shelf.where(path)}: {error}")
    return sorted(trials, key=lambda trial: trial.record.number), broken


def _has_run(shelf: Shelf) -> bool:
    try:
        shelf.read(RUN_FILE)
    except FileNotFoundError:
        return False
    except Damaged:
        return True  # its trials are whole or not, each by itself
    return True


def _samples(shelf: Shelf, path: str) -> bytes:
    with suppress(FileNotFoundError):
        return shelf.read(f"{path}/{SAMPLES_FILE}")
    return b""
