"""The acceptance length that production should keep to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from tuner.analysis.accepted import visible_steps
from tuner.analysis.statistics import student_t
from tuner.artifact.beside import AcceptanceAlert
from tuner.artifact.figures import MeasuredFigure
from tuner.export.artifact_beside import Lives
from tuner.export.values import rounded
from tuner.records import Counters, LoadPoint, Trial

WINDOW = "15m"
CONFIDENCE = 0.99
LEAST_WIDTH = 0.05
"""Half the range is at least this share of the acceptance length: less is no reason to wake anybody."""
UNKNOWN_WIDTH = 0.2
"""The same where the spread between prompts is not known."""
LEAST_REQUESTS = 50
LEAST_DRAFTS = 1000


@dataclass(frozen=True)
class _Counted:
    """Drafts and accepted tokens at one load point, over all its repeats and lives.  requests: that they came from."""

    drafts: int
    accepted: int
    requests: int

    @property
    def length(self) -> float:
        """Tokens a draft, the bonus token included."""
        return 1 + self.accepted / self.drafts


def acceptance_alert(lives: Lives, rules_file: str) -> AcceptanceAlert | None:
    """Return the range to alert on; None where nothing was drafted, or nothing speculative is recommended.

    The mean of a window with W requests is expected within
        L +- t(99 %, n - 1) s sqrt(1/n + 1/W),
    the prediction interval of a mean, with s the standard deviation of the acceptance length between the n prompts that
    were measured, and W what `least_drafts` stand for. L is 1 + A/D by the engine's counters: the lowest of all load
    points for the lower end, the highest for the upper one. Half the range is at least LEAST_WIDTH of L, and
    UNKNOWN_WIDTH where s is not known: the prompts' own lengths are seen only where stream chunks are single steps.
    """
    counted = _by_load(lives)
    if not counted:
        return None
    k = max(trial.record.candidate.k for trial in lives.speculating)
    total = _Counted(*(sum(getattr(c, name) for c in counted) for name in ("drafts", "accepted", "requests")))
    drafts = max(LEAST_DRAFTS, math.ceil(LEAST_REQUESTS * total.drafts / max(total.requests, 1)))
    lengths = _length_by_prompt(lives)
    n, sd = len(lengths), statistics.stdev(lengths.values()) if len(lengths) > 1 else None
    window_requests = drafts * total.requests / total.drafts
    t = student_t(CONFIDENCE, n - 1) if sd is not None else 0.0

    def half(length: float) -> float:
        if sd is None:
            return UNKNOWN_WIDTH * length
        return max(LEAST_WIDTH * length, t * sd * math.sqrt(1 / n + 1 / max(window_requests, 1)))

    lowest, highest = min(c.length for c in counted), max(c.length for c in counted)
    return AcceptanceAlert(
        low=round(max(1.0, lowest - half(lowest)), 2),
        high=round(min(1.0 + k, highest + half(highest)), 2),
        measured=_measured(total, lengths, sd),
        prompts_sd=rounded(sd),
        least_drafts=drafts,
        window=WINDOW,
        rules_file=rules_file,
        why=_why(n, sd, len(counted)),
    )


def _measured(total: _Counted, lengths: Mapping[str, float], sd: float | None) -> MeasuredFigure:
    n = len(lengths)
    half = student_t(0.95, n - 1) * sd / math.sqrt(n) if sd is not None else None
    return MeasuredFigure(
        value=rounded(total.length),
        unit="tokens/draft",
        estimator="1 + A/D" if half is None else "1 + A/D, interval from the spread between prompts",
        n=total.drafts if half is None else n,
        n_of="drafts" if half is None else "prompts",
        low=None if half is None else rounded(max(1.0, total.length - half)),
        high=None if half is None else rounded(total.length + half),
        note=f"{total.drafts} drafts in {total.requests} requests",
    )


def _why(n: int, sd: float | None, load_points: int) -> str:
    over = f"over {load_points} load points" if load_points > 1 else "at the one load point"
    if sd is None:
        return f"{UNKNOWN_WIDTH:.0%} around what was measured {over}: the spread between prompts is not known"
    return (
        f"{CONFIDENCE:.0%} prediction interval of the mean of {LEAST_REQUESTS} requests or more like the {n} prompts "
        f"measured, {over}; at least {LEAST_WIDTH:.0%} to each side"
    )


def _by_load(lives: Lives) -> list[_Counted]:
    found: dict[str, list[tuple[Counters, int]]] = {}
    for trial in lives.speculating:
        for load in trial.record.loads:
            if load.load_point.sampling.temperature == lives.temperature:
                sound = [(r.counters, r.requests - r.failed) for r in load.repeats if not r.problems]
                found.setdefault(load.load_point.key, []).extend(sound)
    counted = [
        _Counted(
            sum(counters.drafts or 0 for counters, _ in of_load),
            sum(counters.accepted_tokens or 0 for counters, _ in of_load),
            sum(requests for _, requests in of_load),
        )
        for of_load in found.values()
    ]
    return [one for one in counted if one.drafts]


def _length_by_prompt(lives: Lives) -> dict[str, float]:
    """Return tokens per step of each prompt, from answers whose stream chunks are single steps."""
    delivered: dict[str, list[int]] = {}
    for trial in lives.speculating:
        for load in _loads(trial, lives.temperature):
            for prompt, answers in visible_steps(trial, load, trial.record.candidate.k).items():
                # An answer's last step is cut off by its end.
                delivered.setdefault(f"{load.eval_set} {prompt}", []).extend(n for one in answers for n in one[:-1])
    return {prompt: statistics.fmean(steps) for prompt, steps in delivered.items() if steps}


def _loads(trial: Trial, temperature: float) -> list[LoadPoint]:
    points = [load.load_point for load in trial.record.loads]
    return [point for point in points if point.sampling.temperature == temperature]
