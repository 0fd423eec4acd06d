"""What the doctor reads on this machine, before anything is judged. Sizes in bytes, times in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Packages:
    """The tuner's own environment.  found: version by distribution.  missing: required and not installed."""

    tuner: str
    python: str
    executable: str
    found: Mapping[str, str]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class EngineFacts:
    """The engine's environment, read from its package metadata.

    kind: "vllm" or "sim".  build: "cpu", "cuda" or "sim".  found: version by distribution, of those that matter.
    torch_cuda: the CUDA release that torch was built for, None for a CPU build or where there is no torch.
    asked: the answer of the engine's own --version, None if it was not asked.
    """

    kind: str
    python: str
    python_version: str
    version: str
    build: str
    found: Mapping[str, str] = field(default_factory=dict)
    torch_cuda: str | None = None
    asked: str | None = None


@dataclass(frozen=True)
class GpuUser:
    """A process that holds memory of a GPU. memory_bytes None where NVML does not tell (containers)."""

    pid: int
    name: str
    memory_bytes: int | None


@dataclass(frozen=True)
class GpuFacts:
    """One GPU at one moment; None where NVML does not tell.

    compute_mode: "default", "exclusive process", "exclusive thread" or "prohibited".  ecc_errors: uncorrected memory
    errors since the driver was loaded.  throttled: reasons for a lowered clock, in words.
    """

    index: int
    name: str
    total_bytes: int
    used_bytes: int
    users: tuple[GpuUser, ...] = ()
    mig: bool = False
    compute_mode: str = "default"
    ecc_errors: int | None = None
    throttled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gpus:
    """driver: NVIDIA's driver release, None without one.  cuda: the newest CUDA that it supports, as "12.8".

    problem: why NVML could not be read, "" if it was, or if there is no NVIDIA driver at all.
    """

    driver: str | None = None
    cuda: str | None = None
    gpus: tuple[GpuFacts, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class CpuFacts:
    """model: name.  allowed, total: logical CPUs that this process may use, and that there are.

    physical: cores among the allowed ones.  quota: CPUs' worth of time that a cgroup allows, None without a limit.
    governors: of the allowed CPUs' frequency.  load: processes that ran or waited, mean of the last minute.
    """

    model: str
    allowed: int
    total: int
    physical: int
    quota: float | None = None
    governors: tuple[str, ...] = ()
    load: float = 0.0


@dataclass(frozen=True)
class MemoryFacts:
    """limit_bytes, limit_used_bytes: of the tightest memory cgroup, None without a limit.

    shm_*: /dev/shm, None where there is none.
    """

    total_bytes: int
    available_bytes: int
    limit_bytes: int | None = None
    limit_used_bytes: int | None = None
    shm_bytes: int | None = None
    shm_free_bytes: int | None = None


@dataclass(frozen=True)
class PlaceFacts:
    """Where something is written.  path: as configured.  below: the nearest directory that exists.

    file_system: its type, "" if unknown.
    """

    purpose: str
    path: str
    below: str
    free_bytes: int
    writable: bool
    file_system: str = ""


@dataclass(frozen=True)
class LimitFacts:
    """Limits of this process; None for no limit.  processes: of the user; tasks: of the cgroup."""

    open_files: int | None
    processes: int | None = None
    tasks: int | None = None


@dataclass(frozen=True)
class PortFacts:
    """first, last: where engines get their ports.  free: how many of them are.

    loopback: whether a connection from 127.0.0.1 to 127.0.0.1 works.  ephemeral: the ports that the system gives to
    outgoing connections.
    """

    first: int
    last: int
    free: int
    loopback: bool
    ephemeral: tuple[int, int] | None = None


@dataclass(frozen=True)
class RayFacts:
    """version: of the package, None if it is missing.  address: RAY_ADDRESS, "" if unset.

    reached: whether a connection to it works, None if there is nothing to connect to.  auth_mode: RAY_AUTH_MODE.
    has_token: whether a token is where Ray looks for one.  running: processes of a cluster on this machine.
    started_s: how long a local Ray took to start, None if none was started.  problem: why it did not start.
    """

    version: str | None
    address: str = ""
    reached: bool | None = None
    auth_mode: str = ""
    has_token: bool = False
    running: tuple[int, ...] = ()
    started_s: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class ProcessFacts:
    """A process of an engine, or of what watches over one.

    role: "supervisor" (the guard, the engine's root), "engine" (started by a tuner).  parent_alive: whether the process
    that started it still is its parent.  supervised: whether a supervisor is above it.
    """

    pid: int
    role: str
    command: str
    parent_alive: bool
    supervised: bool
    age_s: float


@dataclass(frozen=True)
class RunFacts:
    """A run directory with a lock file.  holder: process and host that it names, "" if none; held: by the kernel."""

    path: str
    holder: str
    held: bool


@dataclass(frozen=True)
class LeftFiles:
    """Files of engines or tuners that ended.  command: what removes them, safe to call as it stands.

    in_use: whether something of the same kind is running.
    """

    kind: str
    where: str
    count: int
    size_bytes: int
    command: str
    in_use: bool = False


@dataclass(frozen=True)
class Leftovers:
    """What earlier sweeps left behind."""

    processes: tuple[ProcessFacts, ...] = ()
    runs: tuple[RunFacts, ...] = ()
    files: tuple[LeftFiles, ...] = ()


@dataclass(frozen=True)
class EnvironmentFacts:
    """variables: the whole environment; values of secrets are never shown.  gpus: how many NVML counts.

    gpu_models: how many different ones.  temporary: the temp directory.
    """

    variables: Mapping[str, str]
    gpus: int = 0
    gpu_models: int = 0
    temporary: str = "/tmp"  # noqa: S108 - only a default for those who do not care
