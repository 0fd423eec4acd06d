"""Why a speedup changed: acceptance, the engine without speculation, or what a step with a draft costs.

TPOT is the time of a step over its tokens, so at a load point

    speedup = baseline TPOT / TPOT = tokens per step / (step with a draft / step without)

and a change of the speedup is the product of three: of the baseline's TPOT, of the tokens per step, and of the time of
a step with a draft. A faster baseline alone makes the speedup fall although nothing became slower; fewer accepted
tokens, or a step that became dearer while the baseline did not become faster, are speculation getting worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tuner.compare.figures import FigureName
from tuner.compare.rule import Outcome, claimed

if TYPE_CHECKING:
    from tuner.compare.judged import Row
    from tuner.records import LoadPoint

About = Literal["speculation", "engine"]
Outcomes = Mapping[FigureName, Outcome]


@dataclass(frozen=True)
class CauseRule:
    """One cause.  when: the outcomes that it takes; unless: one that speaks against it.  shown: the figure to name.

    about, outcome: what got better or worse by it.
    """

    code: str
    words: str
    about: About
    outcome: Outcome
    shown: FigureName
    when: tuple[FigureName, Outcome]
    unless: tuple[FigureName, Outcome] | None = None
    also: tuple[FigureName, Outcome] | None = None


_BETTER, _WORSE, _SAME = Outcome.BETTER, Outcome.WORSE, Outcome.SAME

RULES: tuple[CauseRule, ...] = (
    CauseRule(
        "acceptance_fell",
        "fewer tokens are accepted",
        "speculation",
        _WORSE,
        "acceptance_length",
        ("acceptance_length", _WORSE),
    ),
    CauseRule(
        "acceptance_rose",
        "more tokens are accepted",
        "speculation",
        _BETTER,
        "acceptance_length",
        ("acceptance_length", _BETTER),
    ),
    CauseRule(
        "step_dearer",
        "a step with a draft takes longer, compared with a step without",
        "speculation",
        _WORSE,
        "step_cost",
        ("step_cost", _WORSE),
        unless=("baseline_tpot", _BETTER),
    ),
    CauseRule(
        "step_cheaper",
        "a step with a draft takes less, compared with a step without",
        "speculation",
        _BETTER,
        "step_cost",
        ("step_cost", _BETTER),
        unless=("baseline_tpot", _WORSE),
    ),
    CauseRule(
        "baseline_faster",
        "the engine without speculation got faster",
        "engine",
        _BETTER,
        "baseline_tpot",
        ("baseline_tpot", _BETTER),
    ),
    CauseRule(
        "baseline_slower",
        "the engine without speculation got slower",
        "engine",
        _WORSE,
        "baseline_tpot",
        ("baseline_tpot", _WORSE),
    ),
    CauseRule(
        "step_did_not_follow",
        "steps with a draft did not get faster by as much",
        "engine",
        _BETTER,
        "step_cost",
        ("step_cost", _WORSE),
        also=("baseline_tpot", _BETTER),
    ),
    CauseRule(
        "step_held_up",
        "steps with a draft did not get slower by as much",
        "engine",
        _WORSE,
        "step_cost",
        ("step_cost", _BETTER),
        also=("baseline_tpot", _WORSE),
    ),
)


_BY_ENGINE = ("step_did_not_follow", "step_held_up")


@dataclass(frozen=True)
class Cause:
    """A cause that the figures show, and where.  rows: that show it, one a load point."""

    code: str
    words: str
    about: About
    outcome: Outcome
    rows: tuple[Row, ...]

    @property
    def load_points(self) -> tuple[LoadPoint, ...]:
        """Where it shows."""
        return tuple(row.load_point for row in self.rows)


@dataclass(frozen=True)
class Conclusion:
    """What became of speculation itself, and of the engine without it.

    speculation: of acceptance and of what a step costs, None where neither sweep recommends any.  engine: of the
    baseline's TPOT.
    """

    speculation: Outcome | None
    engine: Outcome


def causes(rows: Sequence[Row]) -> tuple[Cause, ...]:
    """Return every cause that shows at one load point or more."""
    by_load: dict[str, dict[FigureName, Row]] = {}
    for row in rows:
        by_load.setdefault(row.load_point.key, {})[row.figure] = row
    found = []
    for rule in RULES:
        shown = tuple(at[rule.shown] for at in by_load.values() if _holds(rule, at))
        if shown:
            found.append(Cause(rule.code, rule.words, rule.about, rule.outcome, shown))
    return tuple(found)


def _holds(rule: CauseRule, at: Mapping[FigureName, Row]) -> bool:
    def says(condition: tuple[FigureName, Outcome]) -> bool:
        figure, wanted = condition
        return figure in at and at[figure].outcome is wanted

    return (
        says(rule.when)
        and (rule.also is None or says(rule.also))
        and not (rule.unless is not None and says(rule.unless))
    )


def conclusion(rows: Sequence[Row], found: Sequence[Cause]) -> Conclusion:
    """Return what became of speculation and of the engine, over all load points.

    A step that became dearer because the baseline became faster, or cheaper because it became slower, is the engine's.
    """
    by_engine = [row for cause in found if cause.code in _BY_ENGINE for row in cause.rows]
    excused = {row.load_point.key for row in by_engine}
    own = [
        _SAME if row.figure == "step_cost" and row.load_point.key in excused else row.outcome
        for row in rows
        if row.figure in ("acceptance_length", "step_cost")
    ]
    plain = [row.outcome for row in rows if row.figure == _engine_figure(rows)]
    return Conclusion(claimed(own) if own else None, claimed(plain))


def _engine_figure(rows: Sequence[Row]) -> FigureName:
    """Return the figure that tells of the engine without speculation: where that is deployed, TPOT itself."""
    return "baseline_tpot" if any(row.figure == "baseline_tpot" for row in rows) else "tpot"
