"""The report as one Markdown page: what was found, how sure it is, what it rests on, how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from tuner.analysis.metrics import worst_category
from tuner.records import (
    Answer,
    Findings,
    KCurve,
    LoadFigures,
    LoadPoint,
    Protocol,
    Role,
    RunManifest,
    Trial,
    TrialFigures,
    Verdict,
)
from tuner.report_sections.changed_settings import changed_settings_section
from tuner.report_sections.device import device_section
from tuner.report_sections.diagnoses import diagnoses_section
from tuner.report_sections.goal import goal_section
from tuner.report_sections.lives import lives_section, rests_on_fresh_lives
from tuner.report_sections.next_step import NextStep, next_words
from tuner.report_sections.sameness import sameness_section
from tuner.report_sections.schedule import schedule_headline, schedule_section
from tuner.report_sections.surface import surface_section
from tuner.words import distinguishing, duration, engine_words, full_label, milliseconds, plain, times, verdict_words

_RATIOS = (
    "Speedup is baseline TPOT / candidate TPOT; the other ratios are candidate / baseline, so a TTFT ratio above 1 "
    "means a longer wait for the first token."
)
_ONE_LIFE = (
    "These tables, the plots and the K curves are of one engine life of each candidate, by which the finalists were "
    "selected. The answer is that of the fresh lives below: its speedup and its K may be others."
)
_CHARTS_ELSEWHERE = "The charts stand in `report.html`; those in `plots/` have English labels."
_WORST = "worst category"
_EXPLAINED_AFTER = "device"
_COLUMNS = (
    "candidate",
    "TPOT",
    "speedup (95 % interval)",
    "TTFT ratio",
    "throughput ratio",
    "acceptance rate",
    "acceptance length",
    "tokens per step",
    "n",
)


def report_markdown(
    manifest: RunManifest,
    findings: Findings,
    trials: Sequence[Trial],
    plots: Sequence[Path] | None,
    explained: Sequence[str] = (),
    steps: Sequence[NextStep] = (),
) -> str:
    """Return the page.

    plots: image paths relative to where the page will lie, None where its language is not that of their labels.
    explained: sections on causes.  steps: what would decide open answers.
    """
    parts = report_parts(manifest, findings, trials)
    lines = [f"# Speculative decoding for {manifest.target}", ""]
    for answer in findings.answers:
        lines += [*_answer(answer, findings.finished), *schedule_headline(findings, answer.temperature), ""]
    lines += [line for step in steps for line in (next_words(step), "")]
    lines += diagnoses_section(findings.diagnoses)
    if findings.warnings:
        lines += ["## What to keep in mind", "", *(f"- {warning}" for warning in findings.warnings), ""]
    if plots is None:
        lines += [_CHARTS_ELSEWHERE, ""]
    for plot in plots or ():
        if plot.suffix == ".png":
            lines += [f"![{plot.stem.replace('_', ' ')}]({plot.as_posix()})", ""]
    for name, part in parts.items():
        lines += [*part, *(explained if name == _EXPLAINED_AFTER else ())]
    return "\n".join(lines).rstrip() + "\n"


def report_parts(manifest: RunManifest, findings: Findings, trials: Sequence[Trial]) -> dict[str, list[str]]:
    """Return the tables below answer, causes and pictures, as lines of Markdown by a name of each, in their order."""
    again = {trial.record.number for trial in trials if trial.record.role is Role.BASELINE_AGAIN}
    names = distinguishing(trial.candidate for trial in findings.trials)
    figures = [line for point in manifest.load_points for line in (*_load_point(point, findings, again, names), "")]
    figures += [_RATIOS, ""]
    if rests_on_fresh_lives(findings):
        figures += [_ONE_LIFE, ""]
    return {
        "figures": figures,
        "changed": list(changed_settings_section(findings.changed_settings, _speculating(findings))),
        "goal": list(goal_section(findings, manifest.load_points, names)),
        "lives": list(lives_section(findings, names)),
        "surface": list(surface_section(findings, names)),
        "curves": list(_curves(findings)),
        "schedule": list(schedule_section(findings)),
        "acceptance": list(_acceptance(findings, names)),
        "sameness": list(sameness_section(findings, names)),
        "device": list(device_section(findings, names)),
        "failed": list(_failed(findings, trials)),
        "basis": list(_basis(manifest, findings, trials)),
        "repeat": _repeat(manifest),
    }


def _speculating(findings: Findings) -> list[str]:
    return [trial.candidate.label for trial in findings.trials if trial.candidate.k]


def _answer(answer: Answer, finished: bool) -> Iterator[str]:
    so_far = "At" if finished else "Not finished. So far, at"
    yield f"**{so_far} temperature {answer.temperature:g}: {verdict_words(answer)}.** {answer.why}"
    if answer.verdict is Verdict.SPECULATE_BELOW:
        yield ""
        yield (
            f"vLLM has no switch for a concurrency limit: route so that an engine with this setting stays at a "
            f"concurrency of {answer.up_to} or less, or start `serve.baseline.yaml` where more is usual."
        )
    worst = [(load.load_point.label, found) for load in answer.loads if (found := worst_category(load))]
    if worst:
        yield ""
        yield f"The category of prompts that gains least from {answer.best.label}:"
        yield ""
        yield from (f"- {label}: {name} {times(figure)}, n = {figure.n}" for label, (name, figure) in worst)


def _load_point(point: LoadPoint, findings: Findings, again: Set[int], names: Sequence[str]) -> Iterator[str]:
    at_point = [load for trial in findings.trials for load in trial.loads if load.load_point.key == point.key]
    columns = (*_COLUMNS, _WORST) if any(map(worst_category, at_point)) else _COLUMNS
    yield f"## {point.label}"
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield f"|---|{'---:|' * (len(columns) - 1)}"
    for trial in findings.trials:
        name = full_label(trial.candidate, names) + (" (again)" if trial.number in again else "")
        yield from _row(trial, point, name, columns)


def _row(trial: TrialFigures, point: LoadPoint, name: str, columns: Sequence[str]) -> Iterator[str]:
    for load in trial.loads:
        if load.load_point.key != point.key:
            continue
        figures = load.figures
        speculative = trial.candidate.speculation is not None
        cells = [
            name,
            milliseconds(figures["tpot_s"]),
            times(figures["speedup_tpot"]) if "speedup_tpot" in figures else "",
            times(figures["ttft_ratio"], interval=False) if "ttft_ratio" in figures else "",
            times(figures["throughput_ratio"], interval=False) if "throughput_ratio" in figures else "",
            plain(figures["acceptance_rate"], 3) if speculative else "",
            plain(figures["mean_acceptance_length"]) if speculative else "",
            plain(figures["effective_tokens_per_step"]) if speculative else "",
            f"{figures['tpot_s'].n} {figures['tpot_s'].n_of}",
            _worst_words(load),
        ]
        yield f"| {' | '.join(cells[: len(columns)])} |"


def _worst_words(load: LoadFigures) -> str:
    worst = worst_category(load)
    return f"{worst[0]} {times(worst[1])}" if worst else ""


def _acceptance(findings: Findings, names: Sequence[str]) -> Iterator[str]:
    """Yield what the drafts did, from the engine's counters."""
    rows = [
        (trial, load)
        for trial in findings.trials
        for load in trial.loads
        if trial.candidate.speculation is not None and load.acceptance_by_position
    ]
    if not rows:
        return
    yield "## Acceptance"
    yield ""
    yield "| candidate | load point | proposed length | draft coverage | accepted by position | given the one before |"
    yield "|---|---|---:|---:|---|---|"
    for trial, load in rows:
        cells = [
            full_label(trial.candidate, names),
            load.load_point.label,
            plain(load.figures["mean_proposed_length"]),
            plain(load.figures["draft_coverage"]),
            " ".join(plain(figure) for figure in load.acceptance_by_position),
            " ".join(plain(figure) for figure in load.conditional_by_position),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield (
        "Proposed length: tokens a draft. Draft coverage: share of decode steps that had a draft. Accepted by "
        "position: share of all drafts whose token 1, 2, ... was accepted; then the same among those drafts alone "
        "whose token before it was."
    )
    yield ""


def _curves(findings: Findings) -> Iterator[str]:
    curves = [curve for answer in findings.answers for curve in answer.curves]
    if not curves:
        return
    args = {trial.candidate.args_key: trial.candidate.baseline for trial in findings.trials}
    names = distinguishing(args.values())
    yield "## Best K and inflection point"
    yield ""
    yield "| draft | load point | best K | inflection K | K that are left open |"
    yield "|---|---|---:|---:|---|"
    for curve in curves:
        plain_engine = args.get(curve.args_key)  # None where not even the baseline ran with these arguments
        arguments = full_label(plain_engine, names).removeprefix(plain_engine.label) if plain_engine else ""
        where = f"{curve.draft_name}{arguments} | {curve.load_point.label}"
        yield f"| {where} | {curve.best_k} | {_inflection(curve)} |"
    yield ""
    percent = f"{100 * curves[0].inflection.threshold:g} %"
    yield (
        f"The inflection point is the first K from which one more proposed token gains less than {percent}, by the "
        f"upper bound of its interval."
    )
    yield ""


def _inflection(curve: KCurve) -> str:
    inflection = curve.inflection
    k = "not resolved" if inflection.k is None else str(inflection.k)
    open_ks = ", ".join(map(str, inflection.candidates))
    return f"{k} | {'; '.join(part for part in (open_ks, inflection.note) if part)}"


def _failed(findings: Findings, trials: Sequence[Trial]) -> Iterator[str]:
    if not findings.failed:
        return
    labels = {trial.record.name: trial.record.label for trial in trials}
    yield "## Candidates without figures"
    yield ""
    for name, reason in findings.failed.items():
        yield f"- {labels[name]} (`trials/{name}`): {reason}"
    yield ""


def _basis(manifest: RunManifest, findings: Findings, trials: Sequence[Trial]) -> Iterator[str]:
    protocol = manifest.protocol
    devices = dict.fromkeys(trial.record.worker.device for trial in trials)
    lives = sum(trial.record.engine is not None for trial in trials)
    engine_s = sum(trial.record.phases.start_s for trial in trials)
    load_s = sum(trial.record.phases.load_s + trial.record.phases.warmup_s for trial in trials)
    yield "## What this rests on"
    yield ""
    yield f"- engine: {engine_words(manifest.engine_version, manifest.engine_build)} on {', '.join(devices)}"
    yield f"- {lives} engine lives, {duration(engine_s)} of starting and {duration(load_s)} of load"
    yield (
        f"- each load point: {_repeats(protocol)} repeats after a warm-up at its own concurrency, a fresh cache salt "
        f"each; per prompt the median over repeats, then the geometric mean over prompts of the ratio "
        f"baseline / candidate"
    )
    yield from _floor(findings)
    if protocol.reduced:
        yield f"- reduced protocol: {protocol.reduced}"
    yield f"- eval sets: {', '.join(_prompts_used(manifest))}"
    yield f"- tuner {manifest.tuner_version}, measured from {trials[0].record.started_at} on"


def _repeat(manifest: RunManifest) -> list[str]:
    command = shlex.join(manifest.repeat_with)
    return [f"- measured with: `{command}` (to measure all of it again, give another `--out`)"] if command else []


def _floor(findings: Findings) -> Iterator[str]:
    read, share = findings.floor.get("weight_read_s"), findings.floor.get("bandwidth_share")
    if read is not None and share is not None and share.value is not None:
        yield (
            f"- reading the weights takes {milliseconds(read)} of each decode step ({read.note}): {share.value:.0%} of "
            f"the baseline's TPOT at concurrency 1"
        )


def _repeats(protocol: Protocol) -> str:
    most = protocol.max_repeats
    return f"{protocol.repeats}" if most <= protocol.repeats else f"{protocol.repeats} to {most}"


def _prompts_used(manifest: RunManifest) -> Iterator[str]:
    for name, count in manifest.prompts.items():
        asked = [point.num_prompts or count for point in manifest.load_points if point.eval_set == name]
        used = min(count, max(asked))
        yield f"{name} ({used} prompts)" if used == count else f"{name} (the first {used} of {count} prompts)"
