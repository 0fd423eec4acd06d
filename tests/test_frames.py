import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.errors import OutputError
from tuner.frames import requests_frame, trials_frame
from tuner.records import REFERENCE_REPEAT, Role, Trial
from tuner.store import RunStore

RECORDED = Path(__file__).parent / "data" / "h200-14b"


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
