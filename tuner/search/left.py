"""What a sweep did not measure, and why: for the end of a sweep, in words. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tuner.analysis.foretold import Foretold
from tuner.records import Candidate, Outcome, Tried
from tuner.search.feasible import ruled_out
from tuner.words import distinguishing

TOLD_SD = 0.05
"""Log SD up to which a prediction is told as a figure; what is less sure than that is told as a range."""
RANGE_SDS = 2.0


@dataclass(frozen=True)
class Predicted:
    """A predicted speedup over no speculation, as a logarithm, and its SD."""

    log: float
    sd: float

    @property
    def rough(self) -> bool:
        """Whether it is too unsure to be told as a figure: far from every K that was measured, mostly."""
        return self.sd > TOLD_SD

    @property
    def bounds(self) -> tuple[float, float]:
        """The speedups RANGE_SDS below and above it."""
        return math.exp(self.log - RANGE_SDS * self.sd), math.exp(self.log + RANGE_SDS * self.sd)


def left_words(
    candidates: Sequence[Candidate],
    tried: Sequence[Tried],
    predicted: Mapping[str, Predicted],
    ended_by: str,
    held: bool = False,
) -> tuple[str, ...]:
    """Return a line for each draft, set of engine arguments and reason: "good: K = 5-7 not measured: ...".

    predicted: speedups of candidates that were not measured, by key; those without are not predicted.  ended_by: what
    ended a search that had further questions, "" where it had none.  held: whether it ended because what the last sweep
    found best still is.
    """
    known = {one.candidate.key for one in tried}
    arguments = distinguishing(candidates)
    lines = []
    for name, group in _by_curve([c for c in candidates if c.k and c.key not in known], arguments).items():
        reasons = [(_reason(candidate, tried, {} if held else predicted, ended_by), candidate) for candidate in group]
        if held:
            reasons = [(_HELD if reason == _NO_GAIN else reason, candidate) for reason, candidate in reasons]
        for reason in dict.fromkeys(reason for reason, _ in reasons):
            of_reason = [candidate for other, candidate in reasons if other == reason]
            lines.append(
                f"{name}: K = {k_words(c.k for c in of_reason)} not measured: {_words(reason, of_reason, predicted)}"
            )
    return tuple(lines)


def predicted_speedups(report: Iterable[Foretold], tried: Sequence[Tried]) -> dict[str, Predicted]:
    """Return the speedup over no speculation that is predicted of candidates without measurement, by key.

    The weighted geometric mean over the load points of a temperature; of several temperatures the largest. Its SD is
    that of errors which all load points share.
    """
    plain = {one.candidate.args_key: one.loads for one in tried if not one.candidate.k and one.loads}
    gains: dict[tuple[str, float], list[tuple[float, float, float]]] = {}
    for one in report:
        baseline = plain.get(one.candidate.args_key, {}).get(one.load.key)
        if one.measured is None and one.predicted is not None and baseline is not None:
            place = (one.candidate.key, one.load.sampling.temperature)
            gain = baseline.log_tpot - one.predicted
            gains.setdefault(place, []).append((one.load.weight, gain, one.sd or 0.0))
    found: dict[str, Predicted] = {}
    for (key, _), parts in gains.items():
        total = math.fsum(weight for weight, _, _ in parts)
        mean, sd = (math.fsum(part[0] * part[i] for part in parts) / total for i in (1, 2))
        if key not in found or mean > found[key].log:
            found[key] = Predicted(mean, sd)
    return found


def k_words(ks: Iterable[int]) -> str:
    """Return "1-3, 5": K ascending, three or more in a row as a range."""
    runs = []
    for _, pairs in groupby(enumerate(sorted(ks)), lambda pair: pair[1] - pair[0]):
        run = [k for _, k in pairs]
        runs += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(k) for k in run]
    return ", ".join(runs)


_PREDICTED = "predicted"
_ROUGHLY = "predicted only roughly"
_NO_GAIN = "no gain was expected of an engine start"
_HELD = "the best of the last sweep still is"


def _reason(candidate: Candidate, tried: Sequence[Tried], predicted: Mapping[str, Predicted], ended_by: str) -> str:
    """Return why a candidate was not measured; _PREDICTED or _ROUGHLY where it was predicted not to win."""
    outcomes = {one.candidate.key: one.outcome for one in tried}
    if outcomes.get(candidate.baseline.key) in (Outcome.FAILED, Outcome.MEMORY):
        return "the engine failed without speculation already"
    failed = ruled_out(candidate, [one.candidate for one in tried if one.outcome is Outcome.MEMORY])
    if failed is not None:
        return f"K = {failed.k} ran out of memory"
    if ended_by:
        return f"left open, {ended_by}"
    if candidate.key not in predicted:
        return _NO_GAIN
    return _ROUGHLY if predicted[candidate.key].rough else _PREDICTED


def _words(reason: str, candidates: Sequence[Candidate], predicted: Mapping[str, Predicted]) -> str:
    if reason == _ROUGHLY:
        lows, highs = zip(*(predicted[candidate.key].bounds for candidate in candidates), strict=True)
        return f"{reason}, {min(lows):.2f}x to {max(highs):.2f}x"
    if reason != _PREDICTED:
        return reason
    most = math.exp(max(predicted[candidate.key].log for candidate in candidates))
    return f"predicted {most:.2f}x" + (" or less" if len(candidates) > 1 else "")


def _by_curve(candidates: Sequence[Candidate], arguments: Sequence[str]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        given = ", ".join(f"{name} {candidate.engine_args.get(name, 'default')}" for name in arguments)
        found.setdefault(f"{candidate.draft_name} ({given})" if given else candidate.draft_name, []).append(candidate)
    return found
