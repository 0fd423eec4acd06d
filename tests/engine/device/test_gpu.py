"""Readings of a GPU: what they say together, and that whatever NVML does not know is None."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from tuner.engine.device.gpu import GpuReading, Gpus, gpu_load

QUERIES = (
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetCurrentClocksEventReasons",
)


def unsupported(*_: Any) -> Any:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A stand-in for the driver's library: there is none here. Yields the calls that open and close it."""
    calls: list[str] = []
    answers: dict[str, Any] = {
        "nvmlInit": lambda: calls.append("open"),
        "nvmlShutdown": lambda: calls.append("close"),
        "nvmlDeviceGetHandleByIndex": lambda index: f"card {index}",
        "nvmlDeviceGetHandleByUUID": lambda uuid: f"slice {uuid}" if uuid.startswith("MIG-") else f"card {uuid}",
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda handle: f"card of {handle}",
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=97, memory=50),
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(used=7 if handle.startswith("slice") else 9),
        "nvmlDeviceGetClockInfo": lambda handle, kind: 1980 if kind == pynvml.NVML_CLOCK_SM else 0,
        "nvmlDeviceGetTemperature": lambda handle, kind: 55,
        "nvmlDeviceGetPowerUsage": lambda handle: 412_000,
        "nvmlDeviceGetCurrentClocksEventReasons": lambda handle: 0x4,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x20,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)
    yield calls


def test_a_machine_without_nvml_has_nothing_to_read() -> None:
    gpus = Gpus(["no-such-gpu"])
    assert (gpus.readable, gpus.read()) == (False, ())
    gpus.close()


def test_a_trial_without_gpus_does_not_open_nvml(nvml: list[str]) -> None:
    gpus = Gpus([])
    gpus.close()
    assert (gpus.readable, nvml) == (False, [])


def test_everything_is_read_in_our_units_and_nvml_is_closed_once(nvml: list[str]) -> None:
    gpus = Gpus(["0", "GPU-17"])
    expected = GpuReading(0.97, 9, 1980.0, 55.0, 412.0, 0x4)
    assert gpus.read() == (expected, expected)
    gpus.close()
    gpus.close()
    assert nvml == ["open", "close"]
    assert gpus.read() == ()


@pytest.mark.parametrize(("query", "field"), list(zip(QUERIES[:5], GpuReading.__dataclass_fields__, strict=False)))
def test_a_query_that_fails_is_none_and_spoils_no_other(
    nvml: list[str], monkeypatch: pytest.MonkeyPatch, query: str, field: str
) -> None:
    monkeypatch.setattr(pynvml, query, unsupported)
    [reading] = Gpus(["0"]).read()
    assert [name for name in GpuReading.__dataclass_fields__ if getattr(reading, name) is None] == [field]


def test_older_drivers_tell_reasons_under_an_older_name(nvml: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, QUERIES[5], unsupported)
    assert Gpus(["0"]).read()[0].reasons == 0x20
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCurrentClocksThrottleReasons", unsupported)
    assert Gpus(["0"]).read()[0].reasons is None


def test_a_mig_slice_has_its_own_memory_and_its_cards_clock(nvml: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlDeviceGetClockInfo", lambda handle, kind: 1755 if "card" in handle else 0)
    [reading] = Gpus(["MIG-5"]).read()
    assert (reading.memory_bytes, reading.clock_mhz) == (7, 1755.0)


def test_an_unknown_gpu_among_several_leaves_nothing_to_read(nvml: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByUUID", unsupported)
    gpus = Gpus(["0", "GPU-17"])
    assert (gpus.readable, gpus.read()) == (False, ())
    gpus.close()
    assert nvml == ["open", "close"]


def test_readings_are_summed_up_over_time_and_gpus() -> None:
    rounds = [
        [GpuReading(0.5, 10, 1800.0, 50.0, 300.0, 0x4), GpuReading(0.9, 12, 1900.0, 60.0, 500.0, 0x1)],
        [GpuReading(0.7, 11, 1700.0, 55.0, 400.0, 0x48), GpuReading(None, None, None, None, None, None)],
    ]
    load = gpu_load(rounds)
    assert load is not None
    assert (load.source, load.samples) == ("nvml", 2)
    assert load.gpu_utilisation == pytest.approx(0.7)
    assert (load.gpu_memory_bytes, load.gpu_temperature_c) == (12, 60.0)
    assert (load.gpu_clock_mhz, load.gpu_clock_min_mhz) == (1800.0, 1700.0)
    assert load.gpu_power_w == pytest.approx(400.0)
    assert load.throttled == ("software power cap", "hardware slowdown", "hardware thermal slowdown")


def test_an_idle_gpu_lowers_its_clock_by_itself() -> None:
    load = gpu_load([[GpuReading(utilisation=0.0, clock_mhz=345.0)], [GpuReading(utilisation=0.9, clock_mhz=1980.0)]])
    assert load is not None
    assert (load.gpu_clock_mhz, load.gpu_clock_min_mhz, load.throttled) == (1980.0, 1980.0, ())


def test_no_readings_are_no_load() -> None:
    assert gpu_load([]) is None
    assert gpu_load([(), ()]) is None
