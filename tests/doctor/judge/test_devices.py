from dataclasses import replace

import pytest

from tuner.doctor.check import Check, State
from tuner.doctor.facts import CpuFacts, EngineFacts, GpuFacts, Gpus, GpuUser
from tuner.doctor.judge.devices import judge_cpu, judge_fit, judge_gpus

GIB = 2**30
H200 = GpuFacts(0, "NVIDIA H200", 141 * GIB, GIB)
ONE = Gpus("570.1", "12.8", (H200,))
CUDA = EngineFacts("vllm", "/p", "3.12.1", "0.32.0", "cuda", {"torch": "2.13.0"}, "12.8")
CPU_BUILD = replace(CUDA, build="cpu", torch_cuda=None)
CPU = CpuFacts("AMD EPYC", allowed=8, total=8, physical=4, load=0.3)


def worst(checks: tuple[Check, ...]) -> list[tuple[str, State]]:
    return [(check.name, check.state) for check in checks if check.state is not State.OK]


def test_a_gpu_that_nobody_else_uses() -> None:
    (check,) = judge_gpus(ONE)
    assert (check.name, check.state) == ("gpu_0", State.OK)
    assert check.what == "NVIDIA H200, 140.0 GiB of 141.0 GiB free"


def test_no_gpu_is_no_fault_and_a_driver_that_does_not_answer_is() -> None:
    assert worst(judge_gpus(Gpus())) == [("gpus", State.INFO)]
    (check,) = judge_gpus(Gpus(problem="Driver/library version mismatch"))
    assert check.state is State.FAIL and "version mismatch" in check.what and check.next_step


@pytest.mark.parametrize(
    ("gpu", "name", "state", "words"),
    [
        (replace(H200, used_bytes=70 * GIB), "gpu_0_in_use", State.WARN, "cannot be seen from here"),
        (
            replace(H200, used_bytes=70 * GIB, users=(GpuUser(7, "python", 69 * GIB),)),
            "gpu_0_in_use",
            State.WARN,
            "by python 7 (69.0 GiB)",
        ),
        (
            replace(H200, used_bytes=70 * GIB, users=(GpuUser(7, "", None),)),
            "gpu_0_in_use",
            State.WARN,
            "by process 7",
        ),
        (replace(H200, mig=True), "gpu_0_mig", State.INFO, "MIG is on"),
        (replace(H200, compute_mode="prohibited"), "gpu_0_mode", State.FAIL, "nothing can run"),
        (replace(H200, compute_mode="exclusive process"), "gpu_0_mode", State.WARN, "exclusive process"),
        (replace(H200, ecc_errors=3), "gpu_0_ecc", State.WARN, "3 uncorrected"),
        (replace(H200, throttled=("hardware thermal slowdown",)), "gpu_0_throttled", State.WARN, "thermal"),
    ],
)
def test_what_disturbs_on_a_gpu(gpu: GpuFacts, name: str, state: State, words: str) -> None:
    checks = judge_gpus(replace(ONE, gpus=(gpu,)))
    assert worst(checks) == [(name, state)]
    (check,) = [check for check in checks if check.name == name]
    assert words in check.what and check.next_step


def test_a_power_cap_and_no_errors_are_normal() -> None:
    assert worst(judge_gpus(replace(ONE, gpus=(replace(H200, throttled=("software power cap",), ecc_errors=0),)))) == []


@pytest.mark.parametrize(
    ("gpus", "engine", "expected"),
    [
        (ONE, CUDA, []),
        (Gpus(), CPU_BUILD, []),
        (Gpus(), CUDA, [("engine_device", State.FAIL)]),
        (ONE, CPU_BUILD, [("engine_device", State.WARN)]),
        (ONE, replace(CUDA, build="sim"), []),
        (replace(ONE, cuda="11.8"), CUDA, [("driver", State.FAIL)]),
        (replace(ONE, cuda="12.4"), CUDA, [("driver", State.WARN)]),
        (replace(ONE, cuda="13.0"), CUDA, []),
        (ONE, replace(CUDA, torch_cuda=None), [("driver", State.INFO)]),
    ],
)
def test_engine_driver_and_device_go_together(
    gpus: Gpus, engine: EngineFacts, expected: list[tuple[str, State]]
) -> None:
    assert worst(judge_fit(gpus, engine)) == expected


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        (CPU, []),
        (replace(CPU, quota=8.0), []),
        (replace(CPU, quota=2.5), ["cpu_quota"]),
        (replace(CPU, governors=("performance",)), []),
        (replace(CPU, governors=("powersave",)), ["cpu_governor"]),
        (replace(CPU, load=3.9), []),
        (replace(CPU, load=4.1), ["cpu_load"]),
        (replace(CPU, quota=2.0, load=1.5), ["cpu_quota", "cpu_load"]),
    ],
)
def test_what_else_computes_and_how_much_may_be(cpu: CpuFacts, expected: list[str]) -> None:
    assert worst(judge_cpu(cpu)) == [(name, State.WARN) for name in expected]
