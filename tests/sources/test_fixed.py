from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.preflight import PromptLengths
from tuner.records import Candidate, Failure, FailureKind, Fix, Json, LoadPoint, Role, Trial, TrialRecord
from tuner.sources.fixed import MOST_CHANGES, Fixes, Needs, changed, needs_of, refitted, retry_of

Make = Callable[..., Trial]
NEEDS = Needs(tokens=600, sequences=4)
ARGS: dict[str, Json] = {"max_model_len": 8192, "gpu_memory_utilization": 0.9}


def failed(
    make_trial: Make, number: int, k: int, change: dict[str, Json], args: dict[str, Json] | None = None
) -> TrialRecord:
    record = make_trial(number, k=k, args=ARGS if args is None else args).record
    failure = Failure(FailureKind.CRASHED, "died", code="kv_cache_below_context", what="It died.", change=change)
    return replace(record, loads=(), failure=failure)


def test_what_the_load_points_need_is_the_longest_prompt_with_its_answer_and_the_most_at_once() -> None:
    lengths = {name: PromptLengths(3, 5, 7.0, longest, "tokens", None) for name, longest in (("a", 100), ("b", 500))}
    points = [LoadPoint("a", concurrency=8, max_tokens=700), LoadPoint("b", concurrency=2, max_tokens=200)]
    assert needs_of(points, lengths) == Needs(tokens=800, sequences=8)


def test_a_failure_with_a_change_is_tried_again_with_it_and_says_so(make_trial: Make) -> None:
    record = failed(make_trial, 3, 4, {"max_model_len": 1024})
    retry = retry_of(record, NEEDS)
    assert retry is not None
    assert retry.candidate.engine_args == {**ARGS, "max_model_len": 1024}
    assert retry.candidate.k == 4 and retry.candidate.args_key != record.candidate.args_key
    note = "max_model_len 8192 -> 1024 by auto-fix after kv cache below context (trial 3)"
    assert retry.fix == Fix(record.candidate.key, 3, note)


@pytest.mark.parametrize(
    ("change", "offered"),
    [
        ({"max_model_len": 600}, True),
        ({"max_model_len": 599}, False),
        ({"max_model_len": 8192}, False),
        ({"max_num_seqs": 4}, True),
        ({"max_num_seqs": 3}, False),
        ({"max_num_batched_tokens": 20}, True),
        ({"max_num_batched_tokens": 19}, False),
        ({"gpu_memory_utilization": 0.8}, True),
        ({"gpu_memory_utilization": True}, False),
        ({"num_speculative_tokens": 2}, True),
        ({"num_speculative_tokens": 4}, False),
        ({"num_speculative_tokens": 0}, False),
        ({"tensor_parallel_size": 2}, False),
        ({"max_model_len": 1024, "max_num_seqs": 1}, False),
        ({}, False),
    ],
)
def test_a_change_is_offered_only_where_the_load_fits_into_it(
    make_trial: Make, change: dict[str, Json], offered: bool
) -> None:
    assert (retry_of(failed(make_trial, 1, 4, change), NEEDS) is not None) is offered


def test_a_smaller_k_stays_in_its_group(make_trial: Make) -> None:
    record = failed(make_trial, 1, 4, {"num_speculative_tokens": 2})
    retry = retry_of(record, NEEDS)
    assert retry is not None
    assert (retry.candidate.k, retry.candidate.args_key) == (2, record.candidate.args_key)
    assert "num_speculative_tokens 4 -> 2" in retry.fix.note


def test_nothing_is_changed_more_than_twice(make_trial: Make) -> None:
    record = failed(make_trial, 1, 4, {"max_model_len": 4096})
    for number, length in enumerate((2048, 1024, 700), start=2):
        retry = retry_of(record, NEEDS)
        if number > MOST_CHANGES + 1:
            assert retry is None
            return
        assert retry is not None and retry.fix.changes == number - 1
        assert retry.fix.origin == failed(make_trial, 1, 4, {}).candidate.key
        record = replace(
            failed(make_trial, number, 4, {"max_model_len": length}), candidate=retry.candidate, fix=retry.fix
        )
    raise AssertionError("it went on")


def test_each_retry_is_handed_out_once_and_its_baseline_carries_the_note(make_trial: Make) -> None:
    space = [make_trial(0, args=ARGS).record.candidate, make_trial(1, k=4, args=ARGS).record.candidate]
    fixes = Fixes(NEEDS, space)
    record = failed(make_trial, 1, 4, {"max_model_len": 1024})
    fixes.finished(record)
    fixes.finished(record)
    assert fixes.waiting == 1
    retry = fixes.next()
    assert retry is not None and fixes.next() is None
    assert fixes.of(retry.candidate) == retry.fix
    of_baseline = fixes.of(retry.candidate.baseline)
    assert of_baseline is not None and of_baseline.origin == space[0].key
    assert fixes.of(space[0]) is None and fixes.of(space[1]) is None


