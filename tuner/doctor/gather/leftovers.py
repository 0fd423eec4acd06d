"""Looks for what earlier sweeps left behind. Nothing is ended, removed or locked."""

from __future__ import annotations

import os
import re
import shlex
import stat
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import psutil

from tuner.doctor.facts import LeftFiles, Leftovers, ProcessFacts, RunFacts
from tuner.doctor.gather.ray import DAEMONS
from tuner.engine.process import SUPERVISOR
from tuner.space.model_refs import demo_models_dir
from tuner.store.lock import LOCK_FILE, holder

SERVED_NAME = re.compile(r"trial-\d+-[0-9a-f]{8}")
"""The model name that the tuner gives an engine, by which its processes are known."""
ENGINE_TITLE = "VLLM::"
"""What vLLM calls the processes that it starts."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWNERS = re.compile(r"python|tuner|ray::")
_MOST_ENTRIES = 20_000


def leftovers(env: Mapping[str, str], runs: Sequence[Path]) -> Leftovers:
    """Return engines, locks and files of sweeps.  runs: directories that are, or hold, run directories."""
    listed = _processes()
    return Leftovers(
        processes=engine_processes(listed, os.getpid()),
        runs=_runs(runs),
        files=tuple(
            found
            for found in (_sockets(env), _shared_memory(), _ray_sessions(env, listed), _demo_builds())
            if found is not None
        ),
    )


def _processes() -> dict[int, psutil.Process]:
    wanted = ["pid", "ppid", "name", "cmdline", "create_time"]
    return {process.pid: process for process in psutil.process_iter(wanted)}


def engine_processes(listed: Mapping[int, psutil.Process], me: int) -> tuple[ProcessFacts, ...]:
    """Return supervisors, the engines that tuners started, and engine cores whose server is gone."""
    infos = {pid: process.info for pid, process in listed.items() if pid != me}
    commands = {pid: " ".join(info["cmdline"] or [info["name"] or ""]) for pid, info in infos.items()}
    supervisors = {pid for pid, command in commands.items() if SUPERVISOR.name in command and _is_ours(command)}
    found = []
    for pid, command in commands.items():
        parent = infos[pid]["ppid"]
        parent_alive = bool(_OWNERS.search(commands.get(parent, "") if parent != me else "tuner"))
        supervised = bool(supervisors & set(_above(pid, infos)))
        if pid in supervisors and parent not in supervisors:
            role = "supervisor"
        elif _served_by_us(infos[pid]["cmdline"] or ()):
            role = "engine"
        elif command.startswith(ENGINE_TITLE) and not supervised and not _below_server(parent, commands):
            role = "engine core"
        else:
            continue
        age_s = max(time.time() - (infos[pid]["create_time"] or time.time()), 0.0)
        found.append(ProcessFacts(pid, role, command, parent_alive, supervised, age_s))
    return tuple(found)


def _is_ours(command: str) -> bool:
    return f"{SUPERVISOR.parent.name}/{SUPERVISOR.name}" in command and " -I -S " in f" {command} "


def _served_by_us(command: Sequence[str]) -> bool:
    return any(name == "--served-model-name" and SERVED_NAME.fullmatch(value) for name, value in pairwise(command))


def _below_server(parent: int, commands: Mapping[int, str]) -> bool:
    command = commands.get(parent, "")
    return "vllm" in command.lower()


def _above(pid: int, infos: Mapping[int, Mapping[str, int]]) -> list[int]:
    above: list[int] = []
    while pid in infos and infos[pid]["ppid"] not in (0, *above):
        pid = infos[pid]["ppid"]
        above.append(pid)
    return above


def _runs(directories: Iterable[Path]) -> tuple[RunFacts, ...]:
    locked = _locked_inodes()
    found = []
    for path in sorted({lock.parent for directory in directories for lock in _locks(directory)}):
        by = _holder(path)
        held = (path / LOCK_FILE).stat().st_ino in locked
        if held or by:
            found.append(RunFacts(str(path), by, held))
    return tuple(found)


def _locks(directory: Path) -> list[Path]:
    patterns = (LOCK_FILE, f"*/{LOCK_FILE}", f"*/*/{LOCK_FILE}")
    return [lock for pattern in patterns for lock in directory.glob(pattern) if lock.is_file()]


def _holder(path: Path) -> str:
    found = holder(path)
    return f"process {found[0]} on {found[1]}" if found else ""


def _locked_inodes() -> set[int]:
    """Return the inodes that have an flock. Read from the kernel's list: trying a lock could disturb a sweep."""
    lines = _lines(Path("/proc/locks"))
    return {int(word) for line in lines if (word := line.split()[5].rpartition(":")[2]).isdigit()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _sockets(env: Mapping[str, str]) -> LeftFiles | None:
    """vLLM's processes talk through sockets that it makes here and does not remove."""
    directory = Path(env.get("VLLM_RPC_BASE_PATH") or tempfile.gettempdir())
    living = {line.split()[-1] for line in _lines(Path("/proc/net/unix"))}
    mine = [entry for entry in os.scandir(directory) if _UUID.fullmatch(entry.name) and _my_socket(entry)]
    dead = [entry for entry in mine if entry.path not in living]
    pattern = r".*/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    command = (
        f"find {shlex.quote(str(directory))} -maxdepth 1 -type s -user {os.getuid()} "
        f"-regextype posix-extended -regex '{pattern}' -delete"
    )
    return LeftFiles("sockets", str(directory), len(dead), 0, command, len(dead) < len(mine)) if dead else None


