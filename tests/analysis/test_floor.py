"""Reading the weights as the floor of a decode step: by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.floor import floor_figures
from tuner.analysis.metrics import trial_figures
from tuner.records import Figure, LoadFigures, LoadPoint, Trial

Make = Callable[..., Trial]
ONE, EIGHT = LoadPoint(eval_set="chat", concurrency=1), LoadPoint(eval_set="chat", concurrency=8)


def loads(make_trial: Make, tpot: float = 0.005, points: Sequence[LoadPoint] = (EIGHT, ONE)) -> Sequence[LoadFigures]:
    at = {ONE: tpot, EIGHT: 3 * tpot}
    return trial_figures(make_trial(loads=points, tpot=lambda load, prompt, repeat: at[load]), None).loads


def figures(make_trial: Make, engine_args: dict[str, Any] | None = None, **changed: Any) -> dict[str, Figure]:
    inputs = {"weight_bytes": 16_000_000_000, "bandwidth": 4.8e12, "device": "NVIDIA H200", **changed}
    return floor_figures(inputs.pop("loads", loads(make_trial)), engine_args or {}, **inputs)


def test_the_weights_of_an_8b_model_on_an_h200(make_trial: Make) -> None:
    found = figures(make_trial)
    # 16 GB / 4.8 TB/s = 3.33 ms; a TPOT of 5 ms is 1.5 times that.
    assert found["weight_read_s"].value == pytest.approx(1 / 300)
    assert found["weight_read_s"].note == "16 GB at 4.8 TB/s"
    assert found["bandwidth_share"].value == pytest.approx(2 / 3)
    assert (found["bandwidth_share"].n, found["bandwidth_share"].n_of) == (6, "prompts")


def test_the_interval_of_the_share_is_that_of_the_tpot_turned_over(make_trial: Make) -> None:
    noisy = trial_figures(make_trial(loads=(ONE,), tpot=lambda load, prompt, repeat: 0.004 + 0.0005 * prompt), None)
    tpot = noisy.loads[0].figures["tpot_s"]
    share = figures(make_trial, loads=noisy.loads)["bandwidth_share"]
    assert tpot.low and tpot.high and share.low and share.value and share.high
    assert share.low < share.value < share.high
    assert share.low * tpot.high == pytest.approx(share.high * tpot.low) == pytest.approx(1 / 300)


@settings(deadline=None)
@given(st.integers(1, 8), st.floats(1e6, 1e12), st.floats(1e10, 1e13))
def test_each_gpu_reads_its_share(make_trial: Make, gpus: int, size: float, bandwidth: float) -> None:
    one = figures(make_trial, weight_bytes=int(size), bandwidth=bandwidth, loads=())
    several = figures(make_trial, {"tensor_parallel_size": gpus}, weight_bytes=int(size), bandwidth=bandwidth, loads=())
    assert (one["weight_read_s"].value or 0) == pytest.approx(gpus * (several["weight_read_s"].value or 0))


@pytest.mark.parametrize(
    ("changed", "args", "reason"),
    [
        ({"weight_bytes": None}, {}, "the size of the weights is not known"),
        ({"bandwidth": None, "device": "AMD EPYC"}, {}, "the memory bandwidth of AMD EPYC is not in the table"),
        ({}, {"quantization": "fp8"}, "quantization fp8"),
        ({}, {"dtype": "float32"}, "32 bits"),
    ],
)
def test_what_is_not_known_is_undefined_with_its_reason(
    make_trial: Make, changed: dict[str, Any], args: dict[str, Any], reason: str
) -> None:
    found = figures(make_trial, args, **changed)
    assert [figure.value for figure in found.values()] == [None, None]
    assert all(reason in figure.note for figure in found.values())


def test_arguments_that_change_no_width_are_none_of_its_business(make_trial: Make) -> None:
    same = figures(make_trial, {"quantization": None, "dtype": "bfloat16", "max_model_len": 2048})
    assert same == figures(make_trial)


def test_without_concurrency_one_there_is_a_read_time_and_no_share(make_trial: Make) -> None:
    found = figures(make_trial, loads=loads(make_trial, points=(EIGHT,)))
    assert found["weight_read_s"].value is not None
    assert (found["bandwidth_share"].value, found["bandwidth_share"].note) == (
        None,
        "no baseline was measured at concurrency 1",
    )
