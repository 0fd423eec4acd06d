import math
from pathlib import Path

import pytest

from tuner.errors import OutputError
from tuner.frames import requests_frame, trials_frame

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
