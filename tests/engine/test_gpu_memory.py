import time
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.engine.gpu_memory import SLACK_BYTES, memory_still_used, used_gpu_memory, wait_for_memory

GIB = 1024**3
SIZES = st.dictionaries(st.sampled_from(["0", "1", "GPU-a"]), st.integers(0, 200 * GIB))


@settings(deadline=None)  # Times of a loaded machine say nothing.
@given(SIZES, SIZES)
def test_only_growth_beyond_the_slack_is_missing(before: dict[str, int], now: dict[str, int]) -> None:
    missing = memory_still_used(before, now)
    for name in before.keys() & now.keys():
        assert (name in missing) == (now[name] - before[name] > SLACK_BYTES)
    assert missing.keys() <= before.keys() & now.keys()


def test_waits_until_the_memory_is_back() -> None:
    readings = iter([{"0": 9 * GIB}, {"0": 5 * GIB}, {"0": GIB}])
    assert wait_for_memory({"0": GIB}, lambda: next(readings), poll_s=0) == {}
    assert next(readings, None) is None


def test_gives_up_after_the_limit_and_says_how_much() -> None:
    started = time.monotonic()
    assert wait_for_memory({"0": GIB}, lambda: {"0": 3 * GIB}, timeout_s=0.1, poll_s=0.01) == {"0": 2 * GIB}
    assert 0.1 <= time.monotonic() - started < 60


def test_without_a_gpu_nothing_is_waited_for() -> None:
    def never() -> Mapping[str, int] | None:
        return None

    assert wait_for_memory(None, never) == {}
    assert used_gpu_memory("") is None
    assert used_gpu_memory("-1") is None
