from dataclasses import replace

import pytest

from tuner.doctor.check import Check, State
from tuner.doctor.facts import LimitFacts, MemoryFacts, PlaceFacts, PortFacts
from tuner.doctor.judge.host import judge_limits, judge_memory, judge_place, judge_ports

GIB = 2**30
MEMORY = MemoryFacts(64 * GIB, 60 * GIB, shm_bytes=32 * GIB, shm_free_bytes=32 * GIB)
PLACE = PlaceFacts("runs", "/data/runs", "/data", 100 * GIB, writable=True, file_system="ext4")
PORTS = PortFacts(20_000, 31_999, 12_000, loopback=True, ephemeral=(32768, 60999))


def worst(checks: tuple[Check, ...]) -> list[tuple[str, State]]:
    assert all(check.next_step for check in checks if check.state in (State.WARN, State.FAIL))
    return [(check.name, check.state) for check in checks if check.state is not State.OK]


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (MEMORY, []),
        (replace(MEMORY, available_bytes=2 * GIB), ["memory"]),
        (replace(MEMORY, limit_bytes=16 * GIB, limit_used_bytes=2 * GIB), []),
        (replace(MEMORY, limit_bytes=16 * GIB, limit_used_bytes=14 * GIB), ["memory"]),
        (replace(MEMORY, limit_bytes=128 * GIB, limit_used_bytes=127 * GIB), []),
        (replace(MEMORY, shm_bytes=GIB // 16, shm_free_bytes=GIB // 16), ["shm"]),
        (replace(MEMORY, shm_free_bytes=GIB // 16), ["shm"]),
        (replace(MEMORY, shm_bytes=None, shm_free_bytes=None), ["shm"]),
    ],
)
def test_memory_that_is_short(memory: MemoryFacts, expected: list[str]) -> None:
    assert worst(judge_memory(memory)) == [(name, State.WARN) for name in expected]


def test_a_containers_limit_is_told_before_the_hosts_memory() -> None:
    check = judge_memory(replace(MEMORY, limit_bytes=16 * GIB, limit_used_bytes=4 * GIB))[0]
    assert check.what.startswith("12.0 GiB left of the container's limit of 16.0 GiB")


@pytest.mark.parametrize(
    ("place", "state"),
    [
        (PLACE, State.OK),
        (replace(PLACE, free_bytes=4 * GIB), State.WARN),
        (replace(PLACE, free_bytes=GIB // 10), State.FAIL),
        (replace(PLACE, purpose="models", free_bytes=GIB // 10), State.WARN),
        (replace(PLACE, writable=False), State.FAIL),
        (replace(PLACE, purpose="engine_cache", writable=False), State.WARN),
        (replace(PLACE, purpose="temporary", writable=False), State.FAIL),
        (replace(PLACE, file_system="nfs4"), State.WARN),
        (replace(PLACE, purpose="models", file_system="nfs4"), State.OK),
        (replace(PLACE, purpose="demo_models", free_bytes=4 * GIB), State.WARN),
    ],
)
def test_room_and_the_right_to_write(place: PlaceFacts, state: State) -> None:
    (check,) = judge_place(place)
    assert check.name == f"disk_{place.purpose}"
    assert check.state is state
    assert bool(check.next_step) == (state is not State.OK)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (LimitFacts(None), []),
        (LimitFacts(65536, 100_000, 100_000), []),
        (LimitFacts(1024), ["open_files"]),
        (LimitFacts(65536, 512), ["processes"]),
        (LimitFacts(1024, 512, 100), ["open_files", "processes"]),
        (LimitFacts(None, None, 100), ["processes"]),
    ],
)
def test_limits_that_are_too_low(limits: LimitFacts, expected: list[str]) -> None:
    assert worst(judge_limits(limits)) == [(name, State.WARN) for name in expected]


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        (PORTS, []),
        (replace(PORTS, ephemeral=None), []),
        (replace(PORTS, free=10), [("ports", State.WARN)]),
        (replace(PORTS, free=0), [("ports", State.FAIL)]),
        (replace(PORTS, loopback=False), [("loopback", State.FAIL)]),
        (replace(PORTS, ephemeral=(1024, 65535)), [("ephemeral_ports", State.WARN)]),
    ],
)
def test_ports_for_engines(ports: PortFacts, expected: list[tuple[str, State]]) -> None:
    assert worst(judge_ports(ports)) == expected
