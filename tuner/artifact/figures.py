"""Figures as the artifact has them."""

from __future__ import annotations

from typing import ClassVar

from tuner.artifact.part import Part, SparsePart
from tuner.records import Limit, SameOutput

Number = int | float


class MeasuredFigure(SparsePart):
    """One number with what a reader needs to trust it.

    value: null when undefined, and then `note` says why.  unit: of value, low and high.  low, high: 95 % interval, left
    out if there is none.  n: how many observations it rests on.  n_of: of what kind they are.
    estimator: name of the formula, see docs/reference/metrics.md.  note: what to know.
    """

    always: ClassVar[frozenset[str]] = frozenset({"value"})

    value: Number | None
    unit: str
    estimator: str
    n: int
    n_of: str
    low: Number | None = None
    high: Number | None = None
    note: str = ""


class Resolution(Part):
    """How fine a difference the answer could tell.  Effects are fractions: 0.03 is a speedup of 1.03x.

    effect: the measured one, or the smallest worth knowing where that is larger.
    limited_by: where most of the uncertainty comes from.  smallest_effect: what would have been called in nine of ten
    sweeps like this one.  needed: as many of what limits it settle `effect`, null where more would not help.
    life_sd, repeat_sd: of a log speedup from life to life and from its repeats, null where one life cannot tell.
    """

    limited_by: Limit
    smallest_effect: Number
    effect: Number
    needed: int | None
    life_sd: Number | None = None
    repeat_sd: Number | None = None


class Divergence(Part):
    """Where one answer first differs from the baseline's.

    prompt_id: of the prompt.  position: index of the first differing output token.  gap: the baseline's own log
    probability of its first choice minus that of its second there, nats; null where it is not known.
    """

    prompt_id: str
    position: int
    gap: Number | None


class Outputs(SparsePart):
    """Outputs against the baseline's at one load point.

    verdict: of this load point.  divergences: where answers part.
    equal, compared: answers with the same token ids, of how many.  self_equal, self_compared: the same among the
    baseline's own.  p_value: of the test on sampled first tokens, where it was made.  note: the evidence in words.
    """

    verdict: SameOutput
    equal: int
    compared: int
    self_equal: int
    self_compared: int
    divergences: tuple[Divergence, ...] = ()
    p_value: Number | None = None
    note: str = ""
