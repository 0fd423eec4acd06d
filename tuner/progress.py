"""What a sweep tells whoever watches it. Rendering is the command line's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tuner.records import TrialRecord


@dataclass(frozen=True)
class WorkerProgress:
    """What one worker is doing.  trial: "good K=4", "" when idle.  phase: "starting engine" and the like.

    running_s: since when.  usual_s: what trials of this kind took so far, None where nothing is known yet.
    """

    device: str
    trial: str = ""
    phase: str = ""
    running_s: float = 0.0
    usual_s: float | None = None


@dataclass(frozen=True)
class Progress:
    """One moment of a sweep.

    planned: trials that the whole sweep needs, closing baselines included.  done: finished ones, failed included.
    best: words on the best so far, "" before there is one.  left_s: estimate, None before the first trial ended.
    left_between_s: without and with the trials that may or may not turn out to be wanted, None where there are none.
    """

    planned: int
    done: int
    failed: int
    elapsed_s: float
    left_s: float | None
    best: str = ""
    workers: tuple[WorkerProgress, ...] = ()
    left_between_s: tuple[float, float] | None = None


class SweepView(Protocol):
    """Who watches.  message: one event in a line.  update: many times a second, cheap to ignore."""

    def message(self, text: str) -> None:
        """Tell one event."""

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Tell a finished trial; `words` are its figures or its failure in a line."""

    def update(self, progress: Progress) -> None:
        """Show the present state."""
