"""Two sweeps compared: every common figure with its interval, the verdict, the causes, and what they can be due to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.compare.causes import Cause, Conclusion, causes, conclusion
from tuner.compare.changes import Attribution, attribution
from tuner.compare.judged import Confidences, Row, judged
from tuner.compare.rows import common_loads, raw_rows
from tuner.compare.rule import Outcome, overall
from tuner.compare.sides import Side, SideAnswer
from tuner.compare.tolerances import Tolerances
from tuner.errors import InputError


@dataclass(frozen=True)
class BestRow:
    """What the two sweeps recommend at one temperature: verdict, setting and K schedule, in words."""

    temperature: float
    old: str
    new: str
    changed: bool


@dataclass(frozen=True)
class Comparison:
    """Everything that comparing two sweeps gives.

    confidences: of the ratios' intervals; all claims together are wrong in at most 5 % of comparisons.
    not_compared: load points that only one has, in words.  notes: what else to know.
    """

    old: str
    new: str
    outcome: Outcome
    conclusion: Conclusion
    rows: tuple[Row, ...]
    best: tuple[BestRow, ...]
    causes: tuple[Cause, ...]
    attribution: Attribution
    confidences: Confidences
    not_compared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def compare(old: Side, new: Side, tolerances: Tolerances | None = None) -> Comparison:
    """Return how `new` differs from `old`.

    Raises InputError where they have no load point in common.
    """
    tolerances = tolerances or Tolerances()
    pairs, apart = common_loads(old, new)
    if not pairs:
        raise _nothing_in_common(apart)
    raw = [
        row
        for before, after in pairs
        for temperature in (after.load.sampling.temperature,)
        for row in raw_rows(before, after, old.answer(temperature), new.answer(temperature))
    ]
    rows, levels = judged(raw, tolerances, max(old.confidence, new.confidence))
    found = causes(rows)
    result = overall((row.outcome, row.not_worse) for row in rows if row.decides)
    temperatures = dict.fromkeys(after.load.sampling.temperature for _, after in pairs)
    return Comparison(
        old=old.where,
        new=new.where,
        outcome=result,
        conclusion=conclusion(rows, found),
        rows=rows,
        best=tuple(_best(old.answer(t), new.answer(t)) for t in temperatures),
        causes=found,
        attribution=attribution(old.config, new.config, _drafts(old, new), {a.load.eval_set for _, a in pairs}),
        confidences=levels,
        not_compared=tuple(apart),
        notes=tuple(_notes(old, new)),
    )


def _best(old: SideAnswer, new: SideAnswer) -> BestRow:
    before, after = _best_words(old), _best_words(new)
    return BestRow(new.temperature, before, after, before != after)


def _best_words(answer: SideAnswer) -> str:
    setting = answer.best.label if answer.best.k else "no speculation"
    below = f" up to concurrency {answer.up_to}" if answer.up_to is not None else ""
    schedule = f", K by batch size {answer.schedule}" if answer.schedule else ""
    return f"{answer.verdict.value}: {setting}{below}{schedule}"


def _drafts(*sides: Side) -> set[str]:
    return {answer.best.draft_name for side in sides for answer in side.answers if answer.best.k}


def _notes(old: Side, new: Side) -> list[str]:
    named = (("OLD", old), ("NEW", new))
    notes = [f"{name} is of a sweep that was not finished" for name, side in named if not side.config.finished]
    if "sim" in {side.config.measured_on.engine.build for side in (old, new)}:
        notes.append("simulated engine: these figures describe no real model")
    return notes


def _nothing_in_common(apart: Sequence[str]) -> InputError:
    return InputError(
        f"the two sweeps have no load point in common, so there is nothing to compare ({'; '.join(apart)})",
        "Sweep again with the eval sets and load points of the other one: the same --space and --eval-set.",
    )
