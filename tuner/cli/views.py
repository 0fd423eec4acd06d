"""What a sweep looks like while it runs: live on a terminal, a line an event elsewhere, nothing when asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tuner.cli.signals import STOPPING, ending_cleanly
from tuner.progress import Progress as SweepProgress
from tuner.progress import SweepView, WorkerProgress
from tuner.records import TrialRecord
from tuner.words import duration, time_left_words

PLAIN_EVERY_S = 30.0
NARROW = 70
"""Columns below which a worker's line goes without what the other lines tell: its device."""
WIDE = 98
"""Columns from which there is room for how long such trials usually take."""


@contextmanager
def open_view(*, quiet: bool) -> Iterator[SweepView]:
    """Yield the view that fits where standard error goes. Standard output stays free for results."""
    console = Console(stderr=True)
    if quiet:
        yield QuietView()
    elif console.is_terminal and not console.is_dumb_terminal:
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
        self._live = Live(_Screen(Text("starting")), console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> RichView:
        self._live.start()
        ending_cleanly.on_screen = True
        return self

    def __exit__(self, *exception: object) -> None:
        ending_cleanly.on_screen = False
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
        self._live.update(_Screen(Dashboard(progress)))


@dataclass(frozen=True)
class _Screen:
    """What is shown; once a signal has come, only that: the workers' lines do not change any more."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, with room for the ^C that a terminal writes behind the last line: none may become two."""
        yield Padding(Text(STOPPING) if ending_cleanly.begun else self.shown, (0, len("^C"), 0, 0))


@dataclass(frozen=True)
class Dashboard:
    """One moment of a sweep, laid out for the width that the terminal has when it is drawn: it may be resized."""

    progress: SweepProgress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw workers, bar and best."""
        yield self._workers(options.max_width)
        yield self._bar()
        if self.progress.best:
            yield Text(f"best so far: {self.progress.best}", no_wrap=True, overflow="ellipsis")

    def _workers(self, width: int) -> Table:
        """Return a line a worker; where it is narrow, the device's name only where there are several workers."""
        narrow = width < NARROW
        table = Table.grid(padding=(0, 1), expand=True)
        named = not narrow or len(self.progress.workers) > 1
        if named:
            table.add_column(no_wrap=True, overflow="ellipsis", ratio=None if not narrow else 1)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=None if not narrow else 2)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=3)
        table.add_column(no_wrap=True, justify="right")
        for worker in self.progress.workers:
            cells = (worker.device, worker.trial or "idle", worker.phase, _running(worker, usual=width >= WIDE))
            table.add_row(*map(Text, cells if named else cells[1:]), style="cyan")
        return table

    def _bar(self) -> Table:
        progress = self.progress
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(ratio=1)
        table.add_column(no_wrap=True)
        share = ProgressBar(total=max(1, progress.planned), completed=progress.done)
        table.add_row(share, Text(f"{progress.done}/{progress.planned} trials{_left(progress)}"))
        return table


def _running(worker: WorkerProgress, *, usual: bool) -> str:
    """Return "45 s of about 2 min 10 s".  usual: whether there is room for the second part."""
    if not worker.trial:
        return ""
    of = "" if not usual or worker.usual_s is None else f" of about {duration(worker.usual_s)}"
    return f"{duration(worker.running_s)}{of}"


def _left(progress: SweepProgress) -> str:
    if progress.left_s is None:
        return ""
    return f", {time_left_words(progress.left_s, progress.left_between_s)} left"
