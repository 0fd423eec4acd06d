"""What decided where it was not TPOT alone: another metric, and limits on p95 latencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.analysis.limits import Check, checks
from tuner.records import Findings, LoadFigures, LoadPoint, Metric, TrialFigures
from tuner.words import full_label, milliseconds, plain, times

_DECIDES = {
    Metric.E2E: (
        "E2E latency decided: baseline / candidate, over prompts whose answers have one length in both arms. The "
        "tables above show TPOT beside it."
    ),
    Metric.THROUGHPUT: (
        "Throughput decided: output tokens per second of wall time with a fixed number of requests in flight, "
        "candidate / baseline. The tables above show TPOT beside it."
    ),
}
_LIMITS = (
    "p95 over the requests of all repeats that count, without an interval. A setting that is above a limit at a load "
    "point cannot win there."
)


def goal_section(findings: Findings, load_points: Sequence[LoadPoint], names: Sequence[str]) -> Iterator[str]:
    """Yield the section; nothing where TPOT decides without limits.  names: arguments that tell candidates apart."""
    metric = findings.goal.metric
    if metric is not Metric.TPOT:
        yield f"## What decided: {metric.words}"
        yield ""
        yield f"{_DECIDES[metric]} K curves and plots are of {metric.words} too."
        yield ""
        yield f"| candidate | load point | lives | {_COSTS[metric]} | speedup (95 %) |"
        yield "|---|---|---:|---:|---:|"
        for trial in (*findings.trials, *findings.finals):
            yield from (_row(trial, load, metric, names) for load in trial.loads)
        yield ""
    if findings.goal.limits:
        yield "## Limits"
        yield ""
        yield _LIMITS
        yield ""
        yield "| setting | load point | lives | p95 | limit | kept | n |"
        yield "|---|---|---:|---:|---:|---|---:|"
        for trial in (*findings.trials, *findings.finals):
            for check in checks(trial, findings.goal, load_points):
                yield _check_row(trial, check, names)
        yield ""


_COSTS = {Metric.E2E: "E2E", Metric.THROUGHPUT: "tokens per second"}


def _row(trial: TrialFigures, load: LoadFigures, metric: Metric, names: Sequence[str]) -> str:
    figures = load.figures
    own = plain(figures["throughput_tok_s"], 1) if metric is Metric.THROUGHPUT else milliseconds(figures["e2e_s"])
    speedup = figures.get(metric.speedup)
    return _cells(trial, load.load_point, names, [own, times(speedup) if speedup else ""])


def _check_row(trial: TrialFigures, check: Check, names: Sequence[str]) -> str:
    kept = f"{'no' if check.broken else 'yes'}{', near it' if check.near else ''}"
    p95 = f"{check.metric} {check.value:.3g} s"
    return _cells(trial, check.load, names, [p95, f"{check.limit:g} s", kept, f"{check.n} requests"])


def _cells(trial: TrialFigures, load: LoadPoint, names: Sequence[str], rest: Sequence[str]) -> str:
    return f"| {' | '.join([full_label(trial.candidate, names), load.label, str(trial.lives), *rest])} |"
