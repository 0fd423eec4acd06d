"""What an engine said about its own memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineMemory:
    """Memory of one engine life as its log gives it, bytes on one device; None where the log does not say.

    weights_bytes: of target and draft together; the CPU build says only how large the files are.  kv_bytes: of the KV
    cache; of several devices the smallest, of which all have the same.  kv_requests: how many requests of max_model_len
    the cache holds.  graph_bytes: of captured CUDA graphs.  other_bytes: the CPU build's resident memory before the
    cache, weights included.
    """

    weights_bytes: int | None = None
    kv_bytes: int | None = None
    kv_requests: float | None = None
    graph_bytes: int | None = None
    other_bytes: int | None = None
