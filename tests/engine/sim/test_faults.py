from __future__ import annotations

import pytest

from tuner.engine.failures import Ending, failure_cause
from tuner.engine.sim.faults import faults_of, memory_message
from tuner.engine.sim.profile import Profile
from tuner.records import Speculation


def profile(**fault: object) -> Profile:
    return Profile.model_validate({"faults": [fault]})


def spec(k: int, draft: str | None = "m/weak") -> Speculation | None:
    return Speculation("draft_model" if draft else "ngram", k, "x", draft) if k else None


@pytest.mark.parametrize(
    ("limits", "k", "draft", "concerned"),
    [
        ({}, 0, None, True),
        ({}, 4, "m/weak", True),
        ({"draft": "none"}, 0, None, True),
        ({"draft": "none"}, 4, "m/weak", False),
        ({"draft": "*weak*"}, 0, None, False),
        ({"draft": "*weak*"}, 4, "m/weak", True),
        ({"draft": "*weak*"}, 4, "m/good", False),
        ({"draft": "ngram"}, 4, None, True),
        ({"k_min": 3, "k_max": 5}, 2, "m/weak", False),
        ({"k_min": 3, "k_max": 5}, 3, "m/weak", True),
        ({"k_min": 3, "k_max": 5}, 5, "m/weak", True),
        ({"k_min": 3, "k_max": 5}, 6, "m/weak", False),
    ],
)
def test_faults_keep_to_their_candidates(limits: dict[str, object], k: int, draft: str | None, concerned: bool) -> None:
    faults = faults_of(profile(kind="crash", **limits), spec(k, draft), "life")
    assert (faults.of_life("crash") is not None) is concerned
    assert faults.of_life("hang") is None


def test_a_rate_is_by_life_for_faults_of_the_process() -> None:
    crash = profile(kind="crash_at_start", rate=0.3)
    hit = [faults_of(crash, None, f"life {i}").of_life("crash_at_start") is not None for i in range(1000)]
    assert sum(hit) / 1000 == pytest.approx(0.3, abs=0.05)
    assert hit[:50] == [faults_of(crash, None, f"life {i}").of_life("crash_at_start") is not None for i in range(50)]


def test_a_rate_is_by_request_for_the_others_after_the_good_ones() -> None:
    faults = faults_of(profile(kind="http_error", rate=0.2, after_requests=10), None, "life")
    hit = [faults.of_request("http_error", i) is not None for i in range(2000)]
    assert not any(hit[:10])
    assert sum(hit) / 1990 == pytest.approx(0.2, abs=0.03)
    assert faults.of_request("truncated_stream", 50) is None


@pytest.mark.parametrize(
    ("argument", "asked", "at_most"),
    [("gpu_memory_utilization", 0.9, 0.7), ("max_model_len", 4096, 1024), ("max_num_seqs", 256, 128)],
)
def test_too_little_memory_is_said_until_the_argument_is_what_the_words_ask_for(
    argument: str, asked: float, at_most: float
) -> None:
    faults = faults_of(profile(kind="memory_until_lowered", argument=argument, at_most=at_most), None, "life")
    (fault,) = faults.all_of_life("memory_until_lowered")
    message = memory_message(fault, {argument: asked})
    assert message is not None
    found = failure_cause(f"Traceback (most recent call last):\n{message}", Ending())
    assert found is not None and list(found.change) == [argument]
    new = found.change[argument]
    assert isinstance(new, int | float) and new == pytest.approx(at_most)
    assert memory_message(fault, {argument: new}) is None
