"""NVML stands in for itself: its functions are replaced, its constants and errors are the real ones."""

import os
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from tuner.doctor.facts import GpuUser
from tuner.doctor.gather.gpus import gpus

GIB = 2**30


def refuse(*_: object) -> Any:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One GPU on which this process computes."""
    answers: dict[str, Any] = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "570.86.15",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 12080,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda _: "NVIDIA H200",
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=141 * GIB, used=3 * GIB),
        "nvmlDeviceGetComputeRunningProcesses": lambda _: [SimpleNamespace(pid=os.getpid(), usedGpuMemory=2 * GIB)],
        "nvmlDeviceGetGraphicsRunningProcesses": lambda _: [],
        "nvmlDeviceGetMigMode": lambda _: [1, 1],
        "nvmlDeviceGetComputeMode": lambda _: pynvml.NVML_COMPUTEMODE_PROHIBITED,
        "nvmlDeviceGetTotalEccErrors": lambda *_: 2,
        "nvmlDeviceGetCurrentClocksEventReasons": lambda _: 0x44,
        "nvmlDeviceGetPowerUsage": refuse,
        "nvmlDeviceGetUtilizationRates": refuse,
        "nvmlDeviceGetClockInfo": refuse,
        "nvmlDeviceGetTemperature": refuse,
    }
    for name in answers:
        monkeypatch.setattr(pynvml, name, lambda *given, name=name: answers[name](*given))
    return answers


def test_a_gpu_with_all_that_it_tells(nvml: dict[str, Any]) -> None:
    found = gpus()
    assert (found.driver, found.cuda, found.problem) == ("570.86.15", "12.8", "")
    (gpu,) = found.gpus
    assert (gpu.index, gpu.name, gpu.total_bytes, gpu.used_bytes) == (0, "NVIDIA H200", 141 * GIB, 3 * GIB)
    (user,) = gpu.users
    assert (user.pid, user.memory_bytes) == (os.getpid(), 2 * GIB) and user.name
    assert (gpu.mig, gpu.compute_mode, gpu.ecc_errors) == (True, "prohibited", 2)
    assert gpu.throttled == ("software power cap", "hardware thermal slowdown")


def test_what_a_card_does_not_tell_is_left_open(nvml: dict[str, Any]) -> None:
    for name in ("MigMode", "ComputeMode", "TotalEccErrors", "CurrentClocksEventReasons", "ComputeRunningProcesses"):
        nvml[f"nvmlDeviceGet{name}"] = refuse
    nvml["nvmlSystemGetCudaDriverVersion_v2"] = refuse
    found = gpus()
    assert found.cuda is None
    (gpu,) = found.gpus
    assert (gpu.mig, gpu.compute_mode, gpu.ecc_errors, gpu.users, gpu.throttled) == (False, "default", None, (), ())


def test_a_process_of_another_container_is_known_by_its_number(nvml: dict[str, Any]) -> None:
    nvml["nvmlDeviceGetComputeRunningProcesses"] = lambda _: [SimpleNamespace(pid=2**22 + 1, usedGpuMemory=None)]
    assert gpus().gpus[0].users == (GpuUser(2**22 + 1, "", None),)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, False),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, False),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, True),
    ],
)
def test_no_driver_is_no_gpu_and_a_broken_one_is_a_problem(nvml: dict[str, Any], code: int, problem: bool) -> None:
    def broken() -> None:
        raise pynvml.NVMLError(code)

    nvml["nvmlInit"] = broken
    found = gpus()
    assert found.gpus == () and found.driver is None
    assert bool(found.problem) == problem
