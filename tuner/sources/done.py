"""Which records of an earlier session answer their question."""

from __future__ import annotations

from tuner.records import FailureKind, Role, TrialRecord

_SAY_NOTHING = (FailureKind.WORKER_LOST, FailureKind.NO_BASELINE, FailureKind.WRONG_SERVER)
_FAILURE_IS_AN_ANSWER = (Role.CANDIDATE, Role.SAME_RUNNER, Role.DRAFT_ALONE)
"""Roles of trials that are not run again where they failed: nothing waits for them, unlike for a baseline."""


def counts_as_done(record: TrialRecord, *, retry_failed: bool = False) -> bool:
    """Whether a record of an earlier session answers its question: what says nothing of the candidate does not."""
    if record.failure is None:
        return True
    return record.role in _FAILURE_IS_AN_ANSWER and record.failure.kind not in _SAY_NOTHING and not retry_failed
