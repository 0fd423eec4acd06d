"""What a search answers when it is asked for the next engine start."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.records import Candidate


@dataclass(frozen=True)
class Decision:
    """What to start next.

    candidate: None where there is nothing to start; `done` tells whether for good or until something ends.
    why: one sentence for a person.
    """

    candidate: Candidate | None
    done: bool
    why: str
