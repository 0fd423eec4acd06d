"""Limits on p95 latencies: what is measured, and what they leave of a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.findings import findings
from tuner.analysis.limits import checks, constraints, over_limit
from tuner.analysis.metrics import trial_figures
from tuner.records import Answer, BarKind, Findings, Goal, LoadPoint, Protocol, Role, Trial, Verdict

C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33)
LOADS = (C1, C8)
Make = Callable[..., Trial]
Sweep = dict[int, tuple[float, float, float]]
"""K -> speedup (TPOT), TTFT in seconds at concurrency 1 and at 8."""
HALF = Goal(p95_ttft_s=0.5)


def test_p95_over_the_requests_of_all_repeats(make_trial: Make) -> None:
    """TTFT 0.1 ... 0.6 s, each three times: place 16.15 of 0 ... 17 is among the largest."""
    trial = trial_figures(make_trial(ttft=lambda _load, i, _r: 0.1 * (i + 1)), None)
    goal = Goal(p95_ttft_s=0.5, p95_tpot_s=0.04)
    ttft, tpot = checks(trial, goal, [C1])
    assert (ttft.name, ttft.limit, ttft.n) == ("ttft_s_p95", 0.5, 18)
    assert ttft.value == pytest.approx(0.6)
    assert (ttft.broken, ttft.near, tpot.broken, tpot.near) == (True, False, False, False)
    assert ttft.words == "p95 TTFT 0.6 s over 18 requests, the limit is 0.5 s"
    (bar,) = over_limit((ttft, tpot))
    assert bar.kind is BarKind.OVER_LIMIT
    assert bar.text.startswith("chat, concurrency 1")
    assert constraints(trial, goal, [C8, C1]) == pytest.approx([0.0, 0.0, 0.2, -0.5])


def test_at_the_limit_is_within_and_near(make_trial: Make) -> None:
    trial = trial_figures(make_trial(ttft=0.5), None)
    (check,) = checks(trial, HALF, [C1])
    assert (check.broken, check.near) == (check.value > 0.5, True)
    assert check.words.endswith("the limit is 0.5 s, near it")
    (above,) = checks(trial, Goal(p95_ttft_s=0.49), [C1])
    assert (above.broken, above.near) == (True, True)


def test_a_load_point_without_weight_has_no_limit(make_trial: Make) -> None:
    trial = trial_figures(make_trial(ttft=3.0), None)
    assert checks(trial, HALF, [replace(C1, weight=0.0)]) == ()
    assert constraints(trial, HALF, [replace(C1, weight=0.0)]) == [0.0]


def run(make_trial: Make, candidates: Sweep, base: tuple[float, float] = (0.1, 0.1), goal: Goal = HALF) -> Findings:
    """Return what a sweep with these candidates concludes.  base: the baseline's TTFT at both concurrencies."""

    def of(number: int, k: int, **facts: object) -> Trial:
        speedup, one, eight = candidates[k] if k else (1.0, *base)
        return make_trial(
            number,
            k=k,
            loads=LOADS,
            tpot=lambda _l, i, r: 0.02 / speedup * (1 + 0.001 * i + 0.0005 * r),
            ttft=lambda load, _i, _r: one if load.concurrency == 1 else eight,
            **facts,
        )

    ks = sorted(candidates)
    trials = [of(0, 0), *(of(k, k) for k in ks), of(99, 0, role=Role.BASELINE_AGAIN)]
    return findings(trials, LOADS, goal=goal)


def answer(found: Findings) -> Answer:
    return found.answers[0]


def test_the_best_of_those_within_the_limits_wins(make_trial: Make) -> None:
    found = run(make_trial, {2: (1.5, 0.2, 0.2), 4: (1.9, 0.2, 0.7)})
    best = answer(found)
    assert (best.verdict, best.best.k, best.runner_up) == (Verdict.SPECULATE, 2, None)
    (barred,) = found.barred
    assert (barred.candidate.k, barred.bar.kind) == (4, BarKind.OVER_LIMIT)
    assert "concurrency 8" in barred.bar.text and "p95 TTFT 0.7 s over 18 requests" in barred.bar.text
    assert [curve.best_k for curve in best.curves] == [4, 2]


def test_who_breaks_a_limit_above_some_concurrency_wins_below_it(make_trial: Make) -> None:
    best = answer(run(make_trial, {2: (0.9, 0.2, 0.2), 4: (1.9, 0.2, 0.7)}))
    assert (best.verdict, best.best.k, best.up_to, best.below) == (Verdict.SPECULATE_BELOW, 4, 1, 8)
    assert "At concurrency 8: p95 TTFT 0.7 s over 18 requests, the limit is 0.5 s." in best.why


def test_nobody_within_the_limits_at_the_lowest_concurrency(make_trial: Make) -> None:
    best = answer(run(make_trial, {4: (1.9, 0.7, 0.7)}))
    assert (best.verdict, best.best.k) == (Verdict.INCONCLUSIVE, 0)
    assert best.why.startswith("No speculative candidate keeps to the limits at concurrency 1. good K=4: p95 TTFT")


def test_slower_within_the_limits_and_faster_beyond_them_is_no_advice_against_speculation(make_trial: Make) -> None:
    best = answer(run(make_trial, {2: (0.9, 0.2, 0.2), 4: (1.9, 0.7, 0.2)}))
    assert best.verdict is Verdict.INCONCLUSIVE
    assert "good K=4 was measured faster" in best.why
    assert "cannot win: chat, concurrency 1" in best.why
    assert answer(run(make_trial, {2: (0.9, 0.2, 0.2), 4: (0.8, 0.7, 0.2)})).verdict is Verdict.DO_NOT


