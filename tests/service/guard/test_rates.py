from hypothesis import given
from hypothesis import strategies as st

from tuner.service.guard.rates import MOST_CLIENTS, Limiter, Rate

SLOW = Rate(burst=3, per_s=0.5)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_burst_passes_and_then_one_every_two_seconds() -> None:
    limiter = Limiter(clock := Clock())
    assert [limiter.wait_s("a", SLOW) for _ in range(4)] == [0.0, 0.0, 0.0, 2.0]
    clock.now_s += 1.0
    assert limiter.wait_s("a", SLOW) == 1.0
    clock.now_s += 1.0
    assert limiter.wait_s("a", SLOW) == 0.0
    assert limiter.wait_s("b", SLOW) == 0.0


def test_a_bucket_never_holds_more_than_a_burst() -> None:
    limiter = Limiter(clock := Clock())
    limiter.wait_s("a", SLOW)
    clock.now_s += 1e6
    assert [limiter.wait_s("a", SLOW) > 0 for _ in range(4)] == [False, False, False, True]


def test_what_is_remembered_is_bounded() -> None:
    limiter = Limiter(Clock())
    for client in range(MOST_CLIENTS + 10):
        limiter.wait_s(str(client), SLOW)
    assert len(limiter._left) == MOST_CLIENTS


@given(st.lists(st.floats(0, 10), max_size=60))
def test_no_more_pass_than_the_burst_and_the_rate_allow(pauses: list[float]) -> None:
    limiter, passed = Limiter(clock := Clock()), 0
    for pause in pauses:
        clock.now_s += pause
        passed += limiter.wait_s("a", SLOW) == 0.0
    assert passed <= SLOW.burst + (clock.now_s - 100.0) * SLOW.per_s + 1e-6
