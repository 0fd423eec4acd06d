"""A speedup as a product of what settings cost and what speculation brings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tuner.analysis.dragged import split_speedup
from tuner.records import LoadPoint, Role, Trial

C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33)
Make = Callable[..., Trial]


def test_the_factors_multiply_to_the_speedup_whatever_the_prompts_do(make_trial: Make) -> None:
    """Plain 10 ms, with the settings 12.5 ms (0.8x), speculating 6.25 ms: 2x over that, 1.6x in all."""
    plain = make_trial(0, tpot=lambda _l, i, r: 0.010 * (1 + 0.3 * i) * (1 + 0.01 * r), loads=(C1,))
    same = make_trial(1, role=Role.SAME_RUNNER, tpot=lambda _l, i, r: 0.0125 * (1 + 0.3 * i), loads=(C1,))
    fast = make_trial(2, k=3, tpot=lambda _l, i, r: 0.00625 * (1 + 0.3 * i), loads=(C1,))
    (split,) = split_speedup(fast, [plain], same)
    assert split.settings.value is not None and split.speculation.value is not None
    assert split.speculation.value == pytest.approx(2.0)
    assert split.settings.value == pytest.approx(0.8 * 1.01)
    assert split.speedup.value == pytest.approx(split.settings.value * split.speculation.value)
    assert all(figure.low is not None for figure in (split.speedup, split.settings, split.speculation))


def test_drift_of_the_plain_baseline_widens_what_is_compared_with_it(make_trial: Make) -> None:
    plain, later = make_trial(0, loads=(C1,)), make_trial(3, role=Role.BASELINE_AGAIN, tpot=0.022, loads=(C1,))
    same, fast = make_trial(1, role=Role.SAME_RUNNER, loads=(C1,)), make_trial(2, k=3, tpot=0.01, loads=(C1,))
    (split,) = split_speedup(fast, [plain, later], same)
    assert split.settings.low is not None and split.settings.high is not None
    assert split.settings.low < 0.95 < 1.15 < split.settings.high
    assert split.speculation.low == pytest.approx(2.0)


def test_load_points_that_one_of_them_lacks_are_left_out(make_trial: Make) -> None:
    plain, fast = make_trial(0, loads=(C1, C8)), make_trial(2, k=3, loads=(C1, C8))
    same = make_trial(1, role=Role.SAME_RUNNER, loads=(C8,))
    assert [split.load_point for split in split_speedup(fast, [plain], same)] == [C8]
