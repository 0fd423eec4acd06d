"""Predictions beside measurements, for a report: did the search know what it claimed to know? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.analysis.arcs import curve_name
from tuner.analysis.prediction import Arc, ModelError, Prediction, fit, predictions
from tuner.records import Candidate, LoadPoint, Observed, Outcome, Tried


@dataclass(frozen=True)
class Foretold:
    """One K of one draft at one load point.

    predicted: log TPOT (seconds) and SD before it was measured, from the trials that came before; of a K that was never
    measured, from all of them.  None where nothing of the draft had been measured.  measured: log TPOT, None if never.
    """

    candidate: Candidate
    load: LoadPoint
    predicted: float | None
    sd: float | None
    measured: float | None

    @property
    def difference(self) -> float | None:
        """Return measured minus predicted, as a difference of logs: above 0 it took longer than predicted."""
        if self.predicted is None or self.measured is None:
            return None
        return self.measured - self.predicted


def foretold(
    tried: Sequence[Tried], candidates: Sequence[Candidate], loads: Sequence[LoadPoint], model: ModelError
) -> tuple[Foretold, ...]:
    """Return every prediction: of what was measured, in order, then of the K that never were, as `candidates` go.

    tried: in the order in which they were measured; what failed or still runs is left out.
    """
    measured = [one for one in tried if one.outcome is Outcome.MEASURED]
    found = []
    for place, one in enumerate(measured):
        if one.candidate.k and all(before.candidate.key != one.candidate.key for before in measured[:place]):
            told = _predicted([one.candidate], measured[:place], loads, model)
            found += [_entry(one.candidate, load, told, one.loads.get(load.key)) for load in loads]
    done = {one.candidate.key for one in measured}
    curves: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.k and candidate.key not in done:
            curves.setdefault(curve_name(candidate), []).append(candidate)
    for open_ in curves.values():
        told = _predicted(open_, measured, loads, model)
        found += [_entry(candidate, load, told, None) for candidate in open_ for load in loads]
    return tuple(found)


Told = Mapping[tuple[int, str], Prediction]
"""By K and load point key."""


def _entry(candidate: Candidate, load: LoadPoint, told: Told, seen: Observed | None) -> Foretold:
    one = told.get((candidate.k, load.key))
    measured = None if seen is None else seen.log_tpot
    return Foretold(candidate, load, one.log_tpot if one else None, one.sd if one else None, measured)


def _predicted(
    wanted: Sequence[Candidate], before: Sequence[Tried], loads: Sequence[LoadPoint], model: ModelError
) -> Told:
    """Return what earlier trials with the same engine arguments said of candidates of one curve."""
    here = [one for one in before if one.candidate.args_key == wanted[0].args_key]
    curves: dict[str, list[Tried]] = {}
    for one in here:
        if one.candidate.k:
            curves.setdefault(curve_name(one.candidate), []).append(one)
    name = curve_name(wanted[0])
    if name not in curves:
        return {}
    arcs, baselines = [], {}
    for load in loads:
        for curve, of_it in curves.items():
            runs = {one.candidate.k: one.loads[load.key] for one in of_it if load.key in one.loads}
            ks = {*runs, *(c.k for c in wanted)} if curve == name else {*runs}
            if runs:
                arcs.append(Arc(curve, load.key, load.concurrency, runs, tuple(sorted(ks))))
        plain = next((one.loads[load.key] for one in here if not one.candidate.k and load.key in one.loads), None)
        if plain is not None:
            baselines[load.key] = (load.concurrency, plain)
    fitted = fit(arcs, baselines, model)
    told = {arc.load: predictions(fitted, name, arc.load) for arc in arcs if arc.draft == name}
    return {(c.k, load): by_k[c.k] for c in wanted for load, by_k in told.items()}
