"""What the study is asked and told: a trial's figures against its own baseline, as objectives and as words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tuner.analysis.comparison import objective_speedup, objective_tpot
from tuner.analysis.metrics import trial_figures
from tuner.records import Candidate, Json, Role, Trial, TrialFigures, TrialRecord
from tuner.search.study import Study

_QUESTIONS = (Role.BASELINE, Role.CANDIDATE)
"""Roles of the trials that answer a question of the study; all others are there to judge those."""


class Telling:
    """Keeps the study in line with the records.  best: words on the best candidate so far, "" before there is one."""

    def __init__(self, study: Study, temperatures: Sequence[float]) -> None:
        self.best = ""
        self._best_speedup = 0.0
        self._study = study
        self._temperatures = temperatures
        self._asked: set[str] = set()
        self._baselines: dict[tuple[str, str], Trial] = {}

    @property
    def waiting(self) -> int:
        """Candidates that were not asked for yet."""
        return self._study.waiting

    def resume(self, trials: Iterable[Trial], counts: Callable[[TrialRecord], bool]) -> list[TrialRecord]:
        """Bring the study in line with an earlier session's trials; return the records of those that count."""
        done: list[TrialRecord] = []
        told: list[tuple[Candidate, Sequence[float] | None, dict[str, Json]]] = []
        for trial in trials:
            record = trial.record
            if not counts(record):
                continue
            done.append(record)
            figures = self._figures(trial)
            if record.role in _QUESTIONS:
                told.append((record.candidate, self._values(figures), self._attrs(record, figures)))
        self._study.reconcile(told)
        return done

    def ask(self) -> Candidate | None:
        """Return the study's next candidate, None when there is none."""
        candidate = self._study.ask()
        if candidate is not None:
            self._asked.add(candidate.key)
        return candidate

    def keep(self, trial: Trial) -> TrialFigures | None:
        """Tell the study of a finished trial if it asked for it; return the trial's figures, None if it failed."""
        record, figures = trial.record, self._figures(trial)
        # A further device's own baseline, and whatever runs after selection, was not the study's question.
        if record.role in _QUESTIONS and record.candidate.key in self._asked:
            self._asked.discard(record.candidate.key)
            self._study.tell(record.candidate, self._values(figures), self._attrs(record, figures))
        return figures

    def _figures(self, trial: Trial) -> TrialFigures | None:
        """Return the trial's figures against its own baseline, and remember baselines."""
        record = trial.record
        if not record.ok:
            return None
        group = (record.worker.device_key, record.candidate.args_key)
        if record.role is Role.BASELINE:
            self._baselines[group] = trial
        if record.candidate.k == 0 and record.role is not Role.BASELINE_AGAIN:
            return trial_figures(trial, None)
        return trial_figures(trial, self._baselines.get(group))

    def _values(self, figures: TrialFigures | None) -> list[float] | None:
        """Return the study's objectives, one per temperature; None for a failed trial."""
        if figures is None:
            return None
        values = [objective_tpot(figures, temperature) for temperature in self._temperatures]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else None

    def _attrs(self, record: TrialRecord, figures: TrialFigures | None) -> dict[str, Json]:
        if figures is None:
            return {"failed": record.failure.message if record.failure else "no figures"}
        attrs: dict[str, Json] = {"trial": record.number, "device": record.worker.device}
        for temperature in self._temperatures:
            speedup = objective_speedup(figures, temperature).value
            attrs[f"speedup_t{temperature:g}"] = speedup
            if record.role is Role.CANDIDATE and speedup is not None and speedup > self._best_speedup:
                self.best, self._best_speedup = f"{record.candidate.label} {speedup:.2f}x", speedup
        for load in figures.loads:
            attrs[f"acceptance_rate {load.load_point.key}"] = load.figures["acceptance_rate"].value
        return attrs
