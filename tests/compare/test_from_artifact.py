"""What an artifact alone says of a sweep."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.compare.sides import built_side, config_of, trials_of
from tuner.artifact import load_best_config
from tuner.compare.comparison import compare
from tuner.compare.from_artifact import side_of
from tuner.compare.sides import setting_key
from tuner.records import Metric

V1 = sorted((Path(__file__).parents[1] / "golden" / "artifacts").glob("v1-*.yaml"))


def test_the_speedup_by_round_is_of_tpot_only_where_tpot_decided() -> None:
    config = config_of(trials_of())
    by_throughput = config.model_copy(
        update={"objective": config.objective.model_copy(update={"metric": Metric.THROUGHPUT})}
    )
    for one, rounds in ((config, 3), (by_throughput, 0)):
        side = side_of("x", one)
        speedup = side.loads[0].arms[setting_key(side.answers[0].best)]["speedup"]
        assert len(speedup.lives) == rounds
        assert speedup.estimate is not None
        assert math.exp(speedup.estimate.mean) == pytest.approx(1.5, rel=1e-3)


def test_the_speedups_standard_error_is_the_same_by_round_and_from_the_interval() -> None:
    by_round = built_side(records=False).loads[0].arms
    config = config_of(trials_of())
    by_interval = side_of(
        "x",
        config.model_copy(update={"objective": config.objective.model_copy(update={"metric": Metric.E2E})}),
    )
    (key,) = [key for key in by_round if "good" in key]
    first, second = by_round[key]["speedup"].estimate, by_interval.loads[0].arms[key]["speedup"].estimate
    assert first is not None and second is not None
    assert second.se == pytest.approx(first.se, rel=1e-3)
    assert second.df == first.df


def test_settings_that_were_not_recommended_have_their_single_life_from_the_curves() -> None:
    side = side_of("x", config_of([*trials_of()]))
    config = load_best_config(V1[0])
    measured = side_of("h200", config)
    several = [arm for load in measured.loads for arm in load.arms.values()]
    assert len(several) > len(measured.loads)
    assert all(arm["tpot"].estimate is None or arm["tpot"].estimate.se is None for arm in several)
    assert len(side.loads[0].arms) == 1


@pytest.mark.parametrize("path", V1, ids=lambda path: path.stem)
def test_artifacts_of_the_first_version_can_be_compared(path: Path) -> None:
    side = side_of("x", load_best_config(path))
    found = compare(side, side)
    assert found.rows
    assert all(row.ratio.value in (None, pytest.approx(1.0)) for row in found.rows)
