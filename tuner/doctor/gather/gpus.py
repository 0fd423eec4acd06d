"""Reads GPUs through NVML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import psutil

from tuner.doctor.facts import GpuFacts, Gpus, GpuUser
from tuner.engine.device.gpu import REASONS
from tuner.engine.device.gpu import Gpus as Watched

T = TypeVar("T")


def gpus() -> Gpus:
    """Return driver and GPUs; without an NVIDIA driver nothing, with an unusable one NVML's reason."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded):
        return Gpus()
    except pynvml.NVMLError as error:
        return Gpus(problem=str(error))
    try:
        number = _told(pynvml.nvmlSystemGetCudaDriverVersion_v2)
        return Gpus(
            driver=str(pynvml.nvmlSystemGetDriverVersion()),
            cuda=None if number is None else f"{number // 1000}.{number % 1000 // 10}",
            gpus=tuple(_gpu(index) for index in range(pynvml.nvmlDeviceGetCount())),
        )
    except pynvml.NVMLError as error:
        return Gpus(problem=str(error))
    finally:
        pynvml.nvmlShutdown()


def _gpu(index: int) -> GpuFacts:
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    modes = {
        pynvml.NVML_COMPUTEMODE_EXCLUSIVE_THREAD: "exclusive thread",
        pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: "exclusive process",
        pynvml.NVML_COMPUTEMODE_PROHIBITED: "prohibited",
    }
    mig = _told(lambda: pynvml.nvmlDeviceGetMigMode(handle)[0])
    return GpuFacts(
        index=index,
        name=str(pynvml.nvmlDeviceGetName(handle)),
        total_bytes=int(memory.total),
        used_bytes=int(memory.used),
        users=tuple(_user(process) for process in _told(lambda: _processes(handle)) or ()),
        mig=mig == 1,
        compute_mode=modes.get(_told(lambda: pynvml.nvmlDeviceGetComputeMode(handle)), "default"),
        ecc_errors=_told(
            lambda: int(
                pynvml.nvmlDeviceGetTotalEccErrors(
                    handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
                )
            )
        ),
        throttled=_throttled(index),
    )


def _processes(handle: Any) -> list[Any]:
    import pynvml

    found = [*pynvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    found += pynvml.nvmlDeviceGetGraphicsRunningProcesses(handle)
    return list({process.pid: process for process in found}.values())


def _user(process: Any) -> GpuUser:
    try:
        name = psutil.Process(process.pid).name()
    except psutil.Error:
        name = ""  # another container's or another user's
    return GpuUser(int(process.pid), name, process.usedGpuMemory)


def _throttled(index: int) -> tuple[str, ...]:
    watched = Watched([str(index)])
    bits = {bit for reading in watched.read() for bit in REASONS if (reading.reasons or 0) & bit}
    watched.close()
    return tuple(REASONS[bit] for bit in sorted(bits))


def _told(ask: Callable[[], T]) -> T | None:
    import pynvml

    try:
        return ask()
    except pynvml.NVMLError:
        return None
