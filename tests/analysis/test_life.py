from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable

import pytest

from tuner.analysis.life import LATENCIES, _views, load_view
from tuner.records import LoadPoint, Trial

Make = Callable[..., Trial]
LOADS = (LoadPoint("chat", 1), LoadPoint("chat", 8))


def test_a_view_is_remembered_for_as_long_as_its_trial_lives(make_trial: Make) -> None:
    trial, other = make_trial(loads=LOADS), make_trial(loads=LOADS, tpot=0.03)
    first = load_view(trial, LOADS[0].key)
    assert load_view(trial, LOADS[0].key) is first
    assert load_view(trial, LOADS[1].key) is not first
    assert load_view(copy.copy(trial), LOADS[0].key) is not first
    found = load_view(other, LOADS[0].key)
    assert first is not None
    assert found is not None
    assert first.tpot_by_prompt["p00"] == pytest.approx(0.02)
    assert found.tpot_by_prompt["p00"] == pytest.approx(0.03)
    remembered = id(trial)
    del trial
    gc.collect()
    assert remembered not in _views


def test_figures_of_one_view_do_not_mix(make_trial: Make) -> None:
    view = load_view(make_trial(ttft=lambda load, i, r: 0.1 * (1.1**r), tpot=0.02), LoadPoint("chat", 1, 33).key)
    assert view is not None
    for _ in range(2):
        assert round(view.by_prompt(LATENCIES["ttft_s"])["p00"], 6) == 0.11
        assert round(view.by_prompt(LATENCIES["tpot_s"])["p00"], 6) == 0.02
        assert (
            view.repeat_spread(LATENCIES["tpot_s"]).variance < 1e-12 < view.repeat_spread(LATENCIES["ttft_s"]).variance
        )


def test_asking_for_a_key_leaves_a_load_point_what_it_was() -> None:
    asked, fresh = LoadPoint("chat", 4), LoadPoint("chat", 4)
    assert asked.key
    assert asked == fresh
    assert hash(asked) == hash(fresh)
    assert pickle.loads(pickle.dumps(asked)).key == fresh.key
