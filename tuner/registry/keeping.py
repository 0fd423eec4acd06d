"""What of a run directory goes into the registry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from tuner.errors import OutputError
from tuner.identity import target_name
from tuner.records import short_hash
from tuner.registry.registry import Registry
from tuner.registry.since import CHANGED_FILE, since_last
from tuner.space.model_refs import settle_model
from tuner.store.codec import sha256
from tuner.store.reading import RECORD_FILE, SAMPLES_FILE, read_identity, trial_directories

# The run's own files by what they end in: artifact and serve files, rules, report, manifest. The study and the lock are
# rebuilt, plots are drawn again from the run.
_ENDINGS = (".yaml", ".yml", ".env", ".md", ".html", ".json")
# What of the manifest an answer depends on beside the records: the same records may answer another question.
_QUESTION = ("load_points", "candidates", "traffic", "goal", "protocol", "inflection_threshold")


def measured_target(target: str) -> str:
    """Return the name under which a target's entries lie.  target: as the user wrote it, here or in a manifest."""
    return target_name(settle_model(target))


def kept_files(run: Path, *, samples: bool) -> tuple[dict[str, bytes], str]:
    """Return the files of a run that are kept, by name, and the hash of its measurements.

    Kept are the files beside the trials (best_config.yaml, serve files, report.html, run.json ...) and each trial's
    record.json: some 10 KB a trial, the page 60 KB to 1 MB. samples: each trial's request samples too, 30 to 800 KB a
    trial, with which an entry is a run directory that `tuner breakeven` reads. Left out are engine logs, plots and the
    study.
    The hash is equal where the same records answer the same question.
    OutputError if a file cannot be read.
    """
    names = [file.name for file in sorted(run.iterdir()) if _is_kept(file)]
    wanted = (RECORD_FILE, SAMPLES_FILE) if samples else (RECORD_FILE,)
    trials = [directory.relative_to(run).as_posix() for directory in trial_directories(run)]
    names += [f"{trial}/{name}" for trial in trials for name in wanted]
    try:
        files = {name: (run / name).read_bytes() for name in names}
    except OSError as error:
        raise OutputError(f"{error.filename} cannot be read: {error.strerror}", "Call the sweep again.") from error
    return files, _measurements(run, files, trials)


def _is_kept(file: Path) -> bool:
    return file.is_file() and file.suffix in _ENDINGS and not file.name.startswith(".")


def _measurements(run: Path, files: Mapping[str, bytes], trials: list[str]) -> str:
    """Return a hash of the records, each of which has the hash of its samples in it, and of what they answer."""
    records = [[trial, sha256(files[f"{trial}/{RECORD_FILE}"])] for trial in trials]
    manifest = read_identity(run)[1]
    return short_hash([records, {name: manifest.get(name) for name in _QUESTION}], 64)


def open_for_keeping(url: str | None, target: str) -> Registry | None:
    """Return the registry that a finished sweep of a target will be kept in, None for none.

    target: as the manifest has it.  OutputError where nothing can be written there: better known before hours of
    measuring than after.
    """
    if url is None:
        return None
    registry = Registry(url)
    registry.check(measured_target(target))
    return registry


def keep_run(registry: Registry, run: Path, target: str, *, samples: bool, now: datetime) -> tuple[str, str]:
    """Keep a finished run; return where, "" if that failed, and what there is to say about it.

    target: as the manifest has it.  A registry that is out of reach by now costs nothing of what was measured: the
    run directory has it, and the same command tries again. The entry says in changed.json what is not as it was in the
    sweep before.
    """
    try:
        files, measurements = kept_files(run, samples=samples)
        name = measured_target(target)
        since = since_last(registry, name, files)
        changed = {CHANGED_FILE: since.encoded()} if since else {}
        entry, is_new = registry.keep(name, {**files, **changed}, measurements, now)
    except OutputError as error:
        return "", f"not kept in the registry: {error.message}. Call the same command again to try again."
    if not is_new:
        return entry.url, f"in the registry already: {entry.url}"
    return entry.url, f"kept in the registry: {entry.url}{f'; {since.words}' if since else ''}"
