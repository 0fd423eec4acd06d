from __future__ import annotations

import pytest

from tuner.engine.sim.arguments import parse_arguments
from tuner.engine.sim.profile import Profile
from tuner.engine.sim.startup import EnginePlan, plan_engine
from tuner.errors import EngineNotFound
from tuner.records import Speculation

PROFILE = Profile.model_validate(
    {
        "max_model_len": 2048,
        "memory": {"tokens": 10_000, "weights_share": 0.5, "draft_share": 0.1, "default_utilization": 0.9},
        "drafts": [{"match": "short", "acceptance": [0.5], "max_model_len": 512}, {"match": "*", "acceptance": [0.5]}],
    }
)


def plan(*words: str, spec: Speculation | None = None, profile: Profile = PROFILE) -> EnginePlan:
    return plan_engine(parse_arguments(["--model", "target", *words]), profile, spec)


def test_the_cache_grows_with_the_memory_share_above_the_weights() -> None:
    assert plan("--gpu-memory-utilization", "1").kv_tokens == 10_000
    assert plan().kv_tokens == plan("--gpu-memory-utilization", "0.9").kv_tokens == 8_000
    assert plan("--gpu-memory-utilization", "0.75").kv_tokens == 5_000


def test_a_draft_model_takes_its_share_and_ngram_does_not() -> None:
    assert plan(spec=Speculation("draft_model", 2, "d", "d")).kv_tokens == 7_200
    assert plan(spec=Speculation("ngram", 2, "ngram")).kv_tokens == 8_000


def test_too_small_a_cache_is_refused() -> None:
    with pytest.raises(ValueError, match="To serve at least one request"):
        plan("--gpu-memory-utilization", "0.55")
    assert plan("--gpu-memory-utilization", "0.55", "--max-model-len", "900").kv_tokens == 1_000
    with pytest.raises(ValueError, match="available 0 tokens"):
        plan("--gpu-memory-utilization", "0.4")


def test_flags_win_over_the_profile_and_a_short_draft_over_both() -> None:
    assert (plan().max_model_len, plan().max_num_seqs) == (2048, 256)
    assert plan("--max-model-len", "100", "--max-num-seqs", "4").max_num_seqs == 4
    short = Speculation("draft_model", 2, "short", "m/short")
    assert plan("--max-model-len", "1000", spec=short).max_model_len == 512
    assert plan("--max-model-len", "100", spec=short).max_model_len == 100


def test_models_that_the_profile_does_not_know_are_refused() -> None:
    only = PROFILE.model_copy(update={"drafts": PROFILE.drafts[:1]})
    with pytest.raises(EngineNotFound, match="no draft for 'ngram'"):
        plan(spec=Speculation("ngram", 2, "ngram"), profile=only)
