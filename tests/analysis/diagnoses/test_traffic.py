"""When not to: saturated, short answers, a small target, each from the sweep's own figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.diagnoses.seeing import C1, C16, Make, by_concurrency, drifting, said, seen, the, with_gpu
from tuner.records import Confidence, Figure, Protocol, Trial, Verdict

LOADS = (C1, C16)


def crossing(make: Make, at_16: float, **more: object) -> list[Trial]:
    return [
        make(tpot=by_concurrency(c1=0.02, c16=0.022), loads=LOADS),
        make(1, k=3, tpot=by_concurrency(c1=0.012, c16=at_16), loads=LOADS, **more),
    ]


def test_past_the_crossover_with_the_same_acceptance_it_is_the_load(make_trial: Make) -> None:
    sweep = seen(crossing(make_trial, 0.03), LOADS)
    assert sweep.findings.answers[0].verdict is Verdict.SPECULATE_BELOW
    one = the("saturated", sweep)
    assert one.confidence is Confidence.MEDIUM and one.subject == "concurrency 16"  # of one engine life each
    assert "at concurrency 1 and at 0.73x" in one.evidence[0] and "80 % accepted" not in one.evidence[0]
    assert one.evidence[1].startswith("a step takes 1.7") and "serve.baseline.yaml" in one.next_step


def test_fresh_lives_make_it_clear(make_trial: Make) -> None:
    rounds = [
        make_trial(10 + 2 * r + i, k=k, tpot=tpot, loads=LOADS, final_round=r)
        for r in range(4)
        for i, (k, tpot) in enumerate(
            ((0, by_concurrency(c1=0.02, c16=0.022)), (3, by_concurrency(c1=0.012, c16=0.03)))
        )
    ]
    sweep = seen([*crossing(make_trial, 0.03), *rounds], LOADS, protocol=Protocol(lives=4, max_lives=4))
    one = the("saturated", sweep)
    assert one.confidence is Confidence.HIGH and "probably" not in one.what


def test_a_larger_k_that_still_pays_there_speaks_against_it(make_trial: Make) -> None:
    larger = make_trial(2, k=5, tpot=by_concurrency(c1=0.021, c16=0.021), loads=LOADS)
    one = the("saturated", seen([*crossing(make_trial, 0.024), larger], LOADS))
    assert one.confidence is Confidence.LOW and "probably the device" in one.what
    assert one.evidence[-1].startswith("against it: good K=5, which checks more tokens, was measured at 1.05x")
    assert "first measure good K=5 in fresh lives" in one.next_step and "smaller K" not in one.next_step


def test_there_is_no_smaller_k_than_1(make_trial: Make) -> None:
    plain, short = crossing(make_trial, 0.03)
    assert "a smaller K costs less there" in the("saturated", seen([plain, short], LOADS)).next_step
    one = make_trial(1, k=1, tpot=by_concurrency(c1=0.012, c16=0.03), loads=LOADS)
    assert the("saturated", seen([plain, one], LOADS)).next_step.endswith("serve.baseline.yaml above.")


def test_acceptance_that_fell_with_the_load_is_no_saturation(make_trial: Make) -> None:
    plain, trial = crossing(make_trial, 0.03)
    alone, busy = trial.record.loads
    fewer = [replace(r.counters, accepted_tokens=(r.counters.accepted_tokens or 0) // 3) for r in busy.repeats]
    repeats = tuple(replace(r, counters=counts) for r, counts in zip(busy.repeats, fewer, strict=True))
    fell = replace(trial, record=replace(trial.record, loads=(alone, replace(busy, repeats=repeats))))
    assert said("saturated", seen([plain, fell], LOADS)) == []


def test_a_device_that_waits_is_not_saturated(make_trial: Make) -> None:
    plain, trial = crossing(make_trial, 0.03)
    assert said("saturated", seen([with_gpu(plain, 0.98), with_gpu(trial, 0.5)], LOADS)) == []


def test_one_that_pays_everywhere_or_nowhere_is_not_saturated(make_trial: Make) -> None:
    assert said("saturated", seen(crossing(make_trial, 0.015), LOADS)) == []
    never = make_trial(1, k=3, tpot=by_concurrency(c1=0.03, c16=0.06), loads=LOADS)
    assert said("saturated", seen([crossing(make_trial, 0.1)[0], never], LOADS)) == []


def test_answers_whose_time_passes_before_the_first_token_are_too_short(make_trial: Make) -> None:
    """0.5 s before and 8 x 0.02 s after the first token: 76 %, so at most 1.32x."""
    short = {"tokens": 9, "ttft": 0.5}
    trials = [make_trial(tpot=drifting(0.02), **short), make_trial(1, k=3, tpot=drifting(0.01), **short)]
    one = the("answers_too_short", seen(trials))
    assert one.confidence is Confidence.HIGH and one.subject == "concurrency 1"
    assert "500 ms of 6" in one.evidence[0] and "76 %" in one.evidence[0] and "1.32x as fast" in one.evidence[0]
    assert one.evidence[1].startswith("good K=3 makes tokens 2.00x") and "whole answers 1.14x" in one.evidence[1]


def test_long_answers_are_not_too_short(make_trial: Make) -> None:
    assert said("answers_too_short", seen([make_trial(tpot=drifting(0.02)), make_trial(1, k=3)])) == []


def floor(share: float) -> dict[str, Figure]:
    return {
        "weight_read_s": Figure(share * 0.02, "s", "read", 1, "models", note="1 GB at 4.8 TB/s"),
        "bandwidth_share": Figure(share, "fraction", "share", 6, "prompts", share - 0.01, share + 0.01),
    }


def test_a_target_that_mostly_launches_is_too_small(make_trial: Make) -> None:
    trials = [make_trial(tpot=drifting(0.02)), make_trial(1, k=3, tpot=drifting(0.03))]
    one = the("target_too_small", seen(trials, floor=floor(0.1)))
    assert "reading the weights takes 2 ms (1 GB at 4.8 TB/s), 10 % (9-11) of a plain step" in one.evidence[0]
    assert "Do not speculate" in one.next_step


def test_without_cuda_graphs_they_are_the_first_thing_to_try(make_trial: Make) -> None:
    eager = {"enforce_eager": True}
    trials = [make_trial(tpot=drifting(0.02), args=eager), make_trial(1, k=3, tpot=drifting(0.03), args=eager)]
    assert "without enforce_eager" in the("target_too_small", seen(trials, floor=floor(0.1))).next_step


def test_a_draft_that_pays_at_one_load_point_speaks_against_a_small_target(make_trial: Make) -> None:
    plain = make_trial(tpot=by_concurrency(c1=0.02, c16=0.02), loads=LOADS)
    mixed = make_trial(1, k=3, tpot=by_concurrency(c1=0.04, c16=0.015), loads=LOADS)
    assert said("target_too_small", seen([plain, mixed], LOADS, floor=floor(0.1))) == []


@pytest.mark.parametrize(("share", "tpot"), [(0.7, 0.03), (0.1, 0.01), (None, 0.03)], ids=["bound", "pays", "unknown"])
def test_a_large_target_one_that_gains_and_an_unknown_floor_are_left_alone(
    make_trial: Make, share: float | None, tpot: float
) -> None:
    trials = [make_trial(tpot=drifting(0.02)), make_trial(1, k=3, tpot=drifting(tpot))]
    assert said("target_too_small", seen(trials, floor=floor(share) if share else {})) == []