def test_only_speculation_keeps_to_the_limits(make_trial: Make) -> None:
    best = answer(run(make_trial, {2: (0.95, 0.2, 0.2), 4: (0.9, 0.2, 0.2)}, base=(0.1, 0.9)))
    assert (best.verdict, best.best.k) == (Verdict.SPECULATE, 2)
    assert "0.95x of no speculation" in best.why
    assert "At concurrency 8 only speculation keeps to the limits (good K=2; without: p95 TTFT 0.9 s" in best.why


def test_only_speculation_keeps_to_the_limits_up_to_some_concurrency(make_trial: Make) -> None:
    best = answer(run(make_trial, {2: (0.95, 0.2, 0.8)}, base=(0.7, 0.9)))
    assert (best.verdict, best.best.k, best.up_to, best.below) == (Verdict.SPECULATE_BELOW, 2, 1, 8)
    assert "At concurrency 1 only speculation" in best.why
    assert "No setting of this engine keeps to the limits at concurrency 8 (without speculation: p95 TTFT" in best.why


def test_no_setting_keeps_to_the_limits_at_a_concurrency(make_trial: Make) -> None:
    best = answer(run(make_trial, {4: (1.9, 0.2, 0.8)}, base=(0.1, 0.9)))
    assert (best.verdict, best.up_to, best.below) == (Verdict.SPECULATE_BELOW, 1, 8)
    assert "No setting of this engine keeps to the limits at concurrency 8" in best.why
    slow = answer(run(make_trial, {4: (0.9, 0.2, 0.8)}, base=(0.1, 0.9)))
    assert slow.verdict is Verdict.DO_NOT
    assert slow.why.startswith("Up to concurrency 1: ")
    assert "Above that no candidate keeps to the limits." in slow.why


def test_what_a_limit_decided_near_it_is_said(make_trial: Make) -> None:
    best = answer(run(make_trial, {4: (1.9, 0.2, 0.48)}))
    assert best.verdict is Verdict.SPECULATE
    assert "good K=4 at chat, concurrency 8" in best.why
    assert "near it; another measurement may decide otherwise." in best.why


def test_without_limits_nothing_changes(make_trial: Make) -> None:
    sweep: Sweep = {2: (1.5, 0.2, 0.2), 4: (1.9, 0.2, 0.7)}
    assert run(make_trial, sweep, goal=Goal()) == replace(
        run(make_trial, sweep, goal=Goal(p95_ttft_s=9.0)), goal=Goal()
    )
    assert answer(run(make_trial, sweep, goal=Goal())).best.k == 4


def test_fresh_lives_keep_to_the_limits_together(make_trial: Make) -> None:
    """The first life of K = 4 kept to the limit; 18 of 54 requests of its fresh ones do not."""

    def of(number: int, k: int, ttft: float, **facts: object) -> Trial:
        speedup = {0: 1.0, 2: 1.5, 4: 1.9}[k]
        return make_trial(
            number, k=k, ttft=ttft, tpot=lambda _l, i, r: 0.02 / speedup * (1 + 0.001 * i + 0.0005 * r), **facts
        )

    trials = [of(0, 0, 0.1), of(1, 2, 0.1), of(2, 4, 0.1), of(3, 0, 0.1, role=Role.BASELINE_AGAIN)]
    for n in range(3):
        trials += [
            of(10 + 3 * n + k // 2, k, 0.7 if (k, n) == (4, 2) else 0.1, final_round=n, role=Role.FINAL)
            for k in (0, 2, 4)
        ]
    found = findings(trials, (C1,), protocol=Protocol(lives=3, max_lives=3), goal=HALF)
    best = answer(found)
    assert (best.verdict, best.best.k, best.lives) == (Verdict.SPECULATE, 2, 3)
    assert [(b.candidate.k, b.bar.kind, "over 54 requests" in b.bar.text) for b in found.barred] == [
        (4, BarKind.OVER_LIMIT, True)
    ]


def test_fresh_lives_that_are_slower_are_no_advice_where_a_faster_one_breaks_a_limit(make_trial: Make) -> None:
    def of(number: int, k: int, speedup: float, ttft: float = 0.1, **facts: object) -> Trial:
        return make_trial(
            number, k=k, ttft=ttft, tpot=lambda _l, i, r: 0.02 / speedup * (1 + 0.001 * i + 0.0005 * r), **facts
        )

    trials = [of(0, 0, 1.0), of(1, 2, 1.2), of(2, 4, 1.9, 0.7), of(3, 0, 1.0, role=Role.BASELINE_AGAIN)]
    for n in range(3):
        trials += [
            of(10 + 2 * n, 0, 1.0, final_round=n, role=Role.FINAL),
            of(11 + 2 * n, 2, 0.9 + n / 100, final_round=n),
        ]
    protocol = Protocol(lives=3, max_lives=3)
    best = answer(findings(trials, (C1,), protocol=protocol, goal=HALF))
    assert (best.verdict, best.lives) == (Verdict.INCONCLUSIVE, 3)
    assert "good K=4 was measured faster" in best.why and "p95 TTFT 0.7 s" in best.why
    assert (
        answer(findings([t for t in trials if t.record.candidate.k != 4], (C1,), protocol=protocol)).verdict
        is Verdict.DO_NOT
    )
