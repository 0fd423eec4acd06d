"""Why the answer is what it is, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.page.given import Given
from tuner.page.view import Block, Cause, Points
from tuner.records import Confidence

_SURE = {Confidence.HIGH: "sure_high", Confidence.MEDIUM: "sure_medium", Confidence.LOW: "sure_low"}


def cause_blocks(given: Given) -> Iterator[Block]:
    """Yield each diagnosis with its evidence."""
    for one in given.findings.diagnoses:
        name = given.words("cause_name", code=one.code, subject=one.subject)
        yield Cause(one.what, given.words(_SURE[one.confidence]), name, one.evidence, one.next_step)


def warning_blocks(given: Given) -> Iterator[Block]:
    """Yield the warnings as one list."""
    if given.findings.warnings:
        yield Points(given.findings.warnings)
