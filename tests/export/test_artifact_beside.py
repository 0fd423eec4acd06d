"""Where an answer holds, and what its speculation costs and changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tests.built_artifact import Built
from tuner.artifact import model
from tuner.records import DeviceLoad, EngineMemory, LoadPoint, SameOutput, Sampling, Trial

Make = Callable[..., Trial]

LOADS = (LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33))
RUNNER = "Model Runner V2 does not yet support X, using the V1 model runner instead"


def with_memory(trial: Trial, *peaks: int) -> Trial:
    """Return the trial with a peak of device memory in each repeat of its first load point."""
    first, *rest = trial.record.loads
    repeats = tuple(
        replace(repeat, device=DeviceLoad("nvml", 3, gpu_memory_bytes=peak))
        for repeat, peak in zip(first.repeats, peaks, strict=True)
    )
    return replace(trial, record=replace(trial.record, loads=(replace(first, repeats=repeats), *rest)))


def answer_of(make: Make, plain: Mapping[str, object], fast: Mapping[str, object], *peaks: int) -> model.Answer:
    base = make(0, loads=LOADS, **plain)
    quick = make(1, k=2, loads=LOADS, tpot=lambda load, i, r: 0.01 * (1 + 0.001 * i), **fast)
    if peaks:
        base, quick = with_memory(base, *peaks[:3]), with_memory(quick, *peaks[3:])
    (answer,) = Built([base, quick], LOADS).config.answers
    assert answer.recommended.speculation is not None
    return answer


def test_room_with_and_without_the_draft(make_trial: Make) -> None:
    arguments = {"args": {"max_num_seqs": 64}}
    answer = answer_of(
        make_trial,
        {"kv_cache_tokens": 1000, "max_model_len": 500, **arguments},
        {"kv_cache_tokens": 800, "max_model_len": 500, **arguments},
        *(5, 7, 6, 9, 8, 9),
    )
    with_draft, without = answer.capacity.with_speculation, answer.capacity.without_speculation
    assert with_draft is not None and without is not None
    assert (with_draft.kv_cache_tokens, without.kv_cache_tokens) == (800, 1000)
    assert (with_draft.full_length_requests, without.full_length_requests) == (1.6, 2.0)
    assert (with_draft.max_num_seqs, without.max_num_seqs) == (64, 64)
    assert (with_draft.peak_device_memory_bytes, without.peak_device_memory_bytes) == (9, 7)


def test_the_engines_own_count_of_requests_goes_before_a_quotient(make_trial: Make) -> None:
    facts = {"kv_cache_tokens": 1000, "max_model_len": 500}
    answer = answer_of(make_trial, {**facts, "memory": EngineMemory(kv_requests=3.5)}, facts)
    assert answer.capacity.without_speculation is not None
    assert answer.capacity.without_speculation.full_length_requests == 3.5


def test_what_is_not_known_is_null(make_trial: Make) -> None:
    room = answer_of(make_trial, {}, {}).capacity.with_speculation
    assert room is not None
    assert set(room.model_dump().values()) == {None}


def test_the_domain_is_what_was_measured(make_trial: Make) -> None:
    loads = (*LOADS, LoadPoint("long", 32, 300, Sampling(temperature=1.0)))
    tokens: Callable[[LoadPoint, int, int], int] = lambda load, i, r: 300 if load.eval_set == "long" else 20 + i  # noqa: E731
    base = make_trial(0, loads=loads, tokens=tokens, max_model_len=512)
    fast = make_trial(1, k=2, loads=loads, tokens=tokens, tpot=lambda load, i, r: 0.01 * (1 + 0.001 * i))
    cold, warm = (answer.validity for answer in Built([base, fast], loads).config.answers)
    assert (cold.temperature, cold.concurrency, cold.eval_sets, cold.max_model_len) == (0.0, (1, 8), ("chat",), 512)
    assert (warm.temperature, warm.concurrency, warm.eval_sets) == (1.0, (32,), ("long",))
    assert cold.answer_tokens is not None and warm.answer_tokens is not None and cold.prompt_tokens is not None
    # 6 prompts of 20 ... 25 tokens, 3 repeats, 2 load points, 2 engines
    assert cold.answer_tokens.model_dump() == {"min": 20, "median": 22.5, "max": 25, "n": 72}
    assert (warm.answer_tokens.min, warm.answer_tokens.n) == (300, 36)
    assert (cold.prompt_tokens.min, cold.prompt_tokens.max) == (20, 20)


def test_what_is_dragged_along(make_trial: Make) -> None:
    dragged = answer_of(
        make_trial, {"changed_settings": ("A.",)}, {"changed_settings": ("A.", RUNNER, "B.")}
    ).drags_along
    assert dragged is not None
    assert (dragged.changes, dragged.others) == (("the V1 model runner",), ("B.",))
    assert dragged.env == {"VLLM_USE_V2_MODEL_RUNNER": "0"}
    nothing = answer_of(make_trial, {}, {}).drags_along
    assert nothing is not None
    assert (nothing.changes, nothing.others) == ((), ())


def test_the_worst_verdict_on_outputs_counts(make_trial: Make) -> None:
    lossless = answer_of(make_trial, {}, {}).lossless
    assert lossless is not None
    assert (lossless.verdict, len(lossless.evidence)) == (SameOutput.IDENTICAL, 2)

    base = make_trial(0, loads=LOADS)
    fast = make_trial(1, k=2, loads=LOADS, tpot=lambda load, i, r: 0.01 * (1 + 0.001 * i))
    key = LOADS[1].key
    without_ids = tuple(replace(s, token_ids=()) if s.load_point == key else s for s in fast.samples)
    (answer,) = Built([base, replace(fast, samples=without_ids)], LOADS).config.answers
    assert answer.lossless is not None
    assert answer.lossless.verdict is not SameOutput.IDENTICAL
    assert answer.lossless.evidence[0].startswith("chat, concurrency 1, T=0, up to 33 tokens: identical: ")


@pytest.mark.parametrize("repeat", [-2, -3])
def test_requests_that_were_not_timed_are_in_no_length(make_trial: Make, repeat: int) -> None:
    base = make_trial(0, loads=LOADS)
    extra = replace(base.samples[0], repeat=repeat, completion_tokens=4)
    fast = make_trial(1, k=2, loads=LOADS, tpot=lambda load, i, r: 0.01 * (1 + 0.001 * i))
    (answer,) = Built([replace(base, samples=(*base.samples, extra)), fast], LOADS).config.answers
    assert answer.validity.answer_tokens is not None
    assert answer.validity.answer_tokens.min == 33
