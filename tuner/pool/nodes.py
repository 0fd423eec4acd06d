"""The nodes of the cluster that this process is connected to, and whether its head is still there."""

from __future__ import annotations

import socket
import time

from tuner.errors import PoolError
from tuner.pool.plan import Node

CONNECT_S = 3.0
CHECK_S = 2.0
HEAD_GONE_S = 10.0
"""How long the head may be silent. After a minute of it Ray ends the whole process, without a word of ours."""


class Nodes:
    """Looks at the cluster, at most every CHECK_S.

    alive: the nodes as they were last seen.  lost: what is lost with the head, "" while it is there.
    """

    def __init__(self) -> None:
        import ray

        context = ray.get_runtime_context()
        self._own_id = context.get_node_id()
        host, _, port = context.gcs_address.rpartition(":")
        self._head = (host.strip("[]"), int(port))
        self._cluster = _cluster_id(self._head)  # "" where it is not watched: a client (ray://) may not reach it
        self._answered_s = self._looked_s = time.monotonic()
        self.alive = _alive()
        self.lost = ""

    def check(self, *, now: bool = False) -> None:
        """Look again if it is time, or `now`.

        PoolError: the head has not answered for HEAD_GONE_S or was restarted, or Ray's daemon on this machine is gone;
        nothing can be started any more.
        """
        if not now and time.monotonic() - self._looked_s < CHECK_S:
            return
        self._looked_s = time.monotonic()
        cluster = _cluster_id(self._head) if self._cluster else ""
        if self._cluster and not cluster:
            if time.monotonic() - self._answered_s < HEAD_GONE_S:
                return
            self.lost = f"the Ray head at {_written(self._head)} does not answer any more"
        elif cluster != self._cluster:  # Ray ends a process that asks such a head for its nodes
            self.lost = f"the Ray head at {_written(self._head)} was restarted and does not know this sweep"
        else:
            self._answered_s = time.monotonic()
            self.alive = _alive()
            if self._own_id not in {node.id for node in self.alive}:
                self.lost = "the Ray node that this command is connected to was lost"
        if self.lost:
            raise PoolError(
                self.lost,
                "Start the cluster again (`ray status`), then call the same command: finished trials are kept.",
            )


def answers(endpoint: tuple[str, int]) -> bool:
    """Whether something listens there."""
    try:
        socket.create_connection(endpoint, timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


def _written(endpoint: tuple[str, int]) -> str:
    return f"{endpoint[0]}:{endpoint[1]}"


def _cluster_id(head: tuple[str, int]) -> str:
    """Return what the head calls its cluster, "" if it does not answer.

    A head that is started again has a new one, unless it keeps its state elsewhere: then it knows what went before.
    """
    import ray
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    if not answers(head):  # Ray itself would try for 40 s
        return ""
    try:
        return str(GcsClient(address=_written(head)).cluster_id.hex())
    except ray.exceptions.RayError:
        return ""


def gpus_in_use(nodes: tuple[Node, ...]) -> int:
    """Return how many GPUs of these nodes Ray has given away."""
    import ray

    return sum(node.gpus for node in nodes) - int(ray.available_resources().get("GPU", 0))  # type: ignore[no-untyped-call]


def _alive() -> tuple[Node, ...]:
    import ray

    return tuple(
        Node(node["NodeID"], node["NodeManagerAddress"], int(node["Resources"].get("GPU", 0)))
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    )
