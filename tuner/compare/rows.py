"""Load points that two sweeps share, and the rows of figures that are compared there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.analysis.statistics import Estimate
from tuner.compare.figures import FIGURES, ComparedFigure, FigureName
from tuner.compare.quantity import Quantity, exactly, log_ratio, nothing, on_common_prompts
from tuner.compare.sides import Arm, Side, SideAnswer, SideLoad, setting_key
from tuner.records import Candidate, LoadPoint, Verdict

_LIKE_FOR_LIKE = ("acceptance_length", "step_cost")
"""Figures that say something of a setting, and nothing where two settings are compared."""


@dataclass(frozen=True)
class RawRow:
    """One figure in both sweeps at one load point, before anything is concluded.

    of: the setting, or both where they are not the same.  ratio: log(new / old).  same_setting: whether it is one.
    """

    load: LoadPoint
    name: FigureName
    of: str
    old: Quantity
    new: Quantity
    ratio: Estimate | None
    left_out: int
    is_deployed: bool


def common_loads(old: Side, new: Side) -> tuple[list[tuple[SideLoad, SideLoad]], list[str]]:
    """Return the load points that both have, in the newer one's order, and what cannot be compared, in words.

    The same load point has equal parameters (its weight aside) and an eval set of equal content; a content that one
    of the two did not record is taken to be the same.
    """
    theirs = {load.load.key: load for load in old.loads}
    pairs, apart = [], []
    for load in new.loads:
        before = theirs.pop(load.load.key, None)
        if before is None:
            apart.append(f"{load.load.label}: NEW alone has it")
        elif None not in (before.eval_set_hash, load.eval_set_hash) and before.eval_set_hash != load.eval_set_hash:
            apart.append(f"{load.load.label}: the eval set {load.load.eval_set} has other content")
        else:
            pairs.append((before, load))
    return pairs, [*apart, *(f"{load.load.label}: OLD alone has it" for load in theirs.values())]


def raw_rows(old: SideLoad, new: SideLoad, before: SideAnswer, after: SideAnswer) -> Iterator[RawRow]:
    """Yield the figures of one load point that at least one of the sweeps has."""
    speculates = bool(before.best.k or after.best.k)
    for name, figure in FIGURES.items():
        if not speculates and (figure.of_baseline or figure.quantity not in ("tpot", "ttft")):
            continue  # the deployed engine is the baseline: its TPOT and TTFT are the deployed ones
        of, quantities = _subjects(name, figure, old, new, before, after)
        first, second, left_out = on_common_prompts(*quantities)
        if first.estimate is None and second.estimate is None and not figure.decides:
            continue
        ratio = log_ratio(first.estimate, second.estimate)
        yield RawRow(new.load, name, of, first, second, ratio, left_out, not figure.of_baseline)


def _subjects(
    name: FigureName, figure: ComparedFigure, old: SideLoad, new: SideLoad, before: SideAnswer, after: SideAnswer
) -> tuple[str, tuple[Quantity, Quantity]]:
    def taken(first: Arm, second: Arm) -> tuple[Quantity, Quantity]:
        missing = nothing("it was not measured")
        return first.get(figure.quantity, missing), second.get(figure.quantity, missing)

    if figure.of_baseline:
        return "no speculation", taken(old.baseline, new.baseline)
    if name in _LIKE_FOR_LIKE:
        setting = like_for_like(old, new, before.best, after.best, figure.quantity)
        key = setting_key(setting)
        return setting.label, taken(old.arms.get(key, {}), new.arms.get(key, {}))
    words = dict.fromkeys((_stands_for(before, after).label, _stands_for(after, before).label))
    first, second = _deployed(old, before, after), _deployed(new, after, before)
    return " -> ".join(words), taken(first, second)


def like_for_like(old: SideLoad, new: SideLoad, before: Candidate, after: Candidate, quantity: str) -> Candidate:
    """Return the setting that both sweeps know most of: the older one's best before the newer one's."""
    settings = [setting for setting in (before, after) if setting.k]

    def known(setting: Candidate) -> int:
        key = setting_key(setting)
        both = [side.arms.get(key, {}).get(quantity) for side in (old, new)]
        found = [one.estimate for one in both if one is not None and one.estimate is not None]
        return len(found) + sum(estimate.se is not None for estimate in found)

    return max(settings, key=known)  # the first of equals


def _stands_for(answer: SideAnswer, other: SideAnswer) -> Candidate:
    """Return the setting whose figures are those of what a sweep recommends to deploy.

    Advice against speculation is a claim: then that is the engine without it. A sweep that could not tell claims
    nothing, so the other sweep's setting stands for it.
    """
    return other.best if not answer.best.k and answer.verdict is not Verdict.DO_NOT else answer.best


def _deployed(load: SideLoad, answer: SideAnswer, other: SideAnswer) -> Arm:
    setting = _stands_for(answer, other)
    if setting.k:
        why = "it was not measured" if answer.best.k else "the sweep was inconclusive and recommends nothing"
        return {**dict.fromkeys(("speedup", "tpot", "ttft"), nothing(why)), **load.arms.get(setting_key(setting), {})}
    if answer.verdict is Verdict.DO_NOT:
        return {**load.baseline, "speedup": exactly(1.0, "no speculation, 1 by definition")}
    return load.baseline
