"""Published measurements of speed against K, as surfaces. Each figure stands in the text at its source as it does here.

They are single runs with noise of their own, taken for the truth: regrets against them are approximate. Output tokens
per second at batch size B become a TPOT of B over them. Where acceptance lengths are given (means over all requests), a
run at K tells those of the smaller K; a K = 1 that was not measured is put halfway between one token and K = 2's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tests.searchbench.surfaces import BASELINE, Arm, Surface, candidate, load_point
from tuner.records import Growth, GrowthSource

PUBLISHED = "published"
REPEAT_SD = 0.01
PROMPTS = 80
NO_BASELINE = 1.25
"""Where no baseline was published, it is put at so many times the slowest K's TPOT: K = 0 is never the answer there."""


@dataclass(frozen=True)
class Table:
    """One published table.

    source, what: where it stands and what was measured.  method: vLLM's name of what comes nearest.
    baseline_s: TPOT without speculation by batch size, seconds; empty if not published.
    tpot_s: by draft and K the TPOT at each batch size.  lengths: by draft and K the mean acceptance length.
    """

    name: str
    source: str
    what: str
    method: str
    baseline_s: Mapping[int, float]
    tpot_s: Mapping[str, Mapping[int, Mapping[int, float]]]
    lengths: Mapping[str, Mapping[int, float]]


def _alone(values: Mapping[int, float], factor: float = 1.0) -> dict[int, dict[int, float]]:
    """From TPOT by K at batch size 1."""
    return {k: {1: factor * value} for k, value in values.items()}


def _rates(batches: tuple[int, ...], rows: Mapping[int, tuple[float, ...]]) -> dict[int, dict[int, float]]:
    """From output tokens per second by K, one at each batch size."""
    return {k: {b: b / rate for b, rate in zip(batches, row, strict=True)} for k, row in rows.items()}


TABLES = (
    Table(
        "eagle-llama-8b",
        "https://github.com/vllm-project/vllm/issues/20780",
        "Llama 3.1 8B, EAGLE 1 and EAGLE 3, batch size 1: TPOT in ms and acceptance length",
        "eagle3",
        {1: 7.07e-3},
        {
            "eagle1": _alone({2: 4.37, 3: 4.29, 4: 4.48, 5: 4.71, 6: 4.94, 7: 5.2}, 1e-3),
            "eagle3": _alone({2: 4.32, 3: 4.09, 4: 4.05, 5: 4.13, 6: 4.2, 7: 4.29}, 1e-3),
        },
        {
            "eagle1": {2: 2.1, 3: 2.29, 4: 2.39, 5: 2.43, 6: 2.45, 7: 2.47},
            "eagle3": {2: 2.36, 3: 2.79, 4: 3.08, 5: 3.32, 6: 3.46, 7: 3.54},
        },
    ),
    Table(
        "eagle-llama-8b-h100",
        "https://github.com/vllm-project/vllm/pull/16937",
        "Llama 3.1 8B, EAGLE 1, MT-bench, one H100, batch size 1: output tokens per second",
        "eagle",
        {1: 1 / 133},
        {"eagle1": _rates((1,), {2: (201.69,), 4: (198,), 7: (169.92,)})},
        {},
    ),
    Table(
        "mtp-qwen-35b-strix-halo",
        "https://github.com/kyuz0/amd-strix-halo-vllm-toolboxes/issues/53",
        "Qwen3.6-35B-A3B AWQ, MTP, AMD Radeon 8060S, vLLM 0.26.0, concurrency 1: decode tokens per second",
        "mtp",
        {1: 1 / 24.6},
        {"mtp": _rates((1,), {1: (28.2,), 2: (30.9,), 3: (29.9,), 4: (31.2,), 5: (27.5,), 6: (26.8,)})},
        {},
    ),
    Table(
        "mtp-qwen-27b-imp",
        "https://github.com/kekzl/imp/pull/1462",
        "Qwen3.8-27B NVFP4, MTP, greedy: tokens per second and emitted per verification, means of its two rounds",
        "mtp",
        {1: 1 / 88.2},
        {"mtp": _rates((1,), {2: (81.7,), 4: (62.95,), 6: (53.35,)})},
        {"mtp": {2: 2.235, 4: 2.51, 6: 2.495}},
    ),
    Table(
        "eagle-qwen-235b-sglang",
        "https://github.com/sgl-project/sglang/pull/22246",
        "Qwen3-235B-A22B, EAGLE chain (top-k 1), SGLang, batch sizes 1-64: tokens per second, means of 3 runs",
        "eagle",
        {},
        {
            "eagle": _rates(
                (1, 2, 4, 8, 16, 32, 64),
                {
                    1: (162, 289, 528, 823, 1268, 2143, 3353),
                    2: (188, 332, 568, 903, 1451, 2297, 3693),
                    3: (195, 332, 572, 896, 1531, 2352, 3555),
                    4: (199, 333, 572, 911, 1537, 2348, 3400),
                    5: (199, 331, 569, 905, 1464, 2316, 3222),
                    6: (188, 311, 549, 883, 1413, 2239, 3054),
                },
            )
        },
        {},
    ),
    Table(
        "eagle-glm-sglang",
        "https://github.com/sgl-project/sglang/pull/22246",
        "GLM-4.7-FP8, EAGLE chain (top-k 1), SGLang, batch sizes 1-32: tokens per second, means of 3 runs",
        "eagle",
        {},
        {
            "eagle": _rates(
                (1, 2, 4, 8, 16, 32),
                {
                    1: (130, 236, 469, 795, 1265, 2090),
                    2: (167, 286, 581, 972, 1540, 2497),
                    3: (195, 350, 648, 1075, 1766, 2761),
                    4: (204, 371, 709, 1113, 1704, 2707),
                    5: (210, 377, 724, 1124, 1757, 2780),
                },
            )
        },
        {},
    ),
)


def published() -> list[Surface]:
    """Return a surface for each table."""
    return [_surface(table, number) for number, table in enumerate(TABLES)]


def _surface(table: Table, number: int) -> Surface:
    batches = sorted({b for by_k in table.tpot_s.values() for row in by_k.values() for b in row})
    loads = tuple(load_point(b) for b in batches)
    slowest = {b: max(row[b] for by_k in table.tpot_s.values() for row in by_k.values()) for b in batches}
    base_s = {b: table.baseline_s.get(b, NO_BASELINE * slowest[b]) for b in batches}
    arms = {BASELINE.key: Arm({load.key: math.log(base_s[load.concurrency]) for load in loads})}
    candidates = []
    for draft, by_k in table.tpot_s.items():
        lengths = table.lengths.get(draft, {})
        for k, row in by_k.items():
            one = candidate(draft, k, table.method)
            candidates.append(one)
            logs = {load.key: math.log(row[load.concurrency]) for load in loads}
            arms[one.key] = Arm(logs, math.log(lengths[k]) if k in lengths else None, _growth(lengths, k))
    name = f"published-{table.name}"
    return Surface(name, PUBLISHED, (), loads, tuple(candidates), arms, PROMPTS, REPEAT_SD, 1000 + number)


def _growth(lengths: Mapping[int, float], k: int) -> Growth:
    if k not in lengths:
        return Growth(note="no acceptance was published")
    known = {0: 1.0, **lengths}
    logs = []
    for smaller in range(1, k + 1):
        below = max(one for one in known if one <= smaller)
        above = min(one for one in known if one >= smaller)
        share = (smaller - below) / (above - below) if above > below else 0.0
        logs.append(math.log((1 - share) * known[below] + share * known[above]))
    return Growth(tuple(logs), GrowthSource.POOLED, PROMPTS, "means over all requests")
