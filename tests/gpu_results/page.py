"""docs/gpu-results.md from the recorded runs: no figure on it is typed in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

from tuner.records import LoadFigures, TrialFigures, TrialRecord
from tuner.report import Analysed, analysed
from tuner.report_page import report_parts
from tuner.words import milliseconds, times, verdict_words

DATA = Path(__file__).parents[1] / "data"
IMAGES = Path(__file__).parents[2] / "docs" / "img"
LONG, SHORT, BUSY = 64, 32, 32
"""Tokens of a long and of a short answer; concurrency from which an engine is busy."""
PARTS = ("figures", "lives", "sameness")
INTRODUCTION = """\
# Measured on a GPU

Everything on this page is computed from the records in [`tests/data`](../tests/data) by `python -m tests.gpu_results`,
with the analysis that a sweep ends with. What it means, and what it does not show, is in [real-runs.md](real-runs.md).
Each run is one visit to one card with its own baselines; nothing is pooled over visits. The models are made from
SmolLM2-135M-Instruct: the targets are that model with muted width and depth, so that they cost what larger ones do."""


@dataclass(frozen=True)
class Run:
    """A recorded run: its directory below tests/data, and what it is."""

    name: str
    what: str


RUNS = (
    Run("h200-14b", "14 B-cost target; drafts of 30 layers with little and much noise, n-gram"),
    Run("h200-14b-grid", "14 B-cost target; every K from 1 to 7 of one draft of 30 layers"),
    Run(
        "h200-14b-shallow",
        "14 B-cost target; a distilled draft of 4 layers, a draft of 30 layers; long and short answers",
    ),
    Run("h200-7b", "7.5 B-cost target; the small model itself as draft, n-gram on the GPU"),
    Run("h200-7b-lives", "7.5 B-cost target; two close K in fresh lives"),
    Run("h200-7b-ngram-gpu", "7.5 B-cost target; another program kept 13 of 16 cores busy"),
)


def results() -> list[tuple[Run, Analysed]]:
    """Return every recorded run with what follows from it."""
    return [(run, analysed(DATA / run.name, finished=False)) for run in RUNS]


def page(found: Sequence[tuple[Run, Analysed]]) -> str:
    """Return the page of these runs."""
    lines = [INTRODUCTION, "", *_practice(found), "", *_starts(found), ""]
    for run, result in found:
        lines += [*_section(run, result), ""]
    return "\n".join(lines).rstrip() + "\n"


def plots(run: Run) -> dict[str, str]:
    """Return the names in docs/img of a run's pictures, by what they show."""
    return {kind: f"gpu-{run.name}-{kind}.png" for kind in ("speedup", "surface")}


def _kind(load: LoadFigures) -> str | None:
    point = load.load_point
    if point.concurrency >= BUSY:
        return f"{BUSY} or more at once"
    if point.concurrency != 1:
        return None
    if point.max_tokens >= LONG:
        return "long answers, one at a time"
    return "short answers, one at a time" if point.max_tokens <= SHORT else None


def _practice(found: Sequence[tuple[Run, Analysed]]) -> Iterator[str]:
    yield "## What speculation brought, by what was asked"
    yield ""
    yield "All candidates of a run in one life each: the slowest and the fastest, with their 95 % intervals."
    yield ""
    yield "| traffic | run | figures | slowest | fastest |"
    yield "|---|---|---:|---|---|"
    rows: dict[str, list[str]] = defaultdict(list)
    for run, result in found:
        by_kind: dict[str, list[tuple[TrialFigures, LoadFigures]]] = defaultdict(list)
        for trial in result.findings.trials:
            for load in trial.loads:
                kind = _kind(load)
                if trial.candidate.k and kind and load.figures["speedup_tpot"].value is not None:
                    by_kind[kind].append((trial, load))
        for kind, measured in by_kind.items():
            ordered = sorted(measured, key=lambda one: one[1].figures["speedup_tpot"].value or 0.0)
            slowest, fastest = (_named(*one) for one in (ordered[0], ordered[-1]))
            rows[kind].append(f"| {kind} | {run.name} | {len(measured)} | {slowest} | {fastest} |")
    for kind in sorted(rows):
        yield from rows[kind]


def _named(trial: TrialFigures, load: LoadFigures) -> str:
    at = f" at {load.load_point.concurrency}" if load.load_point.concurrency > 1 else ""
    return f"{trial.candidate.label}{at}: {times(load.figures['speedup_tpot'])}"


def _starts(found: Sequence[tuple[Run, Analysed]]) -> Iterator[str]:
    yield "## What an engine start costs"
    yield ""
    yield "Seconds from the process to the first answer, for the first start of a configuration and for later ones."
    yield ""
    yield "| run | plain engine, first | plain engine, later | with a draft, first | with a draft, later |"
    yield "|---|---:|---:|---:|---:|"
    for run, result in found:
        cells: dict[tuple[bool, bool], list[float]] = defaultdict(list)
        seen: set[str] = set()
        for record in sorted((trial.record for trial in result.every), key=_number):
            if record.ok and record.candidate.draft_name != "ngram":
                cells[bool(record.candidate.k), record.candidate.key in seen].append(record.phases.start_s)
                seen.add(record.candidate.key)
        shown = [_seconds(cells[speculating, later]) for speculating in (False, True) for later in (False, True)]
        yield f"| {run.name} | {' | '.join(shown)} |"


def _number(record: TrialRecord) -> int:
    return record.number


def _seconds(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = f" ({min(values):.0f}-{max(values):.0f})" if len(values) > 1 else ""
    return f"{median(values):.0f}{spread}, n = {len(values)}"


def _section(run: Run, result: Analysed) -> Iterator[str]:
    records = sorted((trial.record for trial in result.every), key=_number)
    first, last = (datetime.fromisoformat(record.started_at) for record in (records[0], records[-1]))
    yield f"## {run.name}"
    yield ""
    where = f"{records[0].worker.device}, vLLM {result.manifest.engine_version}"
    yield f"{run.what}. {where}, {first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC,"
    yield f"{len(records)} engine starts."
    yield ""
    for answer in result.findings.answers:
        yield f"> At temperature {answer.temperature:g}: **{verdict_words(answer)}.** {answer.why}"
        yield ""
    yield from _floor(result)
    for kind, name in plots(run).items():
        if (IMAGES / name).is_file():
            yield f"![{run.name}: {kind}](img/{name})"
            yield ""
    parts = report_parts(result.manifest, result.findings, result.trials)
    for name in PARTS:
        yield from (f"#{line}" if line.startswith("## ") else line for line in parts[name])


def _floor(result: Analysed) -> Iterator[str]:
    floor = result.findings.floor
    if "bandwidth_share" in floor and floor["bandwidth_share"].value is not None:
        share = f"{100 * floor['bandwidth_share'].value:.0f} % of the baseline's TPOT at concurrency 1"
        read = f"{milliseconds(floor['weight_read_s'])} ({floor['weight_read_s'].note})"
        yield f"Reading the weights once takes {read}: {share}."
        yield ""
