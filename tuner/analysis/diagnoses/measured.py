"""What the rules look at: a finished analysis, ordered by draft."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tuner.analysis.apart import NGRAM, Apart
from tuner.analysis.comparison import objective_speedup
from tuner.analysis.dragged import Split
from tuner.analysis.life import load_view
from tuner.analysis.statistics import student_t
from tuner.analysis.step_growth import measured_growth
from tuner.records import (
    Answer,
    BarKind,
    Candidate,
    Figure,
    Findings,
    LoadFigures,
    LoadPoint,
    Notice,
    Trial,
    TrialFigures,
    Verdict,
)

NOTHING = Apart((), (), {})
SPECULATES = (Verdict.SPECULATE, Verdict.SPECULATE_BELOW)
FIRST = "mean of A_i/D over the first positions; interval over prompts, from the tokens of each step"
AGREES = 0.1
"""How far the share told by streamed chunks may be off the counters' for its spread over prompts to be used."""


@dataclass(frozen=True)
class NamedChange:
    """Settings with known names that the engine changed under speculation.  drafts: names of those that it ran."""

    drafts: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """One candidate at one load point."""

    trial: TrialFigures
    load: LoadFigures

    @property
    def k(self) -> int:
        """Tokens proposed per step."""
        return self.trial.candidate.k

    @property
    def load_point(self) -> LoadPoint:
        """Where it was measured."""
        return self.load.load_point

    @property
    def speedup(self) -> Figure | None:
        """Over its own baseline, in the metric that decides."""
        return self.load.figures.get(self.trial.metric.speedup)

    @property
    def growth(self) -> Figure | None:
        """Plain steps that one of its steps takes; None where it is not known."""
        return measured_growth(self.load)

    @property
    def shortfall(self) -> float:
        """Plain steps that one of its steps takes beyond the tokens that it gives; 0 where it gives enough."""
        tokens, growth = self.load.figures["effective_tokens_per_step"].value, self.growth
        return max(growth.value - tokens, 0.0) if growth and growth.value is not None and tokens is not None else 0.0

    @property
    def pays(self) -> bool:
        """Whether it is faster than no speculation by its whole interval."""
        return self.speedup is not None and (self.speedup.low or 0.0) > 1.0


@dataclass(frozen=True)
class Line:
    """One draft at one temperature, engine arguments fixed: those of its candidates that may be judged, K ascending.

    subject: its name, with the engine arguments where several sets were tried.
    """

    subject: str
    temperature: float
    candidates: tuple[TrialFigures, ...]

    @property
    def first(self) -> Candidate:
        """The candidate of the smallest K."""
        return self.candidates[0].candidate

    @property
    def method(self) -> str:
        """As vLLM names it."""
        return self.first.speculation.method if self.first.speculation else ""

    @property
    def draft(self) -> str | None:
        """The draft model as the user wrote it; None for methods without one."""
        return self.first.speculation.draft if self.first.speculation else None

    @property
    def has_model(self) -> bool:
        """Whether a model or a head proposes, and not a text search."""
        return self.method not in (*NGRAM, "suffix")

    def points(self, trial: TrialFigures | None = None) -> tuple[Point, ...]:
        """Return one candidate's load points of this temperature, or all candidates'."""
        trials = self.candidates if trial is None else (trial,)
        return tuple(
            Point(one, load)
            for one in trials
            for load in one.loads
            if load.load_point.sampling.temperature == self.temperature
        )

    def at(self, load: LoadPoint) -> dict[int, Point]:
        """Return the points at one load point, by K."""
        return {point.k: point for point in self.points() if point.load_point.key == load.key}

    @property
    def loads(self) -> tuple[LoadPoint, ...]:
        """Its load points, each once, by concurrency."""
        unique = {point.load_point.key: point.load_point for point in self.points()}
        return tuple(sorted(unique.values(), key=lambda load: load.concurrency))

    def __contains__(self, candidate: Candidate) -> bool:
        return any(one.candidate.key == candidate.key for one in self.candidates)


