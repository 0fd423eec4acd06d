"""What a sweep looks like while it runs: live on a terminal, a line an event elsewhere, nothing when asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from tuner.progress import Progress as SweepProgress
from tuner.progress import SweepView
from tuner.records import TrialRecord
from tuner.words import duration

PLAIN_EVERY_S = 30.0


@contextmanager
def open_view(*, quiet: bool) -> Iterator[SweepView]:
    """Yield the view that fits where standard error goes. Standard output stays free for results."""
    console = Console(stderr=True)
    if quiet:
        yield QuietView()
    elif console.is_terminal:
        with RichView(console) as view:
            yield view
    else:
        yield PlainView()


class QuietView:
    """Shows nothing."""

    def message(self, text: str) -> None:
        """Ignore it."""

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Ignore it."""

    def update(self, progress: SweepProgress) -> None:
        """Ignore it."""


class PlainView:
    """One line an event, for logs and CI."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def message(self, text: str) -> None:
        """Print it."""
        click.echo(text, err=True)

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Print the trial's figures."""
        self.message(f"trial {record.number} done in {duration(record.phases.total_s)}: {record.label}: {words}")

    def update(self, progress: SweepProgress) -> None:
        """Print a sign of life now and then."""
        if time.monotonic() - self._last < PLAIN_EVERY_S:
            return
        self._last = time.monotonic()
        busy = "; ".join(f"{worker.trial}: {worker.phase}" for worker in progress.workers if worker.trial)
        self.message(f"{progress.done}/{progress.planned} trials, {busy}{_left(progress)}")


class RichView:
    """A live table: a line a worker, a bar for the sweep; finished trials scroll above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("sweep"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), console=console
        )
        self._task = self._bar.add_task("starting", total=None)
        self._live = Live(self._bar, console=console, refresh_per_second=4)

    def __enter__(self) -> RichView:
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.stop()

    def message(self, text: str) -> None:
        """Print it above the live part."""
        self._console.print(text, style="dim", markup=False, highlight=False)

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Print the trial's figures above the live part."""
        mark = ("done", "green") if record.ok else ("failed", "red")
        label = f" trial {record.number}  {record.label}  "
        # In one call: what a live display has below it is redrawn after each, and would overwrite an unfinished line.
        self._console.print(Text.assemble(mark, (label, "bold"), words), highlight=False)

    def update(self, progress: SweepProgress) -> None:
        """Redraw the live part."""
        best = f"best so far: {progress.best}" if progress.best else ""
        self._bar.update(
            self._task, total=progress.planned, completed=progress.done, description=f"{best}{_left(progress)}"
        )
        table = Table.grid(padding=(0, 2))
        for worker in progress.workers:
            running = duration(worker.running_s) if worker.trial else ""
            cells = (worker.device, worker.trial or "idle", worker.phase, running)
            table.add_row(*map(Text, cells), style="cyan")
        grid = Table.grid()
        grid.add_row(table)
        grid.add_row(self._bar)
        self._live.update(grid)


def _left(progress: SweepProgress) -> str:
    return "" if progress.left_s is None else f", about {duration(progress.left_s)} left"
