"""A slow draft, and an engine that leaves the device waiting."""

from __future__ import annotations

import pytest

from tests.analysis.diagnoses.seeing import Make, drifting, said, seen, served_alone, the, with_gpu
from tuner.records import Confidence, Trial

FINE = (0.9, 0.8, 0.7)


def alone(make: Make, tpot: float) -> Trial:
    return served_alone(make(9, tpot=drifting(tpot)))


def slow(make: Make, tpot: float = 0.024, k: int = 3, number: int = 1, **more: object) -> Trial:
    return make(number, k=k, acceptance=[0.9 - 0.05 * i for i in range(k)], tpot=drifting(tpot), **more)


@pytest.mark.parametrize(
    ("draft_s", "rule", "confidence"),
    [(0.006, "5x", Confidence.HIGH), (0.003, "10x", Confidence.LOW)],
    ids=["a third of the target's time", "a seventh"],
)
def test_a_draft_timed_alone_is_held_against_the_rules(
    make_trial: Make, draft_s: float, rule: str, confidence: Confidence
) -> None:
    one = the("draft_too_slow", seen([make_trial(tpot=drifting(0.02)), slow(make_trial), alone(make_trial, draft_s)]))
    assert f"less than {rule} faster than its target" in one.what and one.confidence is confidence
    assert one.evidence[0].startswith(f"alone it takes {1000 * draft_s * 1.005:.2g}")
    assert "n = 6 prompts" in one.evidence[0]


def test_a_fast_draft_and_one_that_wins_are_not_too_slow(make_trial: Make) -> None:
    plain = make_trial(tpot=drifting(0.02))
    assert said("draft_too_slow", seen([plain, slow(make_trial), alone(make_trial, 0.001)])) == []
    assert said("draft_too_slow", seen([plain, slow(make_trial, 0.01), alone(make_trial, 0.006)])) == []


def test_the_growth_of_a_step_alone_makes_it_no_more_than_possible(make_trial: Make) -> None:
    """3.4 tokens at 0.83x of no speculation are a step of 4 plain ones: (4.0 - 1) / 3 a token, and 0.2 is the rule."""
    one = the("draft_too_slow", seen([make_trial(tpot=drifting(0.02)), slow(make_trial)]))
    assert one.confidence is Confidence.LOW and "probably less than 5x" in one.what
    assert "a step of K = 3 takes 4.2" in one.evidence[0] and "--drafts-alone" in one.next_step
    # 1.3 tokens at 0.9x: a step of 1.5 plain ones for three tokens is what a 6x faster draft takes.
    quick = make_trial(1, k=3, acceptance=(0.2, 0.1, 0.0), tpot=drifting(0.0222))
    assert said("draft_too_slow", seen([make_trial(tpot=drifting(0.02)), quick])) == []


def test_beside_ngram_the_growth_makes_it_likely(make_trial: Make) -> None:
    """n-gram's step of 3 is 1.3 plain ones, the draft's 4.2: about one plain step a token."""
    ngram = make_trial(2, k=3, draft="ngram", method="ngram", acceptance=(0.1, 0.1, 0.1), tpot=drifting(0.02))
    trials = [make_trial(tpot=drifting(0.02)), slow(make_trial), ngram]
    one = the("draft_too_slow", seen(trials))
    assert (
        one.confidence is Confidence.MEDIUM
        and "beside n-gram's step of the same K each token adds 0.9" in one.evidence[0]
    )
    as_slow = make_trial(2, k=3, draft="ngram", method="ngram", acceptance=(0.1, 0.1, 0.1), tpot=drifting(0.06))
    assert said("draft_too_slow", seen([trials[0], trials[1], as_slow])) == []


def test_lives_in_the_wrong_order_say_nothing_of_a_draft(make_trial: Make) -> None:
    trials = [make_trial(tpot=drifting(0.02)), slow(make_trial, 0.03, k=2), slow(make_trial, 0.0201, k=3, number=2)]
    assert said("lives_differ", seen(trials))
    assert said("draft_too_slow", seen(trials)) == []


def test_a_device_that_waits_with_a_draft_and_not_without_is_overhead(make_trial: Make) -> None:
    """Nearly all is accepted and nothing gained: it cannot be acceptance."""
    plain, waiting = with_gpu(make_trial(tpot=drifting(0.02)), 0.98), with_gpu(slow(make_trial), 0.5)
    sweep = seen([plain, waiting])
    one = the("engine_overhead", sweep)
    assert one.confidence is Confidence.HIGH and one.subject == "good"
    assert "concurrency 1: 50 % with, 98 % without (3 repeats)" in one.evidence[0]
    assert one.next_step.startswith("Measure K = 5 too")
    assert said("draft_too_slow", sweep) == []  # launches, not work


@pytest.mark.parametrize(
    ("before", "now"), [(0.98, 0.9), (0.5, 0.2), (None, None)], ids=["busy", "waits anyway", "unread"]
)
def test_a_device_that_works_or_that_was_not_read_is_no_overhead(
    make_trial: Make, before: float | None, now: float | None
) -> None:
    plain, trial = make_trial(tpot=drifting(0.02)), slow(make_trial)
    if before is not None and now is not None:
        plain, trial = with_gpu(plain, before), with_gpu(trial, now)
    assert said("engine_overhead", seen([plain, trial])) == []


def test_a_step_that_hardly_grows_with_k_is_paid_off_by_a_larger_k(make_trial: Make) -> None:
    """K = 2 and 4 at 2.0 and 2.2 plain steps: 1.8 - 1 are fixed and 0.1 a token grows."""
    plain = with_gpu(make_trial(tpot=drifting(0.02)), 0.98)
    two = with_gpu(make_trial(1, k=2, acceptance=(0.5, 0.5), tpot=drifting(0.02)), 0.5)
    four = with_gpu(make_trial(2, k=4, acceptance=(0.5, 0.5, 0.1, 0.1), tpot=drifting(0.02)), 0.5)
    one = the("engine_overhead", seen([plain, two, four]))
    assert "are fixed (line through K = 2, 4" in one.evidence[1]
    assert one.next_step.startswith("What is fixed spreads over more tokens: try K = 6")
    assert one.confidence is Confidence.MEDIUM  # half accepted may be why as well


def test_a_step_that_grows_with_k_asks_for_fewer_layers(make_trial: Make) -> None:
    plain = with_gpu(make_trial(tpot=drifting(0.02)), 0.98)
    drafts = [with_gpu(slow(make_trial, 0.02, k=k, number=k), 0.5) for k in (2, 4)]
    assert "fewer layers" in the("engine_overhead", seen([plain, *drafts])).next_step


def test_a_larger_k_is_not_advised_where_little_is_accepted(make_trial: Make) -> None:
    def next_step(acceptance: tuple[float, ...]) -> str:
        draft = with_gpu(make_trial(1, k=3, acceptance=acceptance, tpot=drifting(0.03)), 0.5)
        return the("engine_overhead", seen([with_gpu(make_trial(tpot=drifting(0.02)), 0.98), draft])).next_step

    assert "a larger K pays it off" in next_step((0.95, 0.92, 0.9))
    assert "guesses better" in next_step((0.3, 0.1, 0.0)) and "pays it off" not in next_step((0.3, 0.1, 0.0))
