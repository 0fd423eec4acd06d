"""What the page is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tuner.analysis.apart import Apart
from tuner.page.words import Words
from tuner.records import Candidate, Findings, Json, RunManifest, Trial
from tuner.report_sections.next_step import NextStep
from tuner.words import distinguishing


@dataclass(frozen=True)
class Given:
    """A run with what was concluded from it.

    trials: those that the answer rests on.  subtitle: what was measured on what.  apart: draft and target timed apart.
    parts: tables of the Markdown report by name (see tuner.report_page.report_parts).  explained: its lines on causes.
    files: what deployment reads, name -> text.  fingerprint: what identifies the run.  words: in the page's language.
    next_steps: what would decide open answers.
    """

    manifest: RunManifest
    findings: Findings
    trials: Sequence[Trial]
    subtitle: str
    apart: Apart
    parts: Mapping[str, Sequence[str]]
    explained: Sequence[str]
    files: Mapping[str, str]
    fingerprint: Mapping[str, Json]
    words: Words
    next_steps: tuple[NextStep, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Engine arguments that tell the candidates apart."""
        return distinguishing(trial.candidate for trial in self.findings.trials)


def by_k(candidate: Candidate) -> tuple[bool, str, int]:
    """Return where a candidate stands in a table: no speculation first, then each draft by K."""
    return candidate.k > 0, candidate.draft_name, candidate.k
