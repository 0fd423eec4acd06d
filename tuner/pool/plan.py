"""How many workers go where, and what each is called.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.errors import PoolError
from tuner.pool.cores import partition
from tuner.pool.host import HostFacts
from tuner.records import WorkerFacts


@dataclass(frozen=True)
class Node:
    """One node of a cluster.  id: unique; address: of its host (several nodes may share a host); gpus: how many."""

    id: str
    address: str
    gpus: int


@dataclass(frozen=True)
class Place:
    """Where one worker goes and the GPUs it takes there."""

    node: Node
    gpus: int


def places(nodes: Sequence[Node], gpus_per_worker: int, max_workers: int | None) -> tuple[Place, ...]:
    """Return one place per group of `gpus_per_worker` GPUs of one node.

    Without any GPU (or with `gpus_per_worker` 0) there is one worker per node, on its CPU; only then, and only if
    `gpus_per_worker` is 0, `max_workers` may put several on a node.  PoolError if no node can ever hold one worker.
    """
    on_cpu = gpus_per_worker == 0 or (gpus_per_worker == 1 and not any(node.gpus for node in nodes))
    if on_cpu:
        found = [Place(node, 0) for node in nodes]
        if gpus_per_worker == 0 and max_workers is not None and found:
            found = [found[index % len(found)] for index in range(max_workers)]
    else:
        found = [Place(node, gpus_per_worker) for node in nodes for _ in range(node.gpus // gpus_per_worker)]
    if not found:
        largest = max((node.gpus for node in nodes), default=0)
        raise PoolError(
            f"one engine needs {gpus_per_worker} GPUs on one node; the largest node has {largest}",
            "Lower tensor_parallel_size x pipeline_parallel_size, or use a cluster with larger nodes (RAY_ADDRESS).",
        )
    return tuple(found[:max_workers])


def joining(node: Node, gpus: int, room: int | None) -> tuple[Place, ...]:
    """Return the places on a node that joined later, for workers of `gpus` GPUs as the others have; at most `room`."""
    found = (Place(node, gpus),) * (node.gpus // gpus if gpus else 1)
    return found[:room]


def check_hosts(hosts: Sequence[HostFacts], tuner_version: str) -> None:
    """Check that every host can run trials.  PoolError names each host and all that it lacks."""
    problems = []
    for host in dict.fromkeys(hosts):
        if host.tuner_version != tuner_version:
            problems.append(f"{host.host} has tuner {host.tuner_version}, not {tuner_version}")
        problems.extend(f"{host.host} has no {path}" for path in host.missing)
        if host.differs:
            problems.append(f"{host.host}: {host.differs}")
    if problems:
        raise PoolError(
            "; ".join(dict.fromkeys(problems)),
            "Every node needs the same tuner, the same engine and the models under the same path (or hub ids).",
        )


def worker_facts(nodes: Sequence[Node], hosts: Sequence[HostFacts]) -> tuple[WorkerFacts, ...]:
    """Return the facts of workers that are on these nodes (one entry each) and found this there.

    Workers on one host get disjoint CPU cores.  Equal device keys mean equal hardware to the last part, so a name that
    several nodes share is made unique by the node's id; a GPU is known by its UUID, which outlives a cluster.
    """
    ids_by_name: dict[str, set[str]] = {}
    for node, host in zip(nodes, hosts, strict=True):
        ids_by_name.setdefault(host.host, set()).add(node.id)
    names = [
        host.host if len(ids_by_name[host.host]) == 1 else f"{host.host}-{node.id[:8]}"
        for node, host in zip(nodes, hosts, strict=True)
    ]
    cores = _cores_by_worker(nodes, hosts)
    on_cpu = Counter(name for name, host in zip(names, hosts, strict=True) if not host.gpus)
    return tuple(
        _facts(name, host, mine, alone=on_cpu[name] <= 1) for name, host, mine in zip(names, hosts, cores, strict=True)
    )


def _cores_by_worker(nodes: Sequence[Node], hosts: Sequence[HostFacts]) -> list[tuple[int, ...]]:
    cores: list[tuple[int, ...]] = [()] * len(hosts)
    machines = [(node.address, host.host) for node, host in zip(nodes, hosts, strict=True)]
    for machine in dict.fromkeys(machines):
        members = [index for index, each in enumerate(machines) if each == machine]
        near = [frozenset[int]().union(*(gpu.near for gpu in hosts[index].gpus)) for index in members]
        for index, mine in zip(members, partition(hosts[members[0]].cores, near), strict=True):
            cores[index] = mine
    return cores


def _facts(name: str, host: HostFacts, cores: tuple[int, ...], *, alone: bool) -> WorkerFacts:
    if host.gpus:
        key = "+".join(sorted(gpu.uuid or f"gpu{gpu.id}" for gpu in host.gpus))
        kinds = Counter(gpu.name for gpu in host.gpus)
        device = ", ".join(kind if count == 1 else f"{count} x {kind}" for kind, count in kinds.items())
    else:
        # With another number of cores it is another device: an older baseline there must not be compared with.
        key = f"cpu-{len(cores)}" if alone else f"cpu{'.'.join(map(str, cores))}"
        device = host.cpu
    return WorkerFacts(
        device_key=f"{name}/{key}",
        device=device,
        node=name,
        gpu_ids=tuple(gpu.id for gpu in host.gpus),
        cpu_cores=cores,
        memory_bytes=min((gpu.memory_bytes for gpu in host.gpus if gpu.memory_bytes), default=None),
        driver=next((gpu.driver for gpu in host.gpus if gpu.driver), ""),
    )
