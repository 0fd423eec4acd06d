"""From a run directory to its answer: artifact, serve files, plots and a page. Needs no engine and no GPU."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tuner.analysis.findings import findings as analyse
from tuner.analysis.floor import floor_figures
from tuner.artifact import parse_best_config
from tuner.artifact.model import DeviceDetail, Engine, MeasuredOn
from tuner.compare import Comparison
from tuner.errors import OutputError
from tuner.evidence import evidence, unsupported
from tuner.explanation import Explanation, causes, explanation
from tuner.export.artifact import BEST_CONFIG, RunContext, artifact_files, may_be_written
from tuner.hardware import memory_bandwidth
from tuner.page.english import ENGLISH
from tuner.page.given import Given
from tuner.page.pages import pages
from tuner.page.words import Words
from tuner.plots import save_plots
from tuner.records import Figure, Findings, Json, Role, RunManifest, Trial, TrialRecord, without_credentials_json
from tuner.report_page import report_markdown, report_parts
from tuner.report_sections.apart import apart_section
from tuner.report_sections.dragged import dragged_section
from tuner.report_sections.fixed import fixed_section, fixed_warnings
from tuner.report_sections.next_step import NextStep, next_steps
from tuner.report_sections.noise import noise_section
from tuner.space.traffic import by_temperature, not_covered
from tuner.store import Manifest, read_run
from tuner.store.codec import Damaged, decode_manifest, encode_manifest
from tuner.store.files import make_way, write_atomic
from tuner.store.reading import unusable
from tuner.upgrade import kept_last
from tuner.upgrade.against import against_last, against_section
from tuner.upgrade.begun import Begun, begun_section
from tuner.words import unfinished_words

REPORT = "report.md"
PLOTS = "plots"
_BASELINES = frozenset({Role.BASELINE, Role.BASELINE_AGAIN})


@dataclass(frozen=True)
class Report:
    """A run's answer and where it was written.  baselines_again: numbers of the trials that close a session.

    records: of the trials that it rests on, failed ones included.  comparison: with the sweep that it began with, None
    where there is none.
    """

    run: Path
    manifest: RunManifest
    findings: Findings
    baselines_again: frozenset[int]
    explanation: Explanation
    records: tuple[TrialRecord, ...] = ()
    comparison: Comparison | None = None

    @property
    def artifact(self) -> Path:
        """The file that deployment reads."""
        return self.run / BEST_CONFIG


def manifest_json(manifest: RunManifest) -> dict[str, Json]:
    """Return the manifest as the store keeps it: without the credentials of URLs."""
    dumped = without_credentials_json(encode_manifest(manifest))
    assert isinstance(dumped, dict)
    return dumped


def run_manifest(stored: Manifest) -> RunManifest:
    """Return the manifest from how the store keeps it.  OutputError if it is of something else than a sweep."""
    try:
        return decode_manifest(stored.details)
    except Damaged as error:
        raise unusable(stored.path, str(error)) from error


@dataclass(frozen=True)
class Analysed:
    """A run as it is read: what it holds and what follows from that.

    every: all trials.  trials: those that the answer rests on.
    """

    stored: Manifest
    manifest: RunManifest
    every: tuple[Trial, ...]
    trials: tuple[Trial, ...]
    findings: Findings
    explanation: Explanation

    @property
    def records(self) -> tuple[TrialRecord, ...]:
        """Of the trials that the answer rests on, failed ones included."""
        return tuple(trial.record for trial in self.trials)


def analysed(run: Path, *, finished: bool | None = None, unfinished: str = "") -> Analysed:
    """Return what follows from the records of `run`; nothing is written.

    finished, unfinished: as for write_report, which also says what is raised.
    """
    stored, kept = read_run(run)
    manifest = run_manifest(stored)
    with stored.naming_broken():
        known = evidence(kept, manifest)
        trials = known.trials
        records = tuple(trial.record for trial in trials)
        findings = analyse(
            trials,
            manifest.load_points,
            default_gpu_memory_utilization=manifest.default_gpu_memory_utilization,
            threshold=manifest.inflection_threshold,
            undeployable=known.undeployable,
            protocol=manifest.protocol,
            goal=manifest.goal,
            unsupported=unsupported(manifest),
            ks=manifest.draft_ks,
        )
    complete = stored.summary is not None if finished is None else finished
    unfinished = "" if complete else unfinished or unfinished_words((), "")
    findings = replace(
        findings,
        warnings=(*_run_warnings(manifest, stored, unfinished), *fixed_warnings(records), *findings.warnings),
        floor=_floor(findings, manifest, trials),
        traffic=by_temperature(manifest.traffic, manifest.load_points),
        finished=complete,
    )
    explained = explanation(trials, kept, manifest.load_points, manifest.protocol, manifest.engine_version)
    findings = replace(findings, diagnoses=causes(explained, findings, trials, manifest.target, manifest.notices))
    return Analysed(stored, manifest, kept, trials, findings, explained)


def write_report(
    run: Path,
    *,
    finished: bool | None = None,
    unfinished: str = "",
    left: Sequence[str] = (),
    begun: Begun | None = None,
    words: Words = ENGLISH,
) -> Report:
    """Analyse the records of `run` and write everything that follows from them into it.

    finished: whether all was measured that was asked for, None to see for ourselves.  unfinished: why it is not, in
    words, "" where that is not known.  left: candidates that were not measured and why, in words.  begun: how a search
    went that knew the last sweep.  words: of the pages' language.
    Raises OutputError when `run` is no run of ours or cannot be written, NothingMeasured when no baseline succeeded.
    """
    found = analysed(run, finished=finished, unfinished=unfinished)
    stored, kept, manifest, trials = found.stored, found.every, found.manifest, found.trials
    explained, records = found.explanation, found.records
    try:
        findings = replace(found.findings, warnings=(*map(str, make_way(run)), *found.findings.warnings))
        plots = save_plots(findings, run / PLOTS, subtitle=subtitle(manifest, trials))
        files = artifact_files(findings, _context(manifest, stored, trials))
        compared = _against_last(run, files[BEST_CONFIG], kept) if findings.finished else None
        told = [
            *against_section(compared),
            *begun_section(begun),
            *fixed_section(records),
            *left_section(left),
            *explanation_sections(explained, manifest),
        ]
        steps = next_steps(findings, manifest, run)
        pictures = [plot.relative_to(run) for plot in plots] if words is ENGLISH else None
        files[REPORT] = words.told_document(report_markdown(manifest, findings, trials, pictures, told, steps))
        files |= pages(_given(replace(found, findings=findings), told, files, steps, words))
        for name, text in files.items():
            write_atomic(run / name, text.encode())
        for path in run.glob("*.yaml"):
            if path.name not in files and may_be_written(path.name):
                path.unlink()
    except OSError as error:
        message = f"the report cannot be written: {error.filename or run}: {error.strerror or error}"
        hint = f"Free space or fix permissions, then: {shlex.join(('tuner', 'report', str(run)))}"
        raise OutputError(message, hint) from error
    again = frozenset(trial.record.number for trial in trials if trial.record.role is Role.BASELINE_AGAIN)
    return Report(run, manifest, findings, again, explained, records, compared)


def _given(
    found: Analysed, told: Sequence[str], files: Mapping[str, str], steps: Sequence[NextStep], words: Words
) -> Given:
    """Return what the HTML page is made of.  told: lines of Markdown on causes.  files: what deployment reads."""
    manifest, findings, trials = found.manifest, found.findings, found.trials
    return Given(
        manifest=manifest,
        findings=findings,
        trials=trials,
        subtitle=subtitle(manifest, trials),
        apart=found.explanation.apart,
        parts=report_parts(manifest, findings, trials),
        explained=told,
        files=files,
        fingerprint=found.stored.fingerprint,
        words=words,
        next_steps=tuple(steps),
    )


def _against_last(run: Path, artifact: str, trials: Sequence[Trial]) -> Comparison | None:
    """Return how the run differs from the sweep that it began with; None where there is none."""
    last, where = kept_last(run), str(run / BEST_CONFIG)
    return against_last(last, where, parse_best_config(artifact, where), trials) if last else None


def left_section(left: Sequence[str]) -> list[str]:
    """Return the lines of the report on candidates that were not measured; none where there is none."""
    return ["## Not measured", "", *(f"- {line}" for line in left), ""] if left else []


def explanation_sections(explained: Explanation, manifest: RunManifest) -> list[str]:
    """Return the lines of the report that explain the answer; none where nothing was measured for that."""
    return [
        *apart_section(explained.apart, explained.heads, asked=manifest.protocol.drafts_alone),
        *dragged_section(explained.second),
        *noise_section(explained.noise, manifest.protocol),
    ]


def _run_warnings(manifest: RunManifest, stored: Manifest, unfinished: str) -> list[str]:
    warnings = [unfinished] if unfinished else []
    if manifest.engine_build == "sim":
        warnings.append("simulated engine: these figures describe no real model")
    if manifest.protocol.reduced:
        warnings.append(f"reduced protocol: {manifest.protocol.reduced}")
    warnings += [f"not tried: {label}: {reason}" for label, reason in manifest.unavailable.items()]
    warnings += not_covered(by_temperature(manifest.traffic, manifest.load_points))
    warnings += [f"left out: {broken}" for broken in stored.broken]
    return warnings


def _floor(findings: Findings, manifest: RunManifest, trials: Sequence[Trial]) -> dict[str, Figure]:
    """Return the physical floor of the first baseline; nothing for the simulated engine, which reads no weights."""
    if manifest.engine_build == "sim":
        return {}
    first = next(trial for trial in findings.trials if not trial.candidate.k)
    device = next(t.record.worker.device for t in trials if t.record.number == first.number)
    args = first.candidate.engine_args
    return floor_figures(first.loads, args, manifest.target_weight_bytes, memory_bandwidth(device), device)


def _devices(trials: Sequence[Trial]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(trial.record.worker.device for trial in trials))


def _device_details(trials: Sequence[Trial]) -> tuple[DeviceDetail, ...]:
    """Return what is known of each kind of device, in the order of `_devices`."""
    workers = [trial.record.worker for trial in trials]
    details = (
        (w.device, w.memory_bytes, w.driver or None, None if w.gpu_ids else len(w.cpu_cores) or None) for w in workers
    )
    return tuple(
        DeviceDetail(device=device, memory_bytes=memory, driver=driver, cores=cores)
        for device, memory, driver, cores in dict.fromkeys(details)
    )


def subtitle(manifest: RunManifest, trials: Sequence[Trial]) -> str:
    """Return what was measured on what, as pictures say it."""
    engine = "simulated engine" if manifest.engine_build == "sim" else f"vLLM {manifest.engine_version}"
    return f"{manifest.target} on {', '.join(_devices(trials))}, {engine}"


def _context(manifest: RunManifest, stored: Manifest, trials: Sequence[Trial]) -> RunContext:
    baselines = [trial for trial in trials if trial.record.role in _BASELINES and trial.record.ok]
    engine = baselines[0].record.engine
    measured_on = MeasuredOn(
        devices=_devices(trials),
        device_details=_device_details(trials),
        engine=Engine(
            version=manifest.engine_version, build=manifest.engine_build, wheel=manifest.engine_wheel or None
        ),
        machine=dict(manifest.machine),
        max_model_len=engine.max_model_len if engine else None,
        kv_cache_tokens=engine.kv_cache_tokens if engine else None,
        first_trial=trials[0].record.started_at,
        last_trial=trials[-1].record.started_at,
    )
    return RunContext(
        target=manifest.target,
        env=manifest.env,
        fingerprint=stored.fingerprint,
        measured_on=measured_on,
        protocol=asdict(manifest.protocol),
        tuner_version=manifest.tuner_version,
        trials=trials,
        target_revision=manifest.target_revision,
        draft_revisions=manifest.draft_revisions,
    )
