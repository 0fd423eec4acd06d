"""The answer, how sure it is, and what to do with it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from tuner.analysis.comparison import objective_speedup
from tuner.explain.facts import AtTemperature
from tuner.explain.figures import n_of, numbers, speedup
from tuner.explain.lines import Code, Line, Quoted, Section, Value, line
from tuner.export.artifact_recommended import files_of, served
from tuner.records import Figure, Verdict
from tuner.report_sections.next_step import next_step
from tuner.report_sections.starting import measured_python, start_command


def answer_section(at: AtTemperature) -> Section:
    """Return what to do, by how much it is faster, and what that rests on."""
    return Section("answer", line("answer.title"), (*_verdict(at), *_figure(at), *_basis(at)))


def deploy_section(at: AtTemperature) -> Section:
    """Return how to start vLLM with the answer, and what to do next."""
    return Section("deploy", line("deploy.title"), tuple(_deploy(at)))


def _verdict(at: AtTemperature) -> Iterator[Line]:
    answer = at.answer
    if answer.best.k:
        named: dict[str, Value] = {"draft": answer.best.draft_name, "k": str(answer.best.k)}
        if answer.verdict is Verdict.SPECULATE_BELOW:
            yield line("answer.speculate_below", **named, up_to=str(answer.up_to), below=str(answer.below))
        else:
            yield line("answer.speculate", **named)
    else:
        yield line(f"answer.{answer.verdict.value}")
    if not at.facts.analysed.findings.finished:
        yield line("answer.unfinished")
    if at.facts.analysed.manifest.engine_build == "sim":
        yield line("answer.simulated")


def _figure(at: AtTemperature) -> Iterator[Line]:
    found = objective(at)
    if at.chosen is None or found is None or found.value is None:
        yield line("answer.nothing_to_compare")
        return
    metric = line(f"metric.{at.facts.analysed.findings.goal.metric.value}")
    key = "answer.figure" if at.answer.best.k else "answer.nearest"
    loads = numbers(sorted({load.concurrency for load in at.claimed}))
    yield line(key, label=at.chosen.label, speedup=speedup(found), metric=metric, n=n_of(found), loads=loads)
    if found.low is None:
        yield line("answer.no_interval")
        return
    yield line("answer.interval")
    high = found.low if found.high is None else found.high
    yield line("answer.above_one" if found.low > 1 else "answer.below_one" if high < 1 else "answer.holds_one")


def objective(at: AtTemperature) -> Figure | None:
    """Return the speedup of what the explanation is about over the load points that the answer speaks of."""
    if at.chosen is None:
        return None
    if at.answer.best.k:
        return at.answer.objective
    trial = at.fresh(at.chosen) or at.single(at.chosen)
    return None if trial is None else objective_speedup(trial, at.answer.temperature, at.claimed)


def _basis(at: AtTemperature) -> Iterator[Line]:
    if at.chosen is None:
        return
    if at.answer.lives > 1:
        yield line("answer.lives", lives=str(at.answer.lives), label=at.chosen.label)
        if at.answer.screened is not None and at.answer.screened.value is not None:
            yield line("answer.screened", speedup=speedup(replace(at.answer.screened, low=None, high=None)))
    else:
        yield line("answer.one_life", label=at.chosen.label)


def _deploy(at: AtTemperature) -> Iterator[Line | Code]:
    facts, answer = at.facts, at.answer
    findings, manifest = facts.analysed.findings, facts.analysed.manifest
    run, files = shlex.quote(str(facts.run)), files_of(findings, answer)
    python = measured_python(facts.analysed.records)
    if not facts.deployable:
        yield line("deploy.write_first")
        yield Code(f"tuner report {run}")
    starts, _ = served(findings, answer)
    yield line("deploy.speculate" if starts.k else "deploy.plain")
    yield Code(f"set -a; . {run}/serve.env; set +a")
    yield Code(start_command(manifest, str(facts.run / files.serve), python))
    if answer.verdict is Verdict.SPECULATE_BELOW:
        kept = starts == answer.best
        yield line("deploy.above" if kept else "deploy.below", up_to=str(answer.up_to))
        yield Code(start_command(manifest, str(facts.run / (files.baseline if kept else files.speculate)), python))
    if answer.best.k:
        yield line("deploy.watch", alerts=files.alerts)
    step = next_step(answer, findings, manifest, facts.run)
    if step is not None and findings.finished:
        yield line("deploy.undecided", what=Quoted(step.what))
        if step.command:
            yield Code(step.command)
    if not findings.finished and manifest.repeat_with:
        yield line("deploy.go_on")
        yield Code(shlex.join(manifest.repeat_with))
    yield line("deploy.check")
    yield Code(f"tuner check {run}")
