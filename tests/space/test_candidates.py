import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import EngineNotFound
from tuner.records import SCHEDULE, Candidate, Json, LoadPoint, Speculation
from tuner.space.candidates import candidates, devices_per_engine, schedule_unavailable, unavailable_reason
from tuner.space.schema import DraftSpec, SearchSpace

LOADS = (LoadPoint("chat"),)
GOOD = DraftSpec("good", "draft_model", "m/good", {"quantization": "fp8"}, (1, 3))
NGRAM = DraftSpec("ngram", "ngram", None, {}, (5,))


def test_baselines_come_first_then_draft_by_draft_with_k_ascending() -> None:
    space = SearchSpace(
        "s", "", None, (GOOD, NGRAM), LOADS, {"seed": 1}, choices={"gpu_memory_utilization": (0.8, 0.9)}
    )
    found = [(c.draft_name, c.engine_args["gpu_memory_utilization"], c.k) for c in candidates(space)]
    assert found == [
        ("none", 0.8, 0),
        ("none", 0.9, 0),
        ("good", 0.8, 1),
        ("good", 0.8, 3),
        ("good", 0.9, 1),
        ("good", 0.9, 3),
        ("ngram", 0.8, 5),
        ("ngram", 0.9, 5),
    ]
    assert candidates(space)[3] == Candidate(
        {"seed": 1, "gpu_memory_utilization": 0.8},
        Speculation("draft_model", 3, "good", "m/good", {"quantization": "fp8"}),
    )


@given(
    ks=st.lists(st.sets(st.integers(1, 20), min_size=1, max_size=4), min_size=1, max_size=3),
    choices=st.dictionaries(
        st.sampled_from(["seed", "gpu_memory_utilization", "max_num_seqs"]),
        st.sets(st.integers(1, 50), min_size=1, max_size=3),
        max_size=3,
    ),
)
def test_every_combination_is_there_once_with_its_baseline(ks: list[set[int]], choices: dict[str, set[int]]) -> None:
    drafts = tuple(
        DraftSpec(f"d{i}", "draft_model", f"m/{i}", {}, tuple(sorted(values))) for i, values in enumerate(ks)
    )
    space = SearchSpace("s", "", None, drafts, LOADS, choices={name: tuple(sorted(v)) for name, v in choices.items()})
    found = candidates(space)
    combinations = 1
    for values in choices.values():
        combinations *= len(values)
    assert len(found) == combinations * (1 + sum(len(values) for values in ks))
    assert len({candidate.key for candidate in found}) == len(found)
    baselines = [candidate for candidate in found if candidate.speculation is None]
    assert list(found[:combinations]) == baselines
    assert {candidate.baseline.key for candidate in found} == {candidate.key for candidate in baselines}
    json.dumps([dict(candidate.engine_args) for candidate in found])


def test_an_engine_takes_tensor_x_pipeline_x_data_parallel_gpus() -> None:
    args = {"tensor_parallel_size": 2, "pipeline_parallel_size": 3}
    assert devices_per_engine(SearchSpace("s", "", None, (NGRAM,), LOADS, args)) == 6
    one_choice = {"tensor_parallel_size": (4,)}
    assert devices_per_engine(SearchSpace("s", "", None, (NGRAM,), LOADS, choices=one_choice)) == 4
    assert devices_per_engine(SearchSpace("s", "", None, (NGRAM,), LOADS, {"data_parallel_size": None})) == 1


def test_what_an_engine_cannot_run_has_a_reason() -> None:
    draft = Candidate({}, Speculation("draft_model", 3, "good", "m"))
    assert unavailable_reason(draft, "0.32.0", "cpu") is None
    assert "draft_model" in (unavailable_reason(draft, "0.12.0", "cuda") or "")
    assert unavailable_reason(Candidate(), "0.12.0", "cuda") is None
    assert "--swap-space" in (unavailable_reason(Candidate({"swap_space": 4}), "0.32.0", "cuda") or "")
    with pytest.raises(EngineNotFound):
        unavailable_reason(Candidate(), "0.7.0", "cuda")


# --- K schedules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "args", "version", "reason"),
    [
        ("draft_model", {}, "0.24.0", None),
        ("draft_model", {}, "0.23.0", "it came with 0.24.0"),
        ("ngram", {"data_parallel_size": 1}, "0.32.0", None),
        ("draft_model", {"data_parallel_size": 2}, "0.32.0", "data parallelism"),
        ("custom_class", {}, "0.32.0", "proposes as many tokens in every step"),
    ],
)
def test_what_cannot_run_a_k_schedule_says_why(
    method: str, args: dict[str, Json], version: str, reason: str | None
) -> None:
    spec = Speculation(method, 3, "d", None if method == "ngram" else "m", {SCHEDULE: [[1, 4, 3], [5, 8, 0]]})
    found = schedule_unavailable(Candidate(args, spec), version, "cuda")
    assert found is None if reason is None else reason in (found or "")
