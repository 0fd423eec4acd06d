import socket
from pathlib import Path

import pytest

from tuner.doctor.gather import host
from tuner.doctor.gather.host import cgroups


def tree(path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def test_cgroups_of_the_second_version_and_all_above(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    own = tree(tmp_path, {"own": "0::/a/b\n"}) / "own"
    assert cgroups("memory", tmp_path, own) == [tmp_path / "a/b", tmp_path / "a", tmp_path]


def test_cgroups_of_the_first_version_for_one_controller(tmp_path: Path) -> None:
    (tmp_path / "memory/docker/x").mkdir(parents=True)
    own = tree(tmp_path, {"own": "4:memory:/docker/x\n3:cpu,cpuacct:/y\n0::/\n"}) / "own"
    found = cgroups("memory", tmp_path, own)
    assert found[:3] == [tmp_path / "memory/docker/x", tmp_path / "memory/docker", tmp_path / "memory"]
    assert tmp_path / "y" not in found


def test_a_path_of_the_hosts_view_leaves_the_containers_own_group(tmp_path: Path) -> None:
    own = tree(tmp_path, {"own": "0::/kubepods/pod7\n"}) / "own"
    assert cgroups("memory", tmp_path, own) == [tmp_path]


def test_the_tightest_limit_counts_and_cache_is_not_used_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(
        tmp_path,
        {
            "outer/memory.max": "1000",
            "outer/memory.current": "900",
            "outer/memory.stat": "anon 300\ninactive_file 600\n",
            "inner/memory.max": "max",
            "old/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    groups = [tmp_path / name for name in ("inner", "outer", "old")]
    monkeypatch.setattr(host, "cgroups", lambda _: groups)
    found = host.memory()
    assert (found.limit_bytes, found.limit_used_bytes) == (1000, 300)
    monkeypatch.setattr(host, "cgroups", lambda _: groups[::2])
    assert host.memory().limit_bytes is None


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "250000 100000"}, 2.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.cfs_quota_us": "400000", "cpu.cfs_period_us": "100000"}, 4.0),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_quota_of_either_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], quota: float | None
) -> None:
    monkeypatch.setattr(host, "cgroups", lambda _: [tree(tmp_path, files)])
    assert host.cpu().quota == quota


def test_this_machine_has_a_processor_memory_and_limits() -> None:
    cpu, memory, limits = host.cpu(), host.memory(), host.limits()
    assert cpu.model and 1 <= cpu.physical <= cpu.allowed <= cpu.total
    assert 0 < memory.available_bytes <= memory.total_bytes
    assert limits.open_files is None or limits.open_files > 0


def test_a_place_that_is_not_there_yet_is_judged_by_what_is_above_it(tmp_path: Path) -> None:
    found = host.place("runs", tmp_path / "a/b/c")
    assert (found.path, found.below) == (str(tmp_path / "a/b/c"), str(tmp_path))
    assert found.writable and found.free_bytes > 0
    (tmp_path / "file").touch()
    assert not host.place("runs", tmp_path / "file/run").writable


def test_a_port_that_is_taken_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(host, "PORTS", range(port, port + 1))
        assert host.ports().free == 0
    assert host.ports().free == 1
    assert host.ports().loopback
