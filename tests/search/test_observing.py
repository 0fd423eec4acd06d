"""What the search keeps of a trial, against figures worked out by hand, and the way to JSON and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.records import (
    Candidate,
    Failure,
    FailureKind,
    Growth,
    GrowthSource,
    LoadPoint,
    Observed,
    Outcome,
    Role,
    Trial,
    Tried,
)
from tuner.search.observing import Told, answers, comparable, ran_out_of_memory, told, told_from, told_json, tried

Make = Callable[..., Trial]
LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
BUSY = LoadPoint(eval_set="chat", concurrency=8, max_tokens=33)


# ---- memory


@pytest.mark.parametrize(
    ("cause", "memory"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB", True),
        ("RuntimeError: CUDA error: out of memory", True),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", True),
        (
            "ValueError: To serve at least one request with the model's max seq len (4096), (0.45 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (0.2 GiB).",
            True,
        ),
        (
            "ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that can be stored "
            "in KV cache (4096).",
            True,
        ),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory", True),
        (
            "ValueError: Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single token.",
            True,
        ),
        # A smaller share of the memory would do, so it says nothing of a larger K.
        (
            "ValueError: Free memory on device cuda:0 (3.1/79.1 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 71.2 GiB).",
            False,
        ),
        ("ValueError: num_speculative_tokens must be divisible", False),
        ("Killed", False),
        ("", False),
    ],
)
def test_a_failure_for_want_of_memory_is_told_by_its_cause(cause: str, memory: bool) -> None:
    assert ran_out_of_memory(Failure(FailureKind.CRASHED, "the engine ended", cause=cause)) is memory
    assert ran_out_of_memory(Failure(FailureKind.INVALID, cause)) is memory


def test_the_simulated_engines_own_words_for_want_of_memory_are_known() -> None:
    words = (
        "ValueError: To serve at least one request with the models's max seq len (2048), more KV cache is needed than "
        "the available 100 tokens."
    )
    assert ran_out_of_memory(Failure(FailureKind.CRASHED, "the engine ended", cause=words))


def test_a_failed_trial_says_only_that(make_trial: Make) -> None:
    oom = make_trial(1, k=6, failure=Failure(FailureKind.CRASHED, "ended", cause="CUDA out of memory"))
    crashed = make_trial(2, k=4, failure="illegal instruction")
    assert told(oom, [LOAD], None) == Told(Tried(oom.record.candidate, Outcome.MEMORY), {})
    assert told(crashed, [LOAD], None) == Told(Tried(crashed.record.candidate, Outcome.FAILED), {})


# ---- figures


def test_log_tpot_is_the_mean_over_prompts_of_the_logarithm_of_their_medians(make_trial: Make) -> None:
    # Prompts at 10, 20, 40 ms in turn; one slow repeat of three does not move a median.
    trial = make_trial(0, tpot=lambda load, i, r: 0.01 * 2 ** (i % 3) * (3 if r == 0 else 1))
    seen = told(trial, [LOAD], None).tried.loads[LOAD.key]
    assert seen.log_tpot == pytest.approx(math.log(0.02))
    assert seen.growth == Growth()


def test_the_length_is_that_of_the_counters_and_a_baseline_has_none(make_trial: Make) -> None:
    trial = make_trial(1, k=2, acceptance=(0.75, 0.5))
    assert told(trial, [LOAD], None).tried.loads[LOAD.key].length == pytest.approx(2.25, rel=0.01)
    assert told(make_trial(0), [LOAD], None).tried.loads[LOAD.key].length is None


def test_the_standard_error_is_of_whole_repeats(make_trial: Make) -> None:
    # Means over prompts of log(repeat / median) are -0.1, 0, 0.1: s = 0.1, and 0.1 / sqrt(3) of their mean.
    trial = make_trial(0, tpot=lambda load, i, r: 0.02 * math.exp(0.1 * (r - 1)))
    assert told(trial, [LOAD], None).tried.loads[LOAD.key].se == pytest.approx(0.1 / math.sqrt(3))
    assert told(make_trial(0, repeats=1), [LOAD], None).tried.loads[LOAD.key].se is None


def test_every_load_point_that_was_measured_is_there_and_no_other(make_trial: Make) -> None:
    trial = make_trial(1, k=2, loads=[LOAD, BUSY], tpot=lambda load, i, r: 0.01 * load.concurrency)
    seen = told(trial, [LOAD, BUSY, LoadPoint("other")], None).tried.loads
    assert {key: round(math.exp(one.log_tpot), 9) for key, one in seen.items()} == {LOAD.key: 0.01, BUSY.key: 0.08}


def test_growth_is_asked_for_with_the_methods_own_flag(make_trial: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool, int]] = []

    def growth(trial: Trial, load: LoadPoint, *, chain: bool, k: int) -> Growth:
        asked.append((load.key, chain, k))
        return Growth((0.5,), GrowthSource.REPLAY, 6)

    monkeypatch.setattr("tuner.search.observing.growth", growth)
    told(make_trial(0), [LOAD], None)
    found = told(make_trial(1, k=4), [LOAD], None).tried.loads[LOAD.key].growth
    told(make_trial(2, k=3, method="ngram"), [LOAD], None)
    assert asked == [(LOAD.key, True, 4), (LOAD.key, False, 3)]
    assert found == Growth((0.5,), GrowthSource.REPLAY, 6)


# ---- which trials answer, and on which device


def test_one_answer_a_candidate_the_first_that_worked(make_trial: Make) -> None:
    trials = [
        make_trial(0, failure="crash", device="bad"),
        make_trial(1, device="good"),
        make_trial(2, device="other"),
        make_trial(3, k=2, failure="crash", device="good"),
        make_trial(4, k=2, device="good"),
        make_trial(5, k=3, failure="crash", device="good"),
        make_trial(6, k=3, failure="again", device="good"),
        make_trial(7, role=Role.BASELINE_AGAIN, device="good"),
        make_trial(8, k=2, final_round=0, device="good"),
    ]
    found = [(trial.record.number, own.record.number if own else None) for trial, own in answers(trials)]
    assert found == [(1, 1), (4, 1), (6, 1)]


def test_a_trial_of_another_device_is_carried_over_by_its_own_baseline(make_trial: Make) -> None:
    # On a device that is half as fast speculation halves the time too. The first candidate ran there, so all is told
    # as if it had.
    trials = [
        make_trial(0, tpot=0.02, device="fast"),
        make_trial(1, tpot=0.04, device="slow"),
        make_trial(2, k=2, tpot=0.02, device="slow"),
        make_trial(3, k=3, tpot=0.015, device="fast"),
    ]
    found = tried(trials, [LOAD], [trial.record.candidate for trial in trials])
    seconds = {one.candidate.k: math.exp(one.loads[LOAD.key].log_tpot) for one in found}
    assert seconds == {0: pytest.approx(0.04), 2: pytest.approx(0.02), 3: pytest.approx(0.03)}


def test_it_does_not_matter_which_devices_baseline_the_study_was_told_of(make_trial: Make) -> None:
    fast, slow = make_trial(0, tpot=0.02, device="fast"), make_trial(1, tpot=0.04, device="slow")
    later = [(make_trial(2, k=2, tpot=0.02, device="slow"), slow), (make_trial(3, k=3, device="fast"), fast)]

    def known(plain: Trial) -> list[float]:
        found = comparable([told(trial, [LOAD], own) for trial, own in [(plain, plain), *later]])
        return [one.loads[LOAD.key].log_tpot for one in found]

    assert known(fast) == pytest.approx(known(slow))


def test_on_one_device_nothing_is_changed(make_trial: Make) -> None:
    plain, fast = make_trial(0, tpot=lambda load, i, r: 0.02 + 0.001 * i), make_trial(1, k=2, tpot=0.013)
    found = [told(plain, [LOAD], plain), told(fast, [LOAD], plain)]
    assert comparable(found) == [one.tried for one in found]


def test_without_a_baseline_of_its_own_a_trial_stands_as_measured(make_trial: Make) -> None:
    trial = make_trial(1, k=2, tpot=0.02)
    (found,) = comparable([told(trial, [LOAD], None)])
    assert math.exp(found.loads[LOAD.key].log_tpot) == pytest.approx(0.02)


def test_what_is_not_in_the_space_is_no_answer(make_trial: Make) -> None:
    trials = [make_trial(0), make_trial(1, k=2)]
    assert [one.candidate.k for one in tried(trials, [LOAD], [trials[0].record.candidate])] == [0]


# ---- as JSON

numbers = st.floats(allow_nan=False, allow_infinity=False)
growths = st.builds(
    Growth,
    st.lists(numbers, max_size=4).map(tuple),
    st.sampled_from(GrowthSource),
    st.integers(0, 1000),
    st.text(max_size=20),
)
keys = st.text(min_size=1, max_size=12)
observations = st.dictionaries(
    keys, st.builds(Observed, numbers, st.none() | numbers, growths, st.none() | numbers), max_size=3
)
CANDIDATE = Candidate({"gpu_memory_utilization": 0.9})
things_told = st.builds(
    Told,
    st.builds(Tried, st.just(CANDIDATE), st.sampled_from(Outcome), observations),
    st.dictionaries(keys, numbers, max_size=3),
)


@given(things_told)
def test_the_way_to_json_and_back_loses_nothing(one: Told) -> None:
    assert told_from(CANDIDATE, json.loads(json.dumps(told_json(one)))) == one


GOOD: dict[str, Any] = {
    "outcome": "measured",
    "loads": {
        "x": {
            "log_tpot": -4.0,
            "se": None,
            "length": None,
            "growth": {"logs": [0.5], "source": "replay", "n": 6, "note": ""},
        }
    },
    "baseline": {"x": -3.5},
}


def _changed(path: tuple[str, ...], value: object) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(GOOD))
    place = copy
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    "broken",
    [
        [],
        "measured",
        {},
        _changed(("outcome",), "won"),
        _changed(("outcome",), 1),
        _changed(("more",), 1),
        _changed(("loads",), []),
        _changed(("loads", "x", "log_tpot"), None),
        _changed(("loads", "x", "log_tpot"), True),
        _changed(("loads", "x", "log_tpot"), float("nan")),
        _changed(("loads", "x", "se"), "0.1"),
        _changed(("loads", "x", "length"), "2.0"),
        _changed(("loads", "x", "growth", "logs"), 0.5),
        _changed(("loads", "x", "growth", "logs"), [None]),
        _changed(("loads", "x", "growth", "n"), 6.0),
        _changed(("loads", "x", "growth", "source"), "guess"),
        _changed(("loads", "x", "growth", "note"), None),
        _changed(("baseline", "x"), "fast"),
    ],
)
def test_anything_else_is_refused(broken: Any) -> None:
    assert told_from(CANDIDATE, GOOD).tried.loads["x"].growth.n == 6
    with pytest.raises(ValueError):
        told_from(CANDIDATE, broken)