def _my_socket(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()


def _shared_memory() -> LeftFiles | None:
    """Shared memory of Python's processes that were killed; counted only where nobody has it open."""
    directory = Path("/dev/shm")  # noqa: S108 - it is what is looked at
    mine = {path for path in directory.glob("psm_*") if path.stat().st_uid == os.getuid()}
    if not mine:
        return None
    mapped = {
        Path(word)
        for process in Path("/proc").glob("[0-9]*")
        for line in _lines(process / "maps")
        if (word := line.rpartition(" ")[2]).startswith(f"{directory}/psm_")
    }
    dead = sorted(mine - mapped)
    size = sum(path.stat().st_size for path in dead)
    command = shlex.join(["rm", "-f", *map(str, dead)])
    return LeftFiles("shared memory", str(directory), len(dead), size, command) if dead else None


def _ray_sessions(env: Mapping[str, str], listed: Mapping[int, psutil.Process]) -> LeftFiles | None:
    directory = Path(env.get("RAY_TMPDIR") or tempfile.gettempdir()) / "ray"
    sessions = [path for path in directory.glob("session_2*") if path.is_dir() and not path.is_symlink()]
    running = any(process.info["name"] in DAEMONS for process in listed.values())
    command = f"rm -rf {shlex.quote(str(directory))}/session_2*"
    return (
        LeftFiles("Ray sessions", str(directory), len(sessions), _size(sessions), command, running)
        if sessions
        else None
    )


def _demo_builds() -> LeftFiles | None:
    demo = demo_models_dir()
    builds = [path for path in demo.parent.glob(f"{demo.name}.building-*") if path.is_dir()]
    if not builds:
        return None
    lock = demo.parent / f".{demo.name}.lock"
    in_use = lock.exists() and lock.stat().st_ino in _locked_inodes()
    command = shlex.join(["rm", "-rf", *map(str, builds)])
    return LeftFiles("unfinished demo models", str(demo.parent), len(builds), _size(builds), command, in_use)


def _size(directories: Iterable[Path]) -> int:
    """Return the bytes of all files below, of the first twenty thousand: it is an order of magnitude that matters."""
    total = seen = 0
    for directory in directories:
        for path in directory.rglob("*"):
            seen += 1
            if seen > _MOST_ENTRIES:
                return total
            try:
                found = path.stat(follow_symlinks=False)
            except OSError:
                continue
            total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total
