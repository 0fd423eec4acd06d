"""How much memory there is."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.preflight.memory_device import Device, assumed_device, host, parse_device_size, parse_size, read_device

NODE = "Node 0 MemTotal:       19491020 kB\nNode 0 MemFree:        11000000 kB\n"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("80GiB", 80 * 2**30),
        ("80 gib", 80 * 2**30),
        ("80G", 80 * 2**30),
        ("24GB", 24 * 10**9),
        ("1.5MiB", 3 * 2**19),
        ("0.5T", 2**39),
        ("1024", 1024),
        ("7B", 7),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "80XB", "-1GiB", "0", "0GiB", "1,5GiB", "80GiB of it"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError):
        parse_size(text)


def test_a_device_without_a_unit_is_no_80_bytes() -> None:
    assert parse_device_size("24GB") == 24 * 10**9
    with pytest.raises(InputError, match="80 bytes") as raised:
        parse_device_size("80")
    assert "80GiB" in raised.value.next_step


@given(st.integers(1, 10**6))
def test_a_size_in_its_own_words(gib: int) -> None:
    assert parse_size(f"{gib}GiB") == parse_size(str(gib * 2**30)) == gib * 2**30


def _write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_the_host_is_its_first_memory_node(tmp_path: Path) -> None:
    _write(tmp_path, "sys/devices/system/node/node0/meminfo", NODE)
    assert host(tmp_path) == Device("cpu", "this host", 19491020 * 1024)


def test_a_container_may_use_less(tmp_path: Path) -> None:
    _write(tmp_path, "sys/devices/system/node/node0/meminfo", NODE)
    _write(tmp_path, "sys/fs/cgroup/memory.max", f"{4 * 2**30}\n")
    assert host(tmp_path).total == 4 * 2**30


@pytest.mark.parametrize("limit", ["max\n", f"{2**62}\n"])
def test_a_container_without_a_limit(tmp_path: Path, limit: str) -> None:
    _write(tmp_path, "sys/devices/system/node/node0/meminfo", NODE)
    _write(tmp_path, "sys/fs/cgroup/memory.max", limit)
    assert host(tmp_path).total == 19491020 * 1024


def test_a_host_without_nodes(tmp_path: Path) -> None:
    assert host(tmp_path).total == psutil.virtual_memory().total


def test_what_is_read_for_which_build(tmp_path: Path) -> None:
    assert read_device("sim") is None
    here = read_device("cpu", tmp_path)
    assert here is not None and here.kind == "cpu" and not here.assumed
    assert assumed_device("gpu", 5) == Device("gpu", "the device to plan for", 5, assumed=True)


class FakeNvml:
    """As much of pynvml as is asked: two GPUs, of which the driver keeps a part."""

    NVMLError = OSError
    nvmlMemory_v2 = 2

    def __init__(self, *, second_form: bool = True, present: bool = True) -> None:
        self.second_form, self.present, self.open = second_form, present, False

    def nvmlInit(self) -> None:
        if not self.present:
            raise OSError("no driver")
        self.open = True

    def nvmlShutdown(self) -> None:
        self.open = False

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:
        return {"GPU-a": 0, "GPU-b": 1}[uuid]

    def nvmlDeviceGetName(self, handle: int) -> str:
        return f"GPU {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> object:
        if version and not self.second_form:
            raise OSError("not supported")
        info = {"total": 100 - 20 * handle}
        return type("Info", (), {**info, "reserved": 5} if version else info)


@pytest.mark.parametrize(("second_form", "total"), [(True, 75), (False, 80)])
def test_the_smallest_gpu_counts(monkeypatch: pytest.MonkeyPatch, second_form: bool, total: int) -> None:
    nvml = FakeNvml(second_form=second_form)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert read_device("cuda") == Device("gpu", "GPU 1", total)
    assert not nvml.open


def test_a_machine_without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(present=False))
    assert read_device("cuda") is None


@pytest.mark.parametrize(
    ("visible", "name"), [("0", "GPU 0"), ("GPU-a", "GPU 0"), ("0, 1", "GPU 1"), ("GPU-b,0", "GPU 1"), ("", None)]
)
def test_a_gpu_that_engines_may_not_use_does_not_count(
    monkeypatch: pytest.MonkeyPatch, visible: str, name: str | None
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    found = read_device("cuda")
    assert (found.name if found else None) == name
