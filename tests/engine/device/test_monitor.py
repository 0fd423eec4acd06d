"""A thread that reads while a load runs, and a record of what it saw."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

from tuner.engine.device import monitor
from tuner.engine.device.cpu import CpuShares
from tuner.engine.device.gpu import GpuReading, Gpus
from tuner.engine.device.monitor import DeviceMonitor, device_load

SHARES = CpuShares(busy=0.5, steal=0.01, others=0.02)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "device-monitor"]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[float]]:
    """GPUs that can be read, and when they were read: there are none here."""
    read_at: list[float] = []

    def read(self: Gpus) -> tuple[GpuReading, ...]:
        read_at.append(time.monotonic())
        return (GpuReading(utilisation=0.5, clock_mhz=1000.0 + len(read_at)),)

    monkeypatch.setattr(Gpus, "readable", True)
    monkeypatch.setattr(Gpus, "read", read)
    monkeypatch.setattr(monitor, "EVERY_S", 0.05)
    return lambda: read_at


def test_readings_are_one_record() -> None:
    both = device_load([[GpuReading(utilisation=0.9)]], SHARES)
    assert both is not None
    assert (both.source, both.samples, both.gpu_utilisation, both.cpu_busy) == ("nvml", 1, 0.9, 0.5)
    cpu = device_load([], SHARES)
    assert cpu is not None
    assert (cpu.source, cpu.gpu_utilisation, cpu.cpu_steal, cpu.cpu_others) == ("cpu", None, 0.01, 0.02)
    gpu_alone = device_load([[GpuReading(utilisation=0.9)]], None)
    assert gpu_alone is not None and gpu_alone.cpu_busy is None
    assert device_load([], None) is None


def test_without_a_gpu_the_cpu_is_read_and_no_thread_runs() -> None:
    with DeviceMonitor((), os.getpid()) as watch:
        watch.begin()
        assert threads() == []
        time.sleep(1.2)
        load = watch.end()
    assert load is not None
    assert load.source == "cpu"
    assert load.cpu_busy is not None and 0 <= load.cpu_busy <= 1
    assert load.cpu_others is not None and load.cpu_steal is not None


def test_a_gpu_is_read_again_and_again_in_another_thread_while_it_is_watched(gpu: Callable[[], list[float]]) -> None:
    with DeviceMonitor(("0",), os.getpid()) as watch:
        began_s = time.monotonic()
        watch.begin()
        assert threads() == ["device-monitor"]
        _until(lambda: len(gpu()) >= 5)
        first = watch.end()
        assert threads() == []
        count = len(gpu())
        assert count <= 1 + (time.monotonic() - began_s) / monitor.EVERY_S
        time.sleep(0.2)
        assert len(gpu()) == count
        watch.begin()
        _until(lambda: len(gpu()) >= count + 3)
        second = watch.end()
    assert first is not None and second is not None
    assert (first.samples, second.samples) == (count, len(gpu()) - count)
    assert (second.gpu_clock_min_mhz or 0) > (first.gpu_clock_min_mhz or 0)


def _until(true: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_leaving_it_ends_the_thread(gpu: Callable[[], list[float]]) -> None:
    with pytest.raises(KeyError), DeviceMonitor(("0",), os.getpid()) as watch:
        watch.begin()
        raise KeyError
    assert threads() == []
