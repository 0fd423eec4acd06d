"""`tuner status`: where a sweep is, from another terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuner.progress import Progress, WorkerProgress
    from tuner.status import Status

_NAMES = len("trials   ")
"""Columns before what a line says."""


@click.command(
    epilog="""\b
Examples:
  tuner status runs/demo-target/demo
  watch -n 2 tuner status runs/demo-target/demo
  tuner status runs/demo-target/demo --json | jq .progress.left_s
"""
)
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@json_option
def status(run: Path, as_json: bool) -> None:
    """Tell where the sweep in RUN is: what each worker does, what is done and left, the best so far, the time left.

    Works while the sweep runs and after it ended or was killed. Nothing is started, and RUN is left as it is.
    """
    from tuner.cli.terminal import show_lines
    from tuner.status import read_status, status_json

    found = read_status(run)
    show_lines(status_lines(found), hanging=_NAMES, err=as_json)
    if as_json:
        click.echo(json.dumps(status_json(found)))


def status_lines(status: Status) -> Iterator[str]:
    """Yield the status, a line for each thing."""
    from tuner.status import State
    from tuner.words import time_left_words

    yield f"run      {status.run}"
    yield f"state    {_state_words(status)}"
    progress = status.progress
    yield f"trials   {_trials_words(status)}"
    if progress is None:
        return
    if progress.best and status.state is not State.FINISHED:
        yield f"best     {progress.best} so far, of one engine life"
    if status.alive is False:
        return
    if progress.left_s is not None and progress.done < progress.planned:
        yield f"left     {time_left_words(progress.left_s, progress.left_between_s)}, then the report"
    yield from (f"worker   {_worker_words(worker)}" for worker in progress.workers)


def _state_words(status: Status) -> str:
    from tuner.words import duration

    who = f"process {status.pid} on {status.host}"
    seen = "" if status.changed_s is None else f", last word {duration(status.changed_s)} ago"
    if status.verdict and not status.alive:
        return f"finished: {status.verdict}"
    if status.pid is None:
        return "not finished, and nobody is measuring: the same command goes on with it"
    if status.alive is False:
        return f"not finished: {who} ended without a word{seen}; the same command goes on with it"
    if status.alive is None:
        return f"{status.state.value} ({who}, not known to live: {seen.removeprefix(', ') or 'it said nothing yet'})"
    return f"{status.state.value} ({who}{seen})"


def _trials_words(status: Status) -> str:
    progress = status.progress
    if progress is None or status.alive is False:
        return f"{status.trials} measured"
    told = f"{progress.done} of about {progress.planned} done{_failed(progress)}"
    return f"{told}; {status.earlier} more in earlier sessions" if status.earlier else told


def _failed(progress: Progress) -> str:
    return f", {progress.failed} of them failed" if progress.failed else ""


def _worker_words(worker: WorkerProgress) -> str:
    from tuner.words import duration

    if not worker.trial:
        return f"{worker.device}: idle"
    of = "" if worker.usual_s is None else f" of about {duration(worker.usual_s)}"
    return f"{worker.device}: {worker.trial}, {worker.phase or 'starting'}, {duration(worker.running_s)}{of}"