def test_resuming_repeats_no_retry_and_starts_one_that_is_missing(make_trial: Make) -> None:
    space = [make_trial(0, args=ARGS).record.candidate, make_trial(1, k=4, args=ARGS).record.candidate]
    first = failed(make_trial, 1, 4, {"max_model_len": 1024})
    retry = retry_of(first, NEEDS)
    assert retry is not None
    measured = replace(make_trial(2, k=4).record, candidate=retry.candidate, fix=retry.fix)
    assert Fixes(NEEDS, space, [first, measured]).waiting == 0
    assert Fixes(NEEDS, space, [first]).waiting == 1
    again = replace(failed(make_trial, 2, 4, {"max_model_len": 700}), candidate=retry.candidate, fix=retry.fix)
    assert Fixes(NEEDS, space, [first, again]).waiting == 1  # the second change


def test_what_the_space_has_is_no_retry(make_trial: Make) -> None:
    space = [make_trial(1, k=k, args=ARGS).record.candidate for k in (2, 4)]
    assert Fixes(NEEDS, space, [failed(make_trial, 1, 4, {"num_speculative_tokens": 2})]).waiting == 0


def test_where_no_baseline_starts_the_whole_sweep_is_changed(make_trial: Make) -> None:
    space = [make_trial(n, k=k, args=ARGS).record.candidate for n, k in enumerate((0, 2, 4))]
    broken = failed(make_trial, 0, 0, {"gpu_memory_utilization": 0.8})
    refit = refitted(space, [broken], NEEDS)
    assert [c.k for c in refit.candidates] == [0, 2, 4]
    assert {c.engine_args["gpu_memory_utilization"] for c in refit.candidates} == {0.8}
    assert [refit.fixes[c.key].origin for c in refit.candidates] == [c.key for c in space]
    again = replace(failed(make_trial, 1, 0, {"max_model_len": 700}), candidate=refit.candidates[0])
    twice = refitted(space, [broken, again], NEEDS)
    assert twice.candidates[0].engine_args == {"gpu_memory_utilization": 0.8, "max_model_len": 700}
    assert twice.fixes[twice.candidates[2].key].changes == 2
    assert all(fix.whole for fix in twice.fixes.values())
    third = replace(failed(make_trial, 2, 0, {"max_model_len": 650}), candidate=twice.candidates[0])
    assert refitted(space, [broken, again, third], NEEDS) == twice


def test_a_baseline_that_works_or_was_not_tried_leaves_the_sweep_as_it_is(make_trial: Make) -> None:
    other: dict[str, Json] = {**ARGS, "max_num_seqs": 8}
    space = [make_trial(0, args=args).record.candidate for args in (ARGS, other)]
    broken = failed(make_trial, 0, 0, {"gpu_memory_utilization": 0.8})
    assert refitted(space, [broken], NEEDS).fixes == {}
    works = make_trial(1, args=other).record
    assert refitted(space, [broken, works], NEEDS).fixes == {}
    hopeless = failed(make_trial, 1, 0, {}, other)
    refit = refitted(space, [broken, hopeless], NEEDS)
    assert [c.engine_args["gpu_memory_utilization"] for c in refit.candidates] == [0.8, 0.9]
    assert refitted(space, [replace(hopeless, candidate=space[0]), hopeless], NEEDS).fixes == {}


def test_a_session_notices_that_all_has_to_be_changed(make_trial: Make) -> None:
    space = [make_trial(0, args=ARGS).record.candidate]
    fixes = Fixes(NEEDS, space)
    assert not fixes.refit_due
    fixes.finished(failed(make_trial, 0, 0, {"gpu_memory_utilization": 0.8}))
    assert fixes.refit_due
    twice = Fix(space[0].key, 0, "twice", MOST_CHANGES)
    fixes = Fixes(NEEDS, space)
    fixes.finished(replace(failed(make_trial, 0, 0, {"gpu_memory_utilization": 0.8}), fix=twice))
    assert not fixes.refit_due


@given(
    st.dictionaries(
        st.sampled_from(["max_model_len", "max_num_seqs", "num_speculative_tokens"]), st.integers(-5, 9000)
    ),
    st.integers(1, 8),
)
def test_a_retry_never_goes_below_what_is_needed(change: dict[str, Json], k: int) -> None:
    from tests.conftest import build_trial

    record = failed(build_trial, 1, k, change)
    retry = retry_of(record, NEEDS)
    if retry is None:
        return
    args = retry.candidate.engine_args
    assert args.get("max_model_len", 8192) >= NEEDS.tokens  # type: ignore[operator]
    assert args.get("max_num_seqs", 256) >= NEEDS.sequences  # type: ignore[operator]
    assert 1 <= retry.candidate.k <= k
    assert retry.candidate == changed(record.candidate, change) != record.candidate
    assert isinstance(retry.candidate, Candidate) and record.role is Role.CANDIDATE
