"""What disturbs a repeat and what is how the device always is; all values synthetic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.device.disturbances import CLOCK_DROP, disturbances, with_disturbances
from tuner.engine.device.gpu import POWER_CAP, REASONS, SLOWDOWNS
from tuner.records import Counters, DeviceLoad, Repeat

GPU = DeviceLoad(
    source="nvml",
    samples=20,
    gpu_utilisation=0.98,
    gpu_memory_bytes=120 * 2**30,
    gpu_clock_mhz=1950.0,
    gpu_clock_min_mhz=1900.0,
    gpu_temperature_c=61.0,
    gpu_power_w=640.0,
    throttled=(POWER_CAP,),
    cpu_busy=0.15,
    cpu_steal=0.0,
    cpu_others=0.02,
)
CPU = DeviceLoad(source="cpu", samples=2, cpu_busy=1.0, cpu_steal=0.01, cpu_others=0.03)


def repeat(index: int, device: DeviceLoad | None, disturbed: tuple[str, ...] = ()) -> Repeat:
    return Repeat(index, 10.0, Counters(1, 1, 1), 1, 0, disturbances=disturbed, device=device)


def test_a_gpu_at_its_power_cap_and_a_cpu_that_the_engine_fills_are_as_usual() -> None:
    assert disturbances(GPU, [GPU, GPU]) == ()
    assert disturbances(CPU, [CPU, CPU]) == ()
    assert disturbances(GPU, []) == ()


@pytest.mark.parametrize("reason", sorted(SLOWDOWNS))
def test_heat_and_brakes_disturb(reason: str) -> None:
    assert disturbances(replace(GPU, throttled=(POWER_CAP, reason)), [GPU]) == (f"the GPU slowed down: {reason}",)


def test_exactly_the_four_slowdowns_disturb_by_themselves() -> None:
    telling = [reason for reason in REASONS.values() if disturbances(replace(GPU, throttled=(reason,)), [GPU])]
    assert set(telling) == SLOWDOWNS
    assert telling == [
        "hardware slowdown",
        "software thermal slowdown",
        "hardware thermal slowdown",
        "hardware power brake",
    ]


@pytest.mark.parametrize(("clock", "disturbed"), [(1710.0, False), (1709.0, True), (1900.0, False), (2100.0, False)])
def test_a_clock_a_tenth_below_the_other_repeats_disturbs(clock: float, disturbed: bool) -> None:
    found = disturbances(replace(GPU, gpu_clock_min_mhz=clock), [GPU, GPU])
    assert found == (("the GPU's clock fell to 1709 MHz, usually 1900 MHz",) if disturbed else ())


def test_one_odd_repeat_does_not_change_what_is_usual() -> None:
    odd = replace(GPU, gpu_clock_min_mhz=600.0)
    assert disturbances(GPU, [odd, GPU]) == disturbances(GPU, [odd, odd]) == ()
    assert disturbances(odd, [GPU, odd, GPU])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"cpu_steal": 0.05}, ()),
        ({"cpu_steal": 0.06}, ("the hypervisor took 6% of the CPU time",)),
        ({"cpu_others": 0.10}, ()),
        ({"cpu_others": 0.11}, ("other processes used 11% of the CPU time",)),
        ({"cpu_steal": None, "cpu_others": None, "cpu_busy": None}, ()),
    ],
)
def test_steal_and_other_processes_disturb(changed: dict[str, float | None], words: tuple[str, ...]) -> None:
    assert disturbances(replace(CPU, **changed), [CPU]) == words  # type: ignore[arg-type]


def test_nothing_known_is_no_disturbance() -> None:
    assert disturbances(DeviceLoad(source="nvml", samples=1), [GPU]) == ()


@given(st.lists(st.floats(300, 2000), min_size=1, max_size=6))
def test_the_fastest_repeat_is_never_disturbed_by_its_clock_and_the_slowest_first(clocks: list[float]) -> None:
    judged = with_disturbances([repeat(i, replace(GPU, gpu_clock_min_mhz=mhz)) for i, mhz in enumerate(clocks)])
    flagged = [clocks[r.index] for r in judged if r.disturbances]
    clean = [clocks[r.index] for r in judged if not r.disturbances]
    assert max(clocks) in clean
    assert not flagged or max(flagged) < (1 - CLOCK_DROP) * max(clocks)


def test_a_later_repeat_shows_that_an_earlier_one_was_slow() -> None:
    slow, usual = repeat(0, replace(GPU, gpu_clock_min_mhz=1500.0)), repeat(1, GPU)
    assert [bool(r.disturbances) for r in with_disturbances([slow])] == [False]
    assert [bool(r.disturbances) for r in with_disturbances([slow, usual])] == [True, False]


def test_judging_twice_changes_nothing_and_repeats_without_readings_are_left_alone() -> None:
    repeats = (repeat(0, replace(CPU, cpu_steal=0.5)), repeat(1, CPU), repeat(2, None))
    judged = with_disturbances(repeats)
    assert [bool(r.disturbances) for r in judged] == [True, False, False]
    assert with_disturbances(judged) == judged
    assert [replace(r, disturbances=()) for r in judged] == list(repeats)
