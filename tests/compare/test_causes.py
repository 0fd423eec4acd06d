"""Each rule of causes: one case that fires it, one that must not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.compare.sides import at_concurrencies
from tests.conftest import LOAD
from tuner.compare.causes import RULES, causes, conclusion
from tuner.compare.figures import FigureName
from tuner.compare.judged import Row, Value
from tuner.compare.rule import Outcome
from tuner.compare.words import cause_words
from tuner.records import LoadPoint

B, S, W, X = Outcome.BETTER, Outcome.SAME, Outcome.WORSE, Outcome.CANNOT_TELL


def rows(outcomes: Mapping[FigureName, Outcome], load: LoadPoint = LOAD, ratio: float = 0.9) -> list[Row]:
    value = Value(ratio, ratio - 0.01, ratio + 0.01)
    return [
        Row(load, name, "good K=2", "x", Value(1.0), Value(ratio), value, 0.05, outcome, False, True)
        for name, outcome in outcomes.items()
    ]


@pytest.mark.parametrize(
    ("code", "fires", "silent"),
    [
        ("acceptance_fell", {"acceptance_length": W}, {"acceptance_length": X}),
        ("acceptance_rose", {"acceptance_length": B}, {"acceptance_length": S}),
        ("step_dearer", {"step_cost": W, "baseline_tpot": X}, {"step_cost": W, "baseline_tpot": B}),
        ("step_cheaper", {"step_cost": B, "baseline_tpot": S}, {"step_cost": B, "baseline_tpot": W}),
        ("baseline_faster", {"baseline_tpot": B}, {"baseline_tpot": S, "tpot": B}),
        ("baseline_slower", {"baseline_tpot": W}, {"baseline_tpot": X, "tpot": W}),
        ("step_did_not_follow", {"step_cost": W, "baseline_tpot": B}, {"step_cost": W, "baseline_tpot": S}),
        ("step_held_up", {"step_cost": B, "baseline_tpot": W}, {"step_cost": B, "baseline_tpot": S}),
    ],
)
def test_a_cause(code: str, fires: Mapping[FigureName, Outcome], silent: Mapping[FigureName, Outcome]) -> None:
    assert code in [cause.code for cause in causes(rows(fires))]
    assert code not in [cause.code for cause in causes(rows(silent))]


def test_every_rule_has_a_case_above() -> None:
    tested = test_a_cause.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {rule.code for rule in RULES} == {case[0] for case in tested}


def test_speculation_and_the_engine_are_concluded_apart() -> None:
    both = rows({"acceptance_length": W, "step_cost": S, "baseline_tpot": B})
    assert conclusion(both, causes(both)).speculation is W
    assert conclusion(both, causes(both)).engine is B


def test_a_step_that_is_dearer_because_the_baseline_is_faster_is_not_speculations() -> None:
    excused = rows({"acceptance_length": S, "step_cost": W, "baseline_tpot": B})
    own = rows({"acceptance_length": S, "step_cost": W, "baseline_tpot": S})
    assert conclusion(excused, causes(excused)).speculation is S
    assert conclusion(own, causes(own)).speculation is W


def test_a_claim_at_one_load_point_counts_and_an_open_one_is_no_sameness() -> None:
    first, second = at_concurrencies(1, 8)
    mixed = rows({"acceptance_length": W}, first) + rows({"acceptance_length": S}, second)
    assert conclusion(mixed, ()).speculation is W
    unsure = rows({"acceptance_length": S, "step_cost": X})
    assert conclusion(unsure, ()).speculation is X


def test_a_cause_is_told_with_its_largest_ratio_and_where() -> None:
    first, second = at_concurrencies(1, 8)
    low, high = rows({"acceptance_length": W}, first, 0.8), rows({"acceptance_length": W}, second, 0.9)
    (everywhere,) = causes(low + high)
    assert cause_words(everywhere, low + high) == (
        "fewer tokens are accepted: acceptance length 0.800x (0.790-0.810) where it changed most, "
        "seen at all 2 load points"
    )
    same = rows({"acceptance_length": S}, second)
    (once,) = causes(low + same)
    assert cause_words(once, low + same).endswith(f"0.800x (0.790-0.810) at {first.label}")
