"""Judges memory, disks, limits and ports. Pure."""

from __future__ import annotations

from tuner.doctor.check import Check, State, gib
from tuner.doctor.facts import LimitFacts, MemoryFacts, PlaceFacts, PortFacts
from tuner.records import Json

GIB = 2**30
LOW_MEMORY = 4 * GIB
LOW_SHM = 1 * GIB
"""Docker gives 64 MiB; with tensor parallelism NCCL and vLLM's workers exchange through it."""
LOW_DISK, NO_DISK = 5 * GIB, GIB // 4
OPEN_FILES = 4096
TASKS = 2048
FREE_PORTS = 64
_NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "9p", "lustre", "ceph", "beegfs", "gpfs")


def judge_memory(facts: MemoryFacts) -> tuple[Check, ...]:
    """How much host memory an engine finds: a container's limit matters more than the host's memory."""
    available = facts.available_bytes
    values: dict[str, Json] = {
        "total_bytes": facts.total_bytes,
        "available_bytes": available,
        "limit_bytes": facts.limit_bytes,
    }
    what = f"{gib(facts.available_bytes)} of {gib(facts.total_bytes)} available"
    limited = facts.limit_bytes is not None and facts.limit_bytes < facts.total_bytes
    if facts.limit_bytes is not None and limited:
        left = max(facts.limit_bytes - (facts.limit_used_bytes or 0), 0)
        available = min(available, left)
        what = f"{gib(left)} left of the container's limit of {gib(facts.limit_bytes)}; the host has {what}"
    if available < LOW_MEMORY:
        step = "An engine that runs out is killed without a word: end other programs" + (
            ", or give the container more." if limited else "."
        )
        return (Check("memory", State.WARN, what, step, values), *_shm(facts))
    return (Check("memory", State.OK, what, "", values), *_shm(facts))


def _shm(facts: MemoryFacts) -> tuple[Check, ...]:
    size, free = facts.shm_bytes, facts.shm_free_bytes
    step = "Start the container with --shm-size=8g (Kubernetes: an emptyDir with medium: Memory at /dev/shm)."
    if size is None or free is None:
        return (Check("shm", State.WARN, "there is no /dev/shm: engines with several workers will not start", step),)
    values: dict[str, Json] = {"total_bytes": size, "free_bytes": free}
    what = f"{gib(free)} of {gib(size)} shared memory (/dev/shm) free"
    if size < LOW_SHM:
        return (Check("shm", State.WARN, f"{what}: too small for tensor parallelism", step, values),)
    if free < LOW_SHM:
        return (Check("shm", State.WARN, what, "`ls -la /dev/shm` shows who fills it.", values),)
    return (Check("shm", State.OK, what, "", values),)


def judge_place(facts: PlaceFacts) -> tuple[Check, ...]:
    """Whether there is room, and the right to write, where something is written."""
    name = f"disk_{facts.purpose}"
    values: dict[str, Json] = {"path": facts.path, "free_bytes": facts.free_bytes, "file_system": facts.file_system}
    what = f"{facts.path}: {gib(facts.free_bytes)} free"
    needed = facts.purpose in ("runs", "temporary")
    if not facts.writable:
        step = f"{_MOVE[facts.purpose]}, or get the right to write in {facts.below}."
        state = State.FAIL if needed else State.WARN
        return (Check(name, state, f"{facts.path}: {facts.below} cannot be written", step, values),)
    if facts.free_bytes < NO_DISK:
        return (Check(name, State.FAIL if needed else State.WARN, what, f"{_MOVE[facts.purpose]}.", values),)
    if facts.free_bytes < LOW_DISK:
        return (Check(name, State.WARN, what, f"Free some space, or: {_MOVE[facts.purpose]}.", values),)
    if facts.purpose == "runs" and facts.file_system.startswith(_NETWORK):
        on = f"{what}, on {facts.file_system}: the study's database and the lock are not reliable on a network disk"
        return (Check(name, State.WARN, on, "Give --out a local disk and copy the run afterwards.", values),)
    return (Check(name, State.OK, what, "", values),)


_MOVE = {
    "runs": "Give --out a directory elsewhere",
    "models": "Point HF_HOME (hub models) to another disk",
    "demo_models": "Point TUNER_CACHE to another disk",
    "engine_cache": "Point VLLM_CACHE_ROOT to another disk",
    "temporary": "Point TMPDIR to another directory",
}


def judge_limits(facts: LimitFacts) -> tuple[Check, ...]:
    """Whether this process may open and start enough."""
    values: dict[str, Json] = {"open_files": facts.open_files, "processes": facts.processes, "tasks": facts.tasks}
    found = []
    if facts.open_files is not None and facts.open_files < OPEN_FILES:
        what = f"at most {facts.open_files} open files: Ray, and loads of many requests, need more"
        found.append(Check("open_files", State.WARN, what, "In this shell: ulimit -n 65536", values))
    few = [limit for limit in (facts.processes, facts.tasks) if limit is not None and limit < TASKS]
    if few:
        what = f"at most {min(few)} processes and threads: Ray and an engine start hundreds on a large machine"
        step = "Raise `ulimit -u`, or the container's limit (docker: --pids-limit)."
        found.append(Check("processes", State.WARN, what, step, values))
    if found:
        return tuple(found)
    files = "any number of" if facts.open_files is None else facts.open_files
    return (Check("open_files", State.OK, f"{files} open files allowed", "", values),)


def judge_ports(facts: PortFacts) -> tuple[Check, ...]:
    """Whether engines find ports and can be reached on them."""
    if not facts.loopback:
        what = "a connection from 127.0.0.1 to 127.0.0.1 does not work, and engines are talked to on it"
        return (Check("loopback", State.FAIL, what, "Bring the loopback interface up: ip link set lo up"),)
    of = facts.last - facts.first + 1
    what = f"{facts.free} of the {of} ports {facts.first}-{facts.last} of 127.0.0.1 are free"
    values: dict[str, Json] = {"free": facts.free}
    if facts.free < FREE_PORTS:
        state = State.WARN if facts.free else State.FAIL
        return (Check("ports", state, what, "`ss -ltnp` shows who listens.", values),)
    found = [Check("ports", State.OK, what, "", values)]
    if facts.ephemeral and facts.ephemeral[0] <= facts.last:
        low, high = facts.ephemeral
        also = f"the system gives {low}-{high} to outgoing connections, engines' ports among them: a start may fail"
        step = "As root: sysctl net.ipv4.ip_local_port_range='32768 60999'"
        found.append(Check("ephemeral_ports", State.WARN, also, step))
    return tuple(found)
