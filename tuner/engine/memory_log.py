"""What engines log about their own memory: weights, KV cache, CUDA graphs. Pure.

The words differ by release (0.8.5 to 0.33), by model runner and by build; each pattern names where it was seen. Figures
have two decimals of a GiB.
"""

from __future__ import annotations

import re
from collections import defaultdict

from tuner.records import EngineMemory

_GIB = 2**30
_UNIT = {"GiB": 2**30, "GB": 2**30}  # V0 wrote GB and meant 2**30
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_N = r"\d{1,9}(?:\.\d{1,9})?"  # Bounded: a log may hold digits without end.
# V1: "Model loading took 26.84 GiB memory and 5.79 seconds"; V2: "... 26.58 GiB and 5.36 seconds";
# V0: "Loading model weights took 13.9476 GB". Draft included: it is loaded before the line is written.
_WEIGHTS = re.compile(rf"(?:Model loading|Loading model weights) took ({_N}) (GiB|GB)\b")
# The CPU build has no such line, only the size of each checkpoint's files.
_CHECKPOINT = re.compile(rf"^(?:\((?P<process>[^()]*)\) )?.*Checkpoint size: (?P<size>{_N}) GiB", re.MULTILINE)
_KV_BYTES = (
    re.compile(rf"Available KV cache memory: (-?{_N}) GiB"),
    re.compile(rf"reserved ({_N}) GiB memory for KV Cache as specified"),
    re.compile(rf"(?:Explicitly|Auto) set \(({_N})/{_N}\) GiB for KV cache"),
)
_KV_REQUESTS = re.compile(rf"Maximum concurrency for [\d,]+ tokens per request: ({_N})x")
_GRAPHS = re.compile(rf"Graph capturing finished in {_N} secs?, took (-?{_N}) GiB")
_GRAPHS_FORESEEN = re.compile(rf"Estimated CUDA graph memory: ({_N}) GiB total")
_OTHER = re.compile(rf"({_N}) GiB memory was consumed by non-kv usages")


def engine_memory(log: str) -> EngineMemory | None:
    """Return what a log says about the engine's memory; None if it says nothing.

    Of several processes the largest weights and the smallest KV cache count. "Available KV cache memory" may be
    negative: the engine then does not start.
    """
    text = _ANSI.sub("", log)
    found = EngineMemory(
        weights_bytes=_weights(text),
        kv_bytes=min((_bytes(size) for form in _KV_BYTES for size in form.findall(text)), default=None),
        kv_requests=min(map(float, _KV_REQUESTS.findall(text)), default=None),
        graph_bytes=max(
            (_bytes(size) for size in _GRAPHS.findall(text) or _GRAPHS_FORESEEN.findall(text)), default=None
        ),
        other_bytes=max((_bytes(size) for size in _OTHER.findall(text)), default=None),
    )
    return None if found == EngineMemory() else found


def _weights(text: str) -> int | None:
    loaded = [_bytes(size, _UNIT[unit]) for size, unit in _WEIGHTS.findall(text)]
    if loaded:
        return max(loaded)
    files: defaultdict[str, int] = defaultdict(int)
    for line in _CHECKPOINT.finditer(text):
        files[line["process"] or ""] += _bytes(line["size"])
    return max(files.values(), default=0) or None  # "0.00 GiB" says nothing of a tiny model


def _bytes(size: str, unit: int = _GIB) -> int:
    return round(float(size) * unit)
