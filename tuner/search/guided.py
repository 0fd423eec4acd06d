"""The guided search: few engine starts to the best K of each draft. Pure: its answer follows from its arguments.

The baseline first; of each draft a run at the largest K, which tells acceptance at every smaller one; then whatever is
expected to gain most over the best measured one, until nothing is worth an engine start. A draft whose every K is
unlikely to win gets no further start. What was measured moves the belief, and where it contradicts a prediction the
belief widens, so that more is measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.foretold import Foretold, foretold
from tuner.analysis.prediction import Fit, ModelError
from tuner.records import Candidate, LoadPoint, Tried, canonical_json
from tuner.search.belief import Best, Option, fitted, options
from tuner.search.curves import Curve, History, curves
from tuner.search.decision import Decision
from tuner.search.opening import opening, reference_curves
from tuner.search.views import View, view

__all__ = ["Decision", "Guided", "GuidedSettings"]


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
        self._candidates = tuple(candidates)
        self._curves = curves(candidates)
        self._varying = _varying(candidates)
        self._model = ModelError(self._settings.life_sd, self._settings.repeat_sd)
        self._loads = tuple(loads)
        self._temperatures = tuple(dict.fromkeys(load.sampling.temperature for load in loads))

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next candidate, or that there is none now or none any more.

        tried: in the order in which they were started; RUNNING ones included.
        """
        history = History(tuple(tried))
        if self._baseline is not None and self._baseline.key not in history.outcomes:
            return Decision(self._baseline, False, "the baseline comes first: everything is compared with it")
        references = reference_curves(self._curves, history)
        return opening(references, history) or self._most_gain(references, history) or self._nothing(history)

    def _nothing(self, history: History) -> Decision:
        if history.running:
            return Decision(None, False, f"{history.running} running: what comes next depends on what they show")
        if any(history.open(curve) for curve in self._curves):
            why = "no K that was not measured is expected to gain enough to be worth an engine start"
            return Decision(None, True, why)
        return Decision(None, True, "every K that can be measured was measured")

    def report(self, tried: Sequence[Tried]) -> tuple[Foretold, ...]:
        """Return predictions beside measurements: what each K was expected to take before it was measured."""
        return foretold(tried, self._candidates, self._loads, self._model)

    def _most_gain(self, references: Sequence[Curve], history: History) -> Decision | None:
        fits = fitted(references, history, self._loads, self._model)
        views = self._views(references, history, fits)
        for widely in (False, True):
            found = [pair for view in views for pair in self._offers(view, history, widely)]
            if found:
                option, best = max(found, key=lambda pair: pair[0].gain)
                if option.gain >= self._settings.worth:
                    return Decision(option.candidate, False, self._why(option, best))
        return None

    def _why(self, option: Option, best: Best) -> str:
        change = math.expm1(best.mean - option.log_tpot) * 100
        return (
            f"{self._named(option.candidate)} is predicted {abs(change):.1f} % {'faster' if change >= 0 else 'slower'} "
            f"(SD {option.sd * 100:.1f} %) than {self._named(best.candidate)}, the best so far: "
            f"expected gain of trying it {option.gain * 100:.1f} %"
        )

    def _named(self, candidate: Candidate) -> str:
        """Return a candidate's label with the engine arguments that differ between candidates."""
        shown = [f"{name} {candidate.engine_args[name]}" for name in self._varying if name in candidate.engine_args]
        return f"{candidate.label} ({', '.join(shown)})" if shown else candidate.label

    def _offers(self, view: View, history: History, widely: bool) -> list[tuple[Option, Best]]:
        if view.best is None:
            return []
        noise = math.hypot(self._settings.life_sd, self._settings.repeat_sd)
        found = []
        for belief in (*view.references, *view.variants) if widely else view.references:
            for option in options(belief, view.best, history.open(belief.curve), noise):
                chance = history.chance(belief.curve, option.candidate)
                found.append((replace(option, gain=option.gain * chance), view.best))
        return found

    def _views(self, references: Sequence[Curve], history: History, fits: Mapping[str, Fit]) -> list[View]:
        """Return a view for each objective: of each temperature all load points.

        Where speculation pays over none of that, also those up to the highest concurrency where it may pay.
        """
        found = []
        for temperature in self._temperatures:
            loads = tuple(load for load in self._loads if load.sampling.temperature == temperature)
            for up_to in sorted({load.concurrency for load in loads}, reverse=True):
                low = tuple(load for load in loads if load.concurrency <= up_to)
                seen = view(self._curves, references, history, low, self._model, fits)
                if seen.pays or len(low) == len(loads):
                    found.append(seen)
                if seen.pays:
                    break
        return found


def _varying(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the engine arguments that candidates differ in."""
    sets = {c.args_key: c.engine_args for c in candidates}.values()
    names = dict.fromkeys(name for args in sets for name in args)
    return tuple(name for name in names if len({canonical_json(args.get(name)) for args in sets}) > 1)
