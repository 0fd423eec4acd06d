import pytest

from tuner.records import Json
from tuner.space.engine_flags import (
    ADDED,
    MANAGED,
    ONE_WAY,
    REMOVED,
    SWITCHES,
    VALUES,
    engine_arg_problem,
    engine_arg_unavailable,
    known_engine_args,
)
from tuner.space.versions import release


def test_a_flag_stands_in_one_table_only() -> None:
    tables = [SWITCHES, VALUES, ONE_WAY, frozenset(REMOVED), frozenset(MANAGED)]
    assert len(frozenset().union(*tables)) == sum(len(table) for table in tables)
    assert all(name == name.lower() and "-" not in name for table in tables for name in table)


def test_the_flags_that_everybody_uses_are_known() -> None:
    used = {"max_model_len", "gpu_memory_utilization", "enforce_eager", "tensor_parallel_size", "enable_prefix_caching"}
    assert used <= known_engine_args()
    assert "enable_prefix_caching" in SWITCHES


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("enforce_eager", False, True),
        ("enforce_eager", "yes", False),
        ("enforce_eager", None, True),
        ("max_model_len", 4096, True),
        ("max_model_len", "8k", True),
        ("max_model_len", "25.6k", True),
        ("max_model_len", "auto", True),
        ("max_model_len", -1, True),
        ("max_model_len", "8k tokens", False),
        ("max_model_len", False, False),
        ("dtype", "bfloat16", True),
        ("dtype", "fp16", False),
        ("gpu_memory_utilization", 1, True),
        ("gpu_memory_utilization", 0, False),
        ("gpu_memory_utilization", 1.01, False),
        ("gpu_memory_utilization", "0.9", False),
        ("max_num_seqs", 0, False),
        ("max_num_seqs", 1.5, False),
        ("aggregate_engine_logging", True, True),
        ("aggregate_engine_logging", False, False),
        ("compilation_config", {"mode": 0}, True),
    ],
)
def test_values_of_engine_arguments(name: str, value: Json, fine: bool) -> None:
    assert (engine_arg_problem(name, value) is None) is fine


def test_a_removed_flag_is_unavailable_from_the_release_without_it() -> None:
    assert engine_arg_unavailable({"swap_space": 4}, "0.17.1") is None
    assert "0.17.1" in (engine_arg_unavailable({"swap_space": 4}, "0.18.0") or "")
    assert engine_arg_unavailable({"max_model_len": 4}, "0.33.0") is None


def test_a_flag_is_unavailable_before_the_release_that_brought_it() -> None:
    assert "came with 0.10.0" in (engine_arg_unavailable({"async_scheduling": True}, "0.9.2") or "")
    assert engine_arg_unavailable({"async_scheduling": True}, "0.10.0") is None
    assert engine_arg_unavailable({"max_model_len": 4096}, "0.8.5") is None


def test_what_came_is_a_known_flag_and_came_before_it_went() -> None:
    assert set(ADDED) <= known_engine_args()
    assert all(release(ADDED[name]) <= release(last) for name, last in REMOVED.items() if name in ADDED)
