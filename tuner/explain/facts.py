"""What an explanation is made of: a run's findings, and what of its search space was not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from tuner.analysis.comparison import load_figures
from tuner.export.artifact import BEST_CONFIG
from tuner.records import Answer, Candidate, LoadPoint, Outcome, TrialFigures, Tried
from tuner.report import Analysed, analysed
from tuner.search.feasible import ruled_out
from tuner.search.left import Predicted
from tuner.search.observing import tried
from tuner.search.samplers import Search


class Why(StrEnum):
    """Why a candidate was not measured."""

    PREDICTED = "predicted"
    NO_GAIN = "no_gain"
    UNFINISHED = "unfinished"
    MEMORY = "memory"
    NO_BASELINE = "no_baseline"


@dataclass(frozen=True)
class NotMeasured:
    """One K that the space has and nobody measured.

    predicted: its speedup, where `why` is that.  failed_k: the smaller one that ran out of memory.
    """

    candidate: Candidate
    why: Why
    predicted: Predicted | None = None
    failed_k: int | None = None


@dataclass(frozen=True)
class Facts:
    """A run as it is explained.  run: as the user wrote it.  deployable: whether its files for vLLM are there."""

    run: Path
    analysed: Analysed
    not_measured: tuple[NotMeasured, ...]
    deployable: bool


@dataclass(frozen=True)
class AtTemperature:
    """One answer with what belongs to it.

    chosen: the candidate that the explanation is about: the recommended one, else the one that comes nearest.
    loads: load points of the temperature; claimed: those that the answer speaks of.
    """

    facts: Facts
    answer: Answer
    chosen: Candidate | None
    loads: tuple[LoadPoint, ...]

    @property
    def claimed(self) -> tuple[LoadPoint, ...]:
        """All load points, those up to the limit where speculation pays only below one."""
        up_to = self.answer.up_to
        return tuple(load for load in self.loads if up_to is None or load.concurrency <= up_to)

    def single(self, candidate: Candidate) -> TrialFigures | None:
        """Return the figures of the candidate's single life, by which it was selected."""
        found = (t for t in self.facts.analysed.findings.trials if t.candidate.key == candidate.key)
        return next((t for t in found if any(load_figures(t, load) for load in self.loads)), None)

    def fresh(self, candidate: Candidate) -> TrialFigures | None:
        """Return its figures over fresh lives, None where the answer does not rest on those."""
        found = (t for t in self.facts.analysed.findings.finals if t.candidate.key == candidate.key and t.lives > 1)
        return next(found, None) if self.answer.lives > 1 else None

    def same_line(self) -> dict[int, Candidate]:
        """Return what was measured of the chosen draft with the same engine arguments, by K."""
        if self.chosen is None:
            return {}
        line = (self.chosen.draft_name, self.chosen.args_key)
        trials = self.facts.analysed.findings.trials
        alike = [t.candidate for t in trials if (t.candidate.draft_name, t.candidate.args_key) == line]
        return {c.k: c for c in sorted(alike, key=lambda c: c.k) if c.k and self.single(c) is not None}


def read_facts(run: Path) -> Facts:
    """Read `run`; nothing in it is changed.

    Raises OutputError when it is no run of ours, NothingMeasured when no baseline succeeded.
    """
    found = analysed(run)
    return Facts(run, found, not_measured(found), (run / BEST_CONFIG).is_file())


def at_temperatures(facts: Facts) -> tuple[AtTemperature, ...]:
    """Return the answers in the order of the space."""
    return tuple(_at(facts, answer) for answer in facts.analysed.findings.answers)


def _at(facts: Facts, answer: Answer) -> AtTemperature:
    points = facts.analysed.manifest.load_points
    loads = tuple(load for load in points if load.sampling.temperature == answer.temperature)
    static = answer.surface.static if answer.surface else None
    near = answer.runner_up or (static.fastest if static else None)
    chosen = answer.best if answer.best.k else near
    return AtTemperature(facts, answer, chosen if chosen is not None and chosen.k else None, loads)


def not_measured(found: Analysed) -> tuple[NotMeasured, ...]:
    """Return every K that the space has for a draft of the run, with its engine arguments, and that has no trial."""
    manifest = found.manifest
    lines: dict[tuple[str, str], Candidate] = {}
    for record in found.records:
        if record.candidate.speculation is not None:
            lines.setdefault((record.candidate.draft_name, record.candidate.args_key), record.candidate)
    every = {
        candidate.key: candidate
        for one in lines.values()
        for candidate in (one, *(_with_k(one, k) for k in manifest.draft_ks.get(one.draft_name, ())))
    }
    known = {record.candidate.key for record in found.records}
    left = [
        c for c in every.values() if c.key not in known and (c.key in manifest.candidates or not manifest.candidates)
    ]
    if not left:
        return ()
    baselines = {one.baseline.key: one.baseline for one in lines.values()}
    candidates = [*baselines.values(), *every.values()]
    so_far = tried(found.trials, manifest.load_points, candidates)
    predicted = Search(loads=manifest.load_points).predicted(candidates, so_far)
    return tuple(_why(candidate, so_far, predicted, finished=found.findings.finished) for candidate in left)


def _with_k(candidate: Candidate, k: int) -> Candidate:
    assert candidate.speculation is not None
    return replace(candidate, speculation=replace(candidate.speculation, num_speculative_tokens=k))


def _why(
    candidate: Candidate, so_far: list[Tried], predicted: Mapping[str, Predicted], *, finished: bool
) -> NotMeasured:
    outcomes = {one.candidate.key: one.outcome for one in so_far}
    if outcomes.get(candidate.baseline.key) in (Outcome.FAILED, Outcome.MEMORY):
        return NotMeasured(candidate, Why.NO_BASELINE)
    failed = ruled_out(candidate, [one.candidate for one in so_far if one.outcome is Outcome.MEMORY])
    if failed is not None:
        return NotMeasured(candidate, Why.MEMORY, failed_k=failed.k)
    if not finished:
        return NotMeasured(candidate, Why.UNFINISHED)
    told = predicted.get(candidate.key)
    return NotMeasured(candidate, Why.PREDICTED if told else Why.NO_GAIN, told)
