"""Which CPU cores each worker of a host gets: a neighbour on one's cores was seen to cost up to 30 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def partition(cores: Sequence[Sequence[int]], near: Sequence[frozenset[int]]) -> tuple[tuple[int, ...], ...]:
    """Return disjoint sets of logical CPUs, one per worker and all of one size, so that workers can be compared.

    cores: the logical CPUs of each physical core; a core is never shared while there are enough of them.  near: for
    each worker the logical CPUs next to its GPU, empty if unknown; those are given first.  With fewer logical CPUs
    than workers all workers get all of them.
    """
    workers = len(near)
    units = [tuple(core) for core in cores]
    if len(units) < workers:
        units = [(cpu,) for core in cores for cpu in core]
    quota = len(units) // workers if workers else 0
    if quota == 0:
        return tuple(tuple(sorted(cpu for unit in units for cpu in unit)) for _ in near)
    if workers == 1:
        return (tuple(sorted(cpu for unit in units for cpu in unit)),)
    taken = _nearest(units, near, quota)
    free = [unit for unit in units if not any(unit in mine for mine in taken.values())]
    for mine in taken.values():
        while len(mine) < quota:
            mine.append(free.pop(0))
    return tuple(tuple(sorted(cpu for unit in taken[worker] for cpu in unit)) for worker in range(workers))


def _nearest(
    units: Sequence[tuple[int, ...]], near: Sequence[frozenset[int]], quota: int
) -> Mapping[int, list[tuple[int, ...]]]:
    """Give each worker up to `quota` units of those near it, turn by turn where several want the same."""
    taken: dict[int, list[tuple[int, ...]]] = {worker: [] for worker in range(len(near))}
    free = list(units)
    for _ in range(quota):
        for worker, wanted in enumerate(near):
            unit = next((unit for unit in free if wanted.issuperset(unit)), None)
            if unit is not None:
                free.remove(unit)
                taken[worker].append(unit)
    return taken


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return the CPUs of a Linux CPU list such as "0-3,8"."""
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)
