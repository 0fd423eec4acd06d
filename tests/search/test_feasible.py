from __future__ import annotations

import pytest

from tuner.records import Candidate, Json, Speculation
from tuner.search.feasible import ruled_out


def candidate(k: int, draft: str = "good", **args: Json) -> Candidate:
    return Candidate(
        {"gpu_memory_utilization": 0.9, "max_num_seqs": 64, **args}, Speculation("eagle3", k, draft, draft)
    )


FAILED = candidate(6)


@pytest.mark.parametrize(
    "other",
    [
        candidate(8),
        candidate(6, gpu_memory_utilization=0.8),
        candidate(8, gpu_memory_utilization=0.8),
        candidate(6, max_num_seqs=128),
        candidate(7, max_num_seqs=128, gpu_memory_utilization=0.85),
    ],
)
def test_what_needs_as_much_is_not_tried(other: Candidate) -> None:
    assert ruled_out(other, [FAILED]) == FAILED


@pytest.mark.parametrize(
    "other",
    [
        candidate(5),
        candidate(8, gpu_memory_utilization=0.95),
        candidate(8, max_num_seqs=32),
        candidate(8, "other"),
        candidate(8, enforce_eager=True),
        candidate(8, max_num_seqs=None),
        Candidate({"gpu_memory_utilization": 0.9, "max_num_seqs": 64}),
    ],
)
def test_what_may_need_less_is(other: Candidate) -> None:
    assert ruled_out(other, [FAILED]) is None


def test_a_baseline_without_memory_rules_out_baselines_only() -> None:
    base = Candidate({"max_model_len": 4096})
    assert ruled_out(Candidate({"max_model_len": 8192}), [base]) == base
    assert ruled_out(Candidate({"max_model_len": 8192}, candidate(1).speculation), [base]) is None
