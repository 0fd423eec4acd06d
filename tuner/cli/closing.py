"""What a sweep ends with: a table for people, one JSON object for scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from tuner.page.english import ENGLISH
from tuner.page.pages import PAGE
from tuner.page.words import Words
from tuner.records import Answer, Failure, Json, LoadPoint, Metric, TrialFigures, TrialRecord
from tuner.report import Report
from tuner.report_sections.diagnoses import diagnosis_json, diagnosis_lines
from tuner.report_sections.fixed import retried, retries
from tuner.report_sections.next_step import next_steps
from tuner.report_sections.schedule import worth_telling
from tuner.sweep import SweepResult
from tuner.words import distinguishing, engine_words, full_label, milliseconds, plain, times, verdict_words

if TYPE_CHECKING:
    from tuner.compare import Comparison

MOST_CAUSES = 3
"""Causes that the closing table names; all of them stand in the report."""
_ANSWER = " *"
"""What marks the answer's own row."""
NARROW = 64
"""Columns below which the table would cut its figures off."""


def closing_table(report: Report, width: int | None = None, words: Words = ENGLISH) -> str:
    """Return the answers and the measured candidates as text, in colours where the terminal has them."""
    told = words.told
    console = Console(width=width)
    with console.capture() as capture:
        for answer in report.findings.answers:
            if console.width < NARROW:
                console.print(*_narrow_tables(report, answer, told), sep="\n")
            else:
                console.print(_table(report, answer, told))
            if any(name.endswith(_ANSWER) for name, _ in _named(report, answer)):
                console.print(told(f"{_ANSWER.strip()} the answer"), markup=False, highlight=False)
            at = told(f"at temperature {answer.temperature:g}")
            console.print(f"[bold]{escape(told(verdict_words(answer)))}[/] {at}", highlight=False)
            console.print(told(answer.why), markup=False, highlight=False)
            for schedule in (
                found for found in worth_telling(report.findings) if found.temperature == answer.temperature
            ):
                console.print(told(f"K schedule: {schedule.why}"), markup=False, highlight=False)
        for line in diagnosis_lines(report.findings.diagnoses, MOST_CAUSES):
            console.print(told(f"why: {line}"), markup=False, highlight=False)
        for warning in report.findings.warnings:
            console.print(told(f"note: {warning}"), style="yellow", markup=False, highlight=False)
        for trial, reason in report.findings.failed.items():
            console.print(told(f"failed: {trial}: {reason}"), style="red", markup=False, highlight=False)
        for step in next_steps(report.findings, report.manifest, report.run):
            console.print(told(f"next: {step.what}."), style="bold", markup=False, highlight=False)
            console.print(f"  {step.command}", markup=False, highlight=False, soft_wrap=True)
        console.print(f"{told('artifact')}: {report.artifact}", markup=False, highlight=False, soft_wrap=True)
        console.print(f"{told('page')}: {report.run / PAGE}", markup=False, highlight=False, soft_wrap=True)
    return capture.get()


