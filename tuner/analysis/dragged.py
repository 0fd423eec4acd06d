"""What of a speedup comes from speculation itself, and what from the settings that it drags along.

With a second baseline that has those settings, a speedup is a product:

    plain / candidate = (plain / same settings) x (same settings / candidate)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.analysis.metrics import trial_figures
from tuner.records import Candidate, Figure, LoadPoint, Trial


@dataclass(frozen=True)
class Split:
    """One candidate at one load point.

    speedup: over the plain baseline.  settings: the second baseline over the plain one, what the settings alone cost
    (below 1) or bring.  speculation: over the second baseline, what speculation itself does.
    """

    candidate: Candidate
    load_point: LoadPoint
    speedup: Figure
    settings: Figure
    speculation: Figure


def split_speedup(candidate: Trial, plain: Sequence[Trial], same: Trial) -> tuple[Split, ...]:
    """Return the two factors of a candidate's speedup at each load point that all have.

    plain: lives of the baseline, first one first.  same: the baseline with the settings that the candidate ran with.
    Each factor is paired by prompt; as in every speedup, the drift between the plain baseline's lives widens its
    interval. The second baseline has a single life: how it differs from life to life is in no interval.
    """
    first, *later = plain
    whole = {load.load_point.key: load for load in trial_figures(candidate, first, *later).loads}
    settings = {load.load_point.key: load for load in trial_figures(same, first, *later).loads}
    inner = {load.load_point.key: load for load in trial_figures(candidate, same).loads}
    return tuple(
        Split(
            candidate.record.candidate,
            load.load_point,
            load.figures["speedup_tpot"],
            settings[key].figures["speedup_tpot"],
            inner[key].figures["speedup_tpot"],
        )
        for key, load in whole.items()
        if all("speedup_tpot" in loads[key].figures for loads in (whole, settings, inner) if key in loads)
        and key in settings
        and key in inner
    )
