"""A view of a sweep that keeps what it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuner.progress import Progress
from tuner.records import TrialRecord


@dataclass
class RecordingView:
    """Keeps messages, records of finished trials, and states of progress, in order."""

    messages: list[str] = field(default_factory=list)
    done: list[TrialRecord] = field(default_factory=list)
    states: list[Progress] = field(default_factory=list)

    def message(self, text: str) -> None:
        self.messages.append(text)

    def trial_done(self, record: TrialRecord, words: str) -> None:
        self.done.append(record)

    def update(self, progress: Progress) -> None:
        self.states.append(progress)