def _table(report: Report, answer: Answer, told: Callable[[str], str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=escape(_measured(report)))
    table.add_column(told("candidate"))
    for column in ("TPOT", _speedup_words(report), "acceptance", "length"):
        table.add_column(told(column), justify="right")
    for point in _points(report, answer):
        table.add_row(f"[bold]{escape(told(point.label))}[/]")
        for name, trial in _named(report, answer):
            table.add_row(*_row(trial, point.key, told(f"  {name}")))
    return table


def _narrow_tables(report: Report, answer: Answer, told: Callable[[str], str]) -> Iterator[RenderableType]:
    """Yield what decides alone: a table of speedups for each load point, below its name."""
    yield f"{escape(_measured(report))}: {told(_speedup_words(report))}"
    for point in _points(report, answer):
        yield f"[bold]{escape(told(point.label))}[/]"
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(ratio=1)
        table.add_column(justify="right", no_wrap=True)
        for name, trial in _named(report, answer):
            label, _, speedup, *_ = (*_row(trial, point.key, told(f"  {name}")), "", "")
            table.add_row(label, speedup)
        yield table


def _measured(report: Report) -> str:
    manifest = report.manifest
    return f"{manifest.target}, {engine_words(manifest.engine_version, manifest.engine_build)}"


def _speedup_words(report: Report) -> str:
    metric = report.findings.goal.metric
    return "speedup (95 %)" if metric is Metric.TPOT else f"{metric.words} speedup (95 %)"


def _points(report: Report, answer: Answer) -> list[LoadPoint]:
    return [point for point in report.manifest.load_points if point.sampling.temperature == answer.temperature]


def _named(report: Report, answer: Answer) -> Iterator[tuple[str, TrialFigures]]:
    """Yield the single lives and the finalists with their names; the answer's own is marked."""
    names = distinguishing(trial.candidate for trial in report.findings.trials)
    for trial in report.findings.trials:
        chosen = trial.candidate == answer.best and answer.lives == 1
        mark = " (again)" if trial.number in report.baselines_again else _ANSWER if chosen else ""
        yield f"{full_label(trial.candidate, names)}{mark}", trial
    for trial in report.findings.finals:
        mark = _ANSWER if trial.candidate == answer.best and answer.lives > 1 else ""
        yield f"{full_label(trial.candidate, names)}, {_fresh(trial)}{mark}", trial


def _fresh(trial: TrialFigures) -> str:
    return f"{trial.lives} lives" if trial.lives > 1 else "a fresh life"


def _row(trial: TrialFigures, load_point: str, name: str) -> tuple[str, ...]:
    figures = next((load.figures for load in trial.loads if load.load_point.key == load_point), None)
    if figures is None:
        return (name,)
    speedup = figures.get(trial.metric.speedup)
    return (
        name,
        milliseconds(figures["tpot_s"]),
        times(speedup) if speedup else "",
        plain(figures["acceptance_rate"]) if trial.candidate.speculation else "",
        plain(figures["mean_acceptance_length"]) if trial.candidate.speculation else "",
    )


def summary(result: SweepResult) -> dict[str, Json]:
    """Return the closing JSON object."""
    report = result.report
    return {
        "run": str(report.run),
        "finished": report.findings.finished,
        "verdict": report.findings.answers[0].verdict.value,
        "best": _best(report.findings.answers[0]),
        "answers": [
            {
                "temperature": answer.temperature,
                "verdict": answer.verdict.value,
                "best": _best(answer),
                "speedup": answer.objective.value,
                "speedup_low": answer.objective.low,
                "speedup_high": answer.objective.high,
                "metric": report.findings.goal.metric.value,
                "prompts": answer.objective.n if answer.objective.n_of == "prompts" else None,
                "engine_lives": answer.lives,
                "up_to": answer.up_to,
                "below": answer.below,
                "why": answer.why,
                "schedule": _schedule(report, answer),
            }
            for answer in report.findings.answers
        ],
        "diagnoses": [diagnosis_json(one) for one in report.findings.diagnoses],
        "warnings": list(report.findings.warnings),
        "artifact": str(report.artifact),
        "registry_entry": result.kept or None,
        "fresh": False,
        "started_from": result.begun.document if result.begun else None,
        "against_last": _comparison(report.comparison),
        "engine_starts": result.engine_starts,
        "trials": result.trials,
        "failed": len(report.findings.failed),
        "failures": [_failure(record, record.failure) for record in report.records if record.failure],
        "auto_fix": [_retry(record) for record in retries(report.records)],
        "not_measured": list(result.left),
        "wall_s": round(result.wall_s, 1),
        "overhead_s": round(result.overhead_s, 1),
    }


def _comparison(found: Comparison | None) -> Json:
    from tuner.cli.compare import exit_code
    from tuner.compare.document import document

    return document(found, exit_code(found.outcome)) if found else None


def comparison_lines(found: Comparison) -> list[str]:
    """Return a comparison in a few lines; the figures stand in the report."""
    from tuner.compare.words import headline, open_words, sentence

    return [f"{headline(found)}: {sentence(found)}", found.attribution.words, *open_words(found)]


def _failure(record: TrialRecord, failure: Failure) -> dict[str, Json]:
    return {
        "trial": record.number,
        "candidate": record.label,
        "kind": failure.kind.value,
        "code": failure.code or None,
        "what": failure.what or failure.message,
        "next_step": failure.remedy,
        "change": dict(failure.change),
    }


def _retry(record: TrialRecord) -> dict[str, Json]:
    note = record.fix.note if record.fix else ""
    return {"trial": record.number, "candidate": retried(record), "note": note, "ok": record.ok}


def _schedule(report: Report, answer: Answer) -> Json:
    """Return what came of a K schedule at the answer's temperature; None where none was asked for."""
    found = next((one for one in report.findings.schedules if one.temperature == answer.temperature), None)
    return {"exportable": found.exportable, "why": found.why} if found else None


def _best(answer: Answer) -> Json:
    spec = answer.best.speculation
    if spec is None:
        return None
    return {"method": spec.method, "draft": spec.draft, "num_speculative_tokens": spec.num_speculative_tokens}
