"""Memory: at the start, for the KV cache, in verification under load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.diagnoses.seeing import C1, C16, Make, drifting, said, seen, the
from tuner.records import Failure, FailureKind, PhaseTimes, Trial

CUDA = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
CACHE = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."


def failed(make: Make, cause: str, load_s: float = 0.0) -> Trial:
    trial = make(1, k=4, failure=Failure(FailureKind.CRASHED, "the engine ended", "", cause))
    return replace(trial, record=replace(trial.record, phases=PhaseTimes(start_s=30.0, load_s=load_s)))


@pytest.mark.parametrize(
    ("cause", "load_s", "code"),
    [
        (CUDA, 0.0, "memory_at_start"),
        (CUDA, 12.0, "memory_in_verification"),
        (CACHE, 0.0, "memory_for_kv_cache"),
    ],
)
def test_where_memory_ran_out_is_told_by_the_line_and_by_how_far_it_came(
    make_trial: Make, cause: str, load_s: float, code: str
) -> None:
    sweep = seen([make_trial(tpot=drifting(0.02)), failed(make_trial, cause, load_s)])
    one = the(code, sweep)
    assert one.subject == "good K=4" and one.evidence == (cause, "1 of 2 engine starts failed so")
    others = {"memory_at_start", "memory_in_verification", "memory_for_kv_cache"} - {code}
    assert [said(other, sweep) for other in others] == [[], []]


@pytest.mark.parametrize(
    ("named", "code"),
    [
        ("out_of_memory_weights", "memory_at_start"),
        ("memory_share_not_free", "memory_at_start"),
        ("out_of_memory_verification", "memory_in_verification"),
        ("out_of_memory_load", "memory_in_verification"),
        ("kv_cache_below_context", "memory_for_kv_cache"),
        ("no_memory_for_kv_cache", "memory_for_kv_cache"),
        ("kv_cache_not_free", "memory_at_start"),
    ],
)
def test_a_named_cause_counts_more_than_the_line(make_trial: Make, named: str, code: str) -> None:
    trial = failed(make_trial, CUDA)
    assert trial.record.failure is not None
    object.__setattr__(trial.record.failure, "code", named)
    object.__setattr__(trial.record.failure, "what", "2 GiB were asked for.")
    one = the(code, seen([make_trial(tpot=drifting(0.02)), trial]))
    assert one.evidence[0] == "2 GiB were asked for."


def test_another_failure_is_none_of_memory(make_trial: Make) -> None:
    sweep = seen([make_trial(tpot=drifting(0.02)), failed(make_trial, "ValueError: vocabularies differ")])
    assert not any(said(f"memory_{kind}", sweep) for kind in ("at_start", "for_kv_cache", "in_verification"))
    named = failed(make_trial, CUDA)
    object.__setattr__(named.record.failure, "code", "vocabulary")
    assert said("memory_at_start", seen([make_trial(tpot=drifting(0.02)), named])) == []


def test_preemptions_with_a_draft_and_none_without_are_the_kv_cache(make_trial: Make) -> None:
    plain = make_trial(tpot=drifting(0.02), kv_cache_tokens=1000)
    pressed = make_trial(1, k=3, tpot=drifting(0.01), preemptions=2, kv_cache_tokens=600)
    one = the("memory_for_kv_cache", seen([plain, pressed]))
    assert "6 preemptions at" in one.evidence[0]
    assert one.evidence[1] == "its KV cache holds 600 tokens, 1000 without the draft"
    assert said("memory_at_start", seen([plain, pressed])) == []
    anyway = make_trial(tpot=drifting(0.02), preemptions=2)
    assert said("memory_for_kv_cache", seen([anyway, pressed])) == []


def test_only_load_points_with_preemptions_are_named(make_trial: Make) -> None:
    loads = (C1, C16)
    pressed = make_trial(1, k=3, tpot=drifting(0.01), preemptions=2, loads=loads)
    calm, busy = pressed.record.loads
    repeats = tuple(replace(r, counters=replace(r.counters, preemptions=0)) for r in calm.repeats)
    trial = replace(pressed, record=replace(pressed.record, loads=(replace(calm, repeats=repeats), busy)))
    one = the("memory_for_kv_cache", seen([make_trial(tpot=drifting(0.02), loads=loads), trial], loads))
    assert one.evidence[0] == f"6 preemptions at {C16.label}, none without speculation"
