"""Who kept the CPU busy: shares from two readings by hand, and real processes that burn CPU time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.device.cpu import MIN_TOTAL_S, CpuReading, CpuShares, cpu_shares, read_cpu

BEFORE = CpuReading(busy_s=100.0, steal_s=1.0, total_s=1000.0, ours_s=50.0)
BURN = "import time\nend = time.monotonic() + 300\nwhile time.monotonic() < end: pass"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])"


def test_others_are_what_is_busy_and_not_ours() -> None:
    # 20 core-seconds later: 12 busy of which 9 are ours, 1 stolen.
    after = CpuReading(busy_s=112.0, steal_s=2.0, total_s=1020.0, ours_s=59.0)
    shares = cpu_shares(BEFORE, after)
    assert shares is not None
    assert (shares.busy, shares.steal, shares.others) == pytest.approx((0.6, 0.05, 0.15))


def test_time_of_ours_on_other_cores_makes_nobody_else_busy() -> None:
    assert cpu_shares(BEFORE, CpuReading(110.0, 1.0, 1020.0, 90.0)) == CpuShares(0.5, 0.0, 0.0)


def test_too_short_a_time_tells_nothing() -> None:
    total_s = BEFORE.total_s + MIN_TOTAL_S
    assert cpu_shares(BEFORE, CpuReading(100.1, 1.0, total_s - 0.01, 50.0)) is None
    assert cpu_shares(BEFORE, CpuReading(100.1, 1.0, total_s, 50.0)) is not None


@given(st.floats(1, 100), st.floats(0, 1), st.floats(0, 1), st.floats(-10, 200))
def test_shares_are_fractions(total: float, busy: float, steal: float, ours: float) -> None:
    busy_s, steal_s = total * busy, total * (1 - busy) * steal
    shares = cpu_shares(CpuReading(0, 0, 0, 0), CpuReading(busy_s, steal_s, total, ours))
    assert shares is not None
    assert 0 <= shares.others <= shares.busy <= 1 and 0 <= shares.steal <= 1 - shares.busy + 1e-9


@pytest.fixture
def burning() -> Iterator[psutil.Process]:
    """A process whose child burns a core; neither is an engine of anybody."""
    with subprocess.Popen([sys.executable, "-c", PARENT]) as parent:
        process = psutil.Process(parent.pid)
        try:
            _burns(process, 0.1)
            yield process
        finally:
            for child in process.children():
                child.kill()
            parent.kill()


def test_a_process_is_ours_with_its_children_if_it_is_the_engine_and_others_if_not(burning: psutil.Process) -> None:
    before = [read_cpu(pid, ()) for pid in (burning.pid, _nobody())]
    _burns(burning, 1.0)
    after = [read_cpu(pid, ()) for pid in (burning.pid, _nobody())]
    own, not_own = (now.ours_s - then.ours_s for then, now in zip(before, after, strict=True))
    # A busy machine gives it less than a whole core, but the kernel and we must agree on how much.
    assert own - not_own > 0.5
    engine, stranger = (cpu_shares(then, now) for then, now in zip(before, after, strict=True))
    assert engine and stranger
    assert stranger.others - engine.others > 0.5 / (after[0].total_s - before[0].total_s)


def test_only_the_trials_cores_count() -> None:
    whole, one = read_cpu(_nobody(), ()), read_cpu(_nobody(), (0,))
    assert one.total_s < whole.total_s or psutil.cpu_count() == 1
    assert read_cpu(_nobody(), (10_000,)).total_s == pytest.approx(whole.total_s, rel=0.01)


def _burns(parent: psutil.Process, cpu_s: float) -> None:
    """Wait until its child has used so much CPU time from now on."""
    deadline_s, began_s = time.monotonic() + 120, None
    while True:
        assert time.monotonic() < deadline_s
        for child in parent.children():
            used_s = sum(child.cpu_times()[:2])
            began_s = used_s if began_s is None else began_s
            if used_s - began_s > cpu_s:
                return
        time.sleep(0.05)


def _nobody() -> int:
    """Return the id of no process."""
    return max(psutil.pids()) + 100_000
