"""What the study is asked and told: a trial's figures against its own baseline, as objectives and as words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tuner.analysis.comparison import objective_cost, objective_speedup
from tuner.analysis.limits import constraints
from tuner.analysis.metrics import trial_figures
from tuner.records import Candidate, Goal, Json, LoadPoint, Role, Trial, TrialFigures, TrialRecord
from tuner.search.attributes import CONSTRAINTS, NUMBER, OBSERVED
from tuner.search.decision import Decision
from tuner.search.observing import QUESTIONS, answers, told, told_json
from tuner.search.study import Study


class Telling:
    """Keeps the study in line with the records.

    loads: those of the space.  goal: what decides, and the limits to keep to, TPOT without limits if None.
    best: words on the best candidate so far, "" before there is one.
    """

    def __init__(
        self, study: Study, temperatures: Sequence[float], loads: Sequence[LoadPoint], goal: Goal | None = None
    ) -> None:
        self.best = ""
        self._best_speedup = 0.0
        self._study = study
        self._temperatures = temperatures
        self._loads = loads
        self._goal = goal or Goal()
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._baselines: dict[tuple[str, str], Trial] = {}

    @property
    def waiting(self) -> int:
        """Candidates that are expected to be asked for yet."""
        return self._study.waiting

    def resume(self, trials: Iterable[Trial], counts: Callable[[TrialRecord], bool]) -> list[TrialRecord]:
        """Bring the study in line with an earlier session's trials; return the records of those that count."""
        done = [trial for trial in trials if counts(trial.record)]
        figures = {trial.record.number: self._figures(trial) for trial in done}
        results = []
        for trial, baseline in answers(done):
            known = figures[trial.record.number]
            results.append((trial.record.candidate, self._values(known), self._attrs(trial, baseline, known)))
            self._note_answer(trial.record)
        self._study.reconcile(results)
        return [trial.record for trial in done]

    def ask(self) -> Decision:
        """Return the study's next candidate, or that there is none now or none any more."""
        decision = self._study.ask()
        if decision.candidate is not None:
            self._asked.add(decision.candidate.key)
        return decision

    def keep(self, trial: Trial) -> TrialFigures | None:
        """Tell the study of a finished trial if that answers it; return the trial's figures, None if it failed.

        A baseline that the schedule measured by itself answers a question before it is asked; that of a further device
        answers only what failed before.
        """
        record, figures = trial.record, self._figures(trial)
        if record.role in QUESTIONS:
            baseline = self._baselines.get((record.worker.device_key, record.candidate.args_key))
            values = self._values(figures)
            if record.candidate.key in self._asked:
                self._asked.discard(record.candidate.key)
                self._study.tell(record.candidate, values, self._attrs(trial, baseline, figures))
                self._note_answer(record)
            elif record.candidate.key not in self._answered and record.ok:
                self._study.add(record.candidate, values, self._attrs(trial, baseline, figures))
                self._note_answer(record)
        return figures

    def leave_out(self, candidate: Candidate, why: str) -> None:
        """Tell the study that nothing will come of a candidate; it keeps no record."""
        if candidate.key in self._asked:
            self._asked.discard(candidate.key)
            self._study.tell(candidate, None, {"failed": why})

    def _note_answer(self, record: TrialRecord) -> None:
        if record.ok:
            self._answered.add(record.candidate.key)

    def _figures(self, trial: Trial) -> TrialFigures | None:
        """Return the trial's figures against its own baseline, and remember baselines."""
        record = trial.record
        if not record.ok:
            return None
        group = (record.worker.device_key, record.candidate.args_key)
        if record.role is Role.BASELINE:
            self._baselines[group] = trial
        if record.candidate.k == 0 and record.role is not Role.BASELINE_AGAIN:
            return trial_figures(trial, None, metric=self._goal.metric)
        return trial_figures(trial, self._baselines.get(group), metric=self._goal.metric)

    def _values(self, figures: TrialFigures | None) -> list[float] | None:
        """Return the study's objectives, one per temperature; None for a failed trial."""
        if figures is None:
            return None
        values = [objective_cost(figures, temperature) for temperature in self._temperatures]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else None

    def _attrs(self, trial: Trial, baseline: Trial | None, figures: TrialFigures | None) -> dict[str, Json]:
        """Return what the study keeps beside the objectives, for people and for its sampler."""
        record = trial.record
        observed = told_json(told(trial, self._loads, baseline))
        attrs: dict[str, Json] = {NUMBER: record.number, "device": record.worker.device, OBSERVED: observed}
        if figures is None:
            return {**attrs, "failed": record.failure.message if record.failure else "no figures"}
        if self._goal.limits:
            attrs[CONSTRAINTS] = list(constraints(figures, self._goal, self._loads))
        for temperature in self._temperatures:
            speedup = objective_speedup(figures, temperature).value
            attrs[f"speedup_t{temperature:g}"] = speedup
            if record.role is Role.CANDIDATE and speedup is not None and speedup > self._best_speedup:
                self.best, self._best_speedup = f"{record.candidate.label} {speedup:.2f}x", speedup
        for load in figures.loads:
            attrs[f"acceptance_rate {load.load_point.key}"] = load.figures["acceptance_rate"].value
        return attrs
