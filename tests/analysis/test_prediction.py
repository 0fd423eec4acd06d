from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.arcs import Arc, block
from tuner.analysis.prediction import ModelError, fit, predict, predictions
from tuner.records import Growth, GrowthSource, Observed

KS = range(1, 9)
PLAIN_S = 0.02
Times = Callable[[int], float]


def tokens(k: int, rate: float = 0.8) -> float:
    return (1 - rate ** (k + 1)) / (1 - rate)


def straight(k: int) -> float:
    return PLAIN_S * (1.1 + 0.06 * k)


def run(k: int, times: Times = straight, source: GrowthSource = GrowthSource.REPLAY, shift: float = 0.0) -> Observed:
    logs = () if source is GrowthSource.NONE else tuple(math.log(tokens(i)) for i in range(1, k + 1))
    return Observed(math.log(times(k) / tokens(k)) + shift, 0.005, Growth(logs, source, 12))


BASELINE = Observed(math.log(PLAIN_S), 0.005)


def runs(ks: Sequence[int], times: Times = straight) -> Mapping[int, Observed]:
    return {k: run(k, times) for k in ks}


def errors(found: Mapping[int, object], times: Times = straight) -> list[float]:
    return [abs(found[k].log_tpot - math.log(times(k) / tokens(k))) for k in KS]  # type: ignore[attr-defined]


def test_two_runs_give_the_curve() -> None:
    found = predict(runs([3, 8]), BASELINE, KS, ModelError())
    assert max(errors(found)) < 0.03
    assert [k for k in KS if found[k].measured] == [3, 8]


def test_what_was_measured_is_believed_and_the_rest_less() -> None:
    found = predict(runs([3, 8]), BASELINE, KS, ModelError())
    assert found[3].log_tpot == pytest.approx(run(3).log_tpot, abs=0.003)
    assert all(found[k].sd > 1.3 * found[3].sd for k in KS if k not in (3, 8))


def test_doubt_grows_with_the_distance_from_what_was_measured() -> None:
    found = predict(runs([8]), BASELINE, KS, ModelError())
    assert found[8].sd < found[7].sd and found[8].sd < found[1].sd
    assert found[3].sd > predict(runs([4, 8]), BASELINE, KS, ModelError())[3].sd


def test_a_single_run_leaves_the_slope_of_the_time_open() -> None:
    assert predict(runs([8]), BASELINE, KS, ModelError())[4].sd > 0.05


def test_pooled_acceptance_is_trusted_less_than_a_replay() -> None:
    sure = predict({8: run(8), 4: run(4)}, BASELINE, KS, ModelError())
    vague = {k: run(k, source=GrowthSource.POOLED) for k in (4, 8)}
    assert predict(vague, BASELINE, KS, ModelError())[2].sd > 1.1 * sure[2].sd


def test_without_acceptance_there_is_hardly_a_prediction() -> None:
    untold = {k: run(k, source=GrowthSource.NONE) for k in (1, 8)}
    found = predict(untold, BASELINE, KS, ModelError())
    assert found[4].sd > 0.04
    assert found[8].log_tpot == pytest.approx(untold[8].log_tpot, abs=0.005)


def cliff(k: int) -> float:
    return straight(k) * (1.3 if k >= 5 else 1.0)


def test_a_cliff_is_within_what_was_doubted() -> None:
    found = predict(runs([2, 8], cliff), BASELINE, KS, ModelError(), 24)
    off = [found[k].log_tpot - math.log(cliff(k) / tokens(k)) for k in KS]
    assert all(abs(one) < 3 * found[k].sd for one, k in zip(off, KS, strict=True))


def test_a_contradiction_widens_what_is_believed() -> None:
    agreeing = predict(runs([2, 5, 8]), BASELINE, KS, ModelError())
    contradicting = predict({2: run(2), 5: run(5, shift=0.25), 8: run(8)}, BASELINE, KS, ModelError())
    assert all(contradicting[k].sd > 1.5 * agreeing[k].sd for k in (4, 6))


def test_impossible_times_are_not_trusted() -> None:
    falling = {1: run(1, lambda k: 0.04), 8: run(8, lambda k: 0.022)}
    assert block(Arc("d", "l", 1, falling, tuple(KS)), BASELINE, ModelError(), 1).impossible
    found, usual = (predict(each, BASELINE, KS, ModelError()) for each in (falling, runs([1, 8])))
    assert found[4].sd > 2 * usual[4].sd


def test_noise_of_a_life_is_in_the_doubt() -> None:
    calm = predict(runs([3, 8]), BASELINE, KS, ModelError(life_sd=0.001))
    rough = predict(runs([3, 8]), BASELINE, KS, ModelError(life_sd=0.05))
    assert rough[3].sd > 2 * calm[3].sd


def test_load_points_and_drafts_help_each_other() -> None:
    def bent(concurrency: int) -> Times:
        return lambda k: PLAIN_S * (max(1.0, concurrency * (k + 1) / 64) + 0.1 + 0.03 * k)

    def plain(concurrency: int) -> Observed:
        return Observed(math.log(PLAIN_S * max(1.0, concurrency / 64)), 0.005)

    baselines = {f"c{c}": (c, plain(c)) for c in (1, 16, 64)}
    ks = tuple(KS)
    helped = [Arc("b", f"c{c}", c, runs([1, 3, 8], bent(c)), ks) for c in (1, 16, 64)]
    alone = Arc("a", "c16", 16, runs([8], bent(16)), ks)
    by_itself = predict(alone.measured, plain(16), KS, ModelError(), 16)
    together = predictions(fit([alone, *helped], baselines, ModelError()), "a", "c16")
    assert together[3].sd < 0.7 * by_itself[3].sd
    assert sum(errors(together, bent(16))) < sum(errors(by_itself, bent(16)))


def test_the_mean_over_load_points_is_weighted() -> None:
    arcs = [Arc("d", f"c{c}", c, runs([3, 8]), tuple(KS)) for c in (1, 4)]
    fitted = fit(arcs, {"c1": (1, BASELINE), "c4": (4, BASELINE)}, ModelError())
    mean, cov = fitted.belief("d", {"c1": 0.25, "c4": 0.75})
    single = [fitted.belief("d", {load: 1.0})[0] for load in ("c1", "c4")]
    assert mean == pytest.approx(0.25 * single[0] + 0.75 * single[1])
    assert (np.linalg.eigvalsh(cov) > -1e-12).all()


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.integers(1, 12), st.floats(-9.0, 3.0), min_size=1, max_size=5),
    st.one_of(st.none(), st.floats(-9.0, 3.0)),
    st.integers(1, 512),
    st.sampled_from(list(GrowthSource)),
)
def test_whatever_was_measured_there_is_a_finite_prediction(
    logs: dict[int, float], plain: float | None, concurrency: int, source: GrowthSource
) -> None:
    measured = {k: Observed(log, None, run(k, source=source).growth) for k, log in logs.items()}
    found = predict(measured, None if plain is None else Observed(plain), KS, ModelError(), concurrency)
    assert set(found) == {*KS, *logs}
    assert all(math.isfinite(p.log_tpot) and math.isfinite(p.sd) and p.sd > 0 for p in found.values())
