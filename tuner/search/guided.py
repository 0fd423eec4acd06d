"""The guided search: few engine starts to the best K of each draft. Pure: its answer follows from its arguments.

The baseline first; of each draft a run at the largest K, which tells acceptance at every smaller one; then whatever is
expected to gain most over the best measured one, until nothing is worth an engine start. A draft whose every K is
unlikely to win gets no further start. What was measured moves the belief, and where it contradicts a prediction the
belief widens, so that more is measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.prediction import ModelError
from tuner.records import Candidate, LoadPoint, Outcome, Tried
from tuner.search.belief import Belief, Best, Option, believe, options
from tuner.search.curves import History, curves, settled


@dataclass(frozen=True)
class Decision:
    """What to start next.

    candidate: None where there is nothing to start; `done` tells whether for good or until something ends.
    why: one sentence for a person.
    """

    candidate: Candidate | None
    done: bool
    why: str


@dataclass(frozen=True)
class GuidedSettings:
    """worth: expected gain in log TPOT below which an engine start is not worth its time.

    life_sd: log SD between two lives of one engine.  repeat_sd: standard error of a life where it had one repeat only.
    """

    worth: float = 0.0015
    life_sd: float = 0.01
    repeat_sd: float = 0.015


class Guided:
    """Names the next candidate to start.

    candidates: all of them, baselines included; only the first baseline is ever named.  loads: their temperatures are
    objectives of their own, the mean of log TPOT by the load points' weights.
    """

    def __init__(
        self, candidates: Sequence[Candidate], loads: Sequence[LoadPoint], settings: GuidedSettings | None = None
    ) -> None:
        self._settings = settings or GuidedSettings()
        self._baseline = next((c for c in candidates if c.k == 0), None)
        self._curves = curves(candidates)
        self._model = ModelError(self._settings.life_sd, self._settings.repeat_sd)
        self._objectives = {
            temperature: tuple(load for load in loads if load.sampling.temperature == temperature)
            for temperature in dict.fromkeys(load.sampling.temperature for load in loads)
        }

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next candidate, or that there is none now or none any more.

        tried: in the order in which they were started; RUNNING ones included.
        """
        history = settled(tried)
        return (
            self._start(history)
            or self._first_run(history)
            or self._most_gain(history)
            or (
                Decision(None, False, f"{history.running} running; what comes next depends on them")
                if history.running
                else Decision(None, True, "no further engine start is expected to gain enough")
            )
        )

    def _start(self, history: History) -> Decision | None:
        if self._baseline is None or self._baseline.key in history.outcomes:
            return None
        return Decision(self._baseline, False, "the baseline, which everything is compared with")

    def _first_run(self, history: History) -> Decision | None:
        for curve in self._curves:
            open_ = history.open(curve)
            if not open_ or history.of(curve, Outcome.MEASURED):
                continue
            running = history.of(curve, Outcome.RUNNING)
            if running:
                continue
            failed = history.of(curve, Outcome.FAILED, Outcome.MEMORY)
            candidate = _largest(open_, failed)
            return Decision(
                candidate, False, f"{candidate.label}, the largest K, tells acceptance at every smaller one"
            )
        return self._small_run(history)

    def _small_run(self, history: History) -> Decision | None:
        for curve in self._curves:
            open_ = history.open(curve)
            if not open_ or history.of(curve, Outcome.MEASURED) or len(history.of(curve, Outcome.RUNNING)) != 1:
                continue
            candidate = min(open_, key=lambda c: (abs(c.k - max(curve.ks) / 3), c.k))
            return Decision(
                candidate, False, f"{candidate.label}, a small K beside the largest, tells the time per step"
            )
        return None

    def _most_gain(self, history: History) -> Decision | None:
        found: list[tuple[Option, Best]] = []
        for loads in self._objectives.values():
            beliefs = [b for curve in self._curves if (b := believe(curve, history, loads, self._model)) is not None]
            best = self._best(beliefs, history, loads)
            if best is None:
                continue
            noise = math.hypot(self._settings.life_sd, self._settings.repeat_sd)
            for belief in beliefs:
                found += [(option, best) for option in options(belief, best, history.open(belief.curve), noise)]
        if not found:
            return None
        option, best = max(found, key=lambda pair: pair[0].gain)
        if option.gain < self._settings.worth:
            return None
        change = math.expm1(best.mean - option.log_tpot) * 100
        why = (
            f"{option.candidate.label} is predicted {change:+.1f} % (SD {option.sd * 100:.1f} %) faster than "
            f"{best.candidate.label}, the best so far"
        )
        return Decision(option.candidate, False, why)

    def _best(self, beliefs: Sequence[Belief], history: History, loads: Sequence[LoadPoint]) -> Best | None:
        found = [
            Best(float(b.mean[i]), float(b.cov[i, i]), b.curve.candidates[i], b, i)
            for b in beliefs
            for i in (*b.known, *b.running)
        ]
        baselines = {c.key: c for curve in self._curves if (c := curve.candidates[0].baseline)}
        for baseline in baselines.values():
            seen = [(load.weight, o) for load in loads if (o := history.observed(baseline, load.key)) is not None]
            if len(seen) == len(loads):
                total = math.fsum(weight for weight, _ in seen)
                mean = math.fsum(weight * o.log_tpot for weight, o in seen) / total
                variance = math.fsum(weight * self._model.variance(o) for weight, o in seen) / total
                found.append(Best(mean, variance, baseline))
        return min(found, key=lambda best: best.mean) if found else None


def _largest(open_: Sequence[Candidate], failed: Sequence[Candidate]) -> Candidate:
    """Return the largest K; after one that ran out of memory, one that is clearly smaller."""
    out_of = min((c.k for c in failed), default=None)
    smaller = [c for c in open_ if out_of is None or c.k < out_of]
    return smaller[-1] if smaller else open_[-1]