@dataclass(frozen=True)
class Measured:
    """Everything a rule may look at.

    trials: those that the answer rests on, failed ones too.  timed_apart: drafts served alone, and n-gram.
    target: as the user wrote it.  notices: what preflight said.  changes, splits: settings that speculation drags
    along, and what they cost where that was measured.
    """

    findings: Findings
    trials: Sequence[Trial]
    timed_apart: Apart = NOTHING
    target: str = ""
    notices: Sequence[Notice] = ()
    changes: Sequence[NamedChange] = ()
    splits: Sequence[Split] = ()
    by_number: Mapping[int, Trial] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_number", {trial.record.number: trial for trial in self.trials})

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Every draft at every temperature; candidates that may not win are left out, as their figures may be false."""
        barred = {(b.candidate.key, b.temperature) for b in self.findings.barred if b.bar.kind not in _TRUE_FIGURES}
        groups: dict[tuple[str, str, str, float], dict[int, TrialFigures]] = {}
        for temperature in (answer.temperature for answer in self.findings.answers):
            for trial in self._speculating:
                spec = trial.candidate.speculation
                if spec is None or (trial.candidate.key, temperature) in barred:
                    continue
                key = (spec.draft_name, spec.method, trial.candidate.args_key, temperature)
                groups.setdefault(key, {}).setdefault(trial.candidate.k, trial)
        several = len({args_key for _, _, args_key, _ in groups}) > 1
        return tuple(
            Line(_subject(by_k, several), temperature, tuple(by_k[k] for k in sorted(by_k)))
            for (_, _, _, temperature), by_k in groups.items()
        )

    @property
    def _speculating(self) -> list[TrialFigures]:
        """Return the candidates' figures: of their fresh lives where there are several, else of the single one."""
        fresh = {arm.candidate.key: arm for arm in self.findings.finals if arm.lives > 1}
        return [fresh.get(trial.candidate.key, trial) for trial in self.findings.trials if trial.candidate.k]

    @cached_property
    def loads(self) -> tuple[LoadPoint, ...]:
        """Every load point with a figure."""
        found = {load.load_point.key: load.load_point for trial in self.findings.trials for load in trial.loads}
        return tuple(found.values())

    def answer(self, temperature: float) -> Answer:
        """Return the answer for that temperature."""
        return next(answer for answer in self.findings.answers if answer.temperature == temperature)

    def wins(self, line: Line) -> bool:
        """Whether one of the line's candidates is recommended at its temperature."""
        answer = self.answer(line.temperature)
        return answer.verdict in SPECULATES and answer.best in line

    def loses(self, line: Line) -> bool:
        """Whether the line is not recommended and clearly pays at none of its load points."""
        return not self.wins(line) and not any(point.pays for point in line.points())

    def overall(self, line: Line) -> list[tuple[TrialFigures, Figure]]:
        """Return the candidates' speedups over the load points of the line at which they have one, the best first."""
        found = []
        for trial in line.candidates:
            loads = [p.load_point for p in line.points(trial) if p.speedup is not None and p.speedup.value is not None]
            if loads:
                found.append((trial, objective_speedup(trial, line.temperature, loads)))
        return sorted(found, key=lambda one: -(one[1].value or 0.0))

    def falls_short(self, line: Line) -> bool:
        """Whether the line loses, and each of its candidates was measured slower than no speculation.

        Why a draft loses can only be asked where it loses by what was measured: one that was measured faster, within
        noise, may pay.
        """
        speedups = self.overall(line)
        return self.loses(line) and bool(speedups) and (speedups[0][1].value or 0.0) < 1.0

    def clearly_slower(self, line: Line) -> bool:
        """Whether the line falls short by whole intervals, so by more than noise and the baseline's drift explain."""
        return self.falls_short(line) and all(x.high is not None and x.high < 1.0 for _, x in self.overall(line))

    def plain(self, point: Point) -> LoadFigures | None:
        """Return the figures of the point's own baseline at its load point."""
        place = (point.trial.device_key, point.trial.candidate.args_key)
        loads = (
            load
            for trial in self.findings.trials
            if not trial.candidate.k and (trial.device_key, trial.candidate.args_key) == place
            for load in trial.loads
        )
        return next((load for load in loads if load.load_point.key == point.load_point.key), None)

    def best_point(self, points: Sequence[Point]) -> Point | None:
        """Return the fastest of these points, None where none has a speedup."""
        known = [point for point in points if point.speedup is not None and point.speedup.value]
        return max(known, key=lambda point: (point.speedup.value or 0.0) if point.speedup else 0.0, default=None)

    def first_positions(self, point: Point, positions: int) -> Figure | None:
        """Return the share accepted of the first so many proposed tokens of each draft; None without drafts.

        Drafts of one prompt are alike (on a recorded H200 run their share varies 1.4 to 75 times as much as that of as
        many independent drafts would), so the interval is over prompts: Student-t on the ratio estimator's residuals.
        It is missing where the streamed chunks do not show single steps.
        """
        of_each = [figure.value for figure in point.load.acceptance_by_position[:positions]]
        known = [value for value in of_each if value is not None]
        if not known or len(known) < len(of_each):
            return None
        value, drafts = math.fsum(known) / len(known), point.load.acceptance_by_position[0]
        figure = Figure(value, "fraction", FIRST, drafts.n, drafts.n_of)
        error = self._over_prompts(point, len(known), value)
        if error is None:
            return figure
        half, prompts = error
        return Figure(value, "fraction", FIRST, prompts, "prompts", max(value - half, 0.0), min(value + half, 1.0))

    def _over_prompts(self, point: Point, positions: int, share: float) -> tuple[float, int] | None:
        """Return half the width of a 95 % interval over prompts, and how many there are; None where it is not known."""
        trial = self.by_number.get(point.trial.number)
        view = load_view(trial, point.load_point.key) if trial else None
        if view is None:
            return None
        steps: dict[str, list[int]] = {}
        for sample in view.samples:
            steps.setdefault(sample.prompt_id, []).extend(sample.chunk_tokens[1:])
        drafts = {prompt: len(chunks) for prompt, chunks in steps.items() if chunks}
        total, n = sum(drafts.values()), len(drafts)
        if n < _ENOUGH_PROMPTS:
            return None
        accepted = {p: sum(min(max(c - 1, 0), positions) for c in steps[p]) / positions for p in drafts}
        seen = sum(accepted.values()) / total
        if abs(seen - share) > AGREES:
            return None
        residuals = [accepted[p] - seen * drafts[p] for p in drafts]
        variance = math.fsum(r * r for r in residuals) / (n - 1) * n / total**2
        return student_t(0.95, n - 1) * math.sqrt(variance), n


_ENOUGH_PROMPTS = 3
_TRUE_FIGURES = frozenset({BarKind.OVER_LIMIT, BarKind.PREEMPTED, BarKind.MORE_FAILURES, BarKind.CONTEXT_DIFFERS})
"""Bars of candidates whose speed and acceptance are their own all the same."""


def _subject(by_k: Mapping[int, TrialFigures], several: bool) -> str:
    first = next(iter(by_k.values())).candidate
    given = ", ".join(f"{name} {value}" for name, value in first.engine_args.items())
    return f"{first.draft_name} ({given})" if several and given else first.draft_name
