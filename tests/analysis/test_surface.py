"""K x concurrency, with times that make every answer plain by construction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tuner.analysis.findings import findings
from tuner.records import BestK, Effect, Goal, LoadPoint, Metric, Protocol, Role, Surface, Trial

C1, C8, C32 = (LoadPoint("chat", c, 33) for c in (1, 8, 32))
LOADS = (C1, C8, C32)
Make = Callable[..., Trial]
Speeds = Mapping[int, tuple[float, ...]]  # K -> speedup at each load point


def at(speeds: tuple[float, ...], loads: tuple[LoadPoint, ...] = LOADS, noise: float = 0.0) -> Callable[..., float]:
    """Return TPOT: 20 ms x concurrency / speedup, every second prompt slower by `noise`, the others faster."""
    by_load = dict(zip((load.key for load in loads), speeds, strict=True))
    return lambda load, i, r: 0.02 * load.concurrency / by_load[load.key] * (1 + noise * (1 if i % 2 else -1))


def plain(make: Make, number: int = 0, loads: tuple[LoadPoint, ...] = LOADS, **how: object) -> Trial:
    return make(number, loads=loads, tpot=lambda load, i, r: 0.02 * load.concurrency, **how)


def trials_of(make: Make, speeds: Speeds, noise: float = 0.0, draft: str = "good", first: int = 1) -> list[Trial]:
    found = []
    for n, (k, values) in enumerate(speeds.items()):
        found.append(make(first + n, k=k, loads=LOADS, draft=draft, tpot=at(values, noise=noise)))
    return found


def surface_of(trials: list[Trial], loads: tuple[LoadPoint, ...] = LOADS, **how: object) -> Surface:
    (answer,) = findings(trials, loads, **how).answers  # type: ignore[arg-type]
    assert answer.surface is not None
    return answer.surface


def words(best: BestK) -> tuple[str, str, list[str], Effect]:
    return best.best.label, best.fastest.label, [c.label for c in best.not_excluded], best.effect


def test_the_best_k_of_each_concurrency_and_where_it_stops_paying(make_trial: Make) -> None:
    found = surface_of(
        [plain(make_trial), *trials_of(make_trial, {1: (1.2, 1.3, 0.9), 3: (1.8, 1.1, 0.7), 5: (2.0, 0.9, 0.5)})]
    )
    assert found.concurrencies == (1, 8, 32)
    assert words(found.best[1]) == ("good K=5", "good K=5", ["good K=5"], Effect.PAYS)
    assert words(found.best[8]) == ("good K=1", "good K=1", ["good K=1"], Effect.PAYS)
    assert words(found.best[32]) == ("no speculation", "good K=1", ["no speculation", "good K=1"], Effect.SLOWER)
    assert found.best[1].speedup.value == pytest.approx(2.0)
    assert found.best[32].speedup.value == pytest.approx(0.9)
    assert found.crossover.between == (8, 32)
    (draft,) = found.drafts
    assert [(cell.k, cell.concurrency) for cell in draft.cells] == [(k, c) for k in (1, 3, 5) for c in (1, 8, 32)]
    assert next(cell for cell in draft.cells if (cell.k, cell.concurrency) == (3, 8)).speedup.value == pytest.approx(
        1.1
    )


def test_no_speculation_is_excluded_where_it_is_clearly_slower_only(make_trial: Make) -> None:
    """At concurrency 1 all prompts are faster, at 8 every second one is slower by as much, at 32 all are slower."""
    noisy = make_trial(
        1,
        k=2,
        loads=LOADS,
        tpot=lambda load, i, r: 0.02 * load.concurrency / {1: 1.5, 8: 1 + 0.3 * (-1) ** i, 32: 0.8}[load.concurrency],
    )
    found = surface_of([plain(make_trial), noisy])
    assert [found.best[c].effect for c in (1, 8, 32)] == [Effect.PAYS, Effect.UNCLEAR, Effect.SLOWER]
    assert words(found.best[8])[:3] == ("no speculation", "good K=2", ["no speculation", "good K=2"])
    assert found.crossover.at(Effect.UNCLEAR) == (8,)
    assert found.crossover.between == (1, 32)


def test_ties_go_to_the_smaller_k(make_trial: Make) -> None:
    tied = [
        make_trial(1, k=2, loads=LOADS, tpot=at((1.5,) * 3)),
        make_trial(2, k=4, loads=LOADS, tpot=at((1.51,) * 3, noise=0.1)),
        make_trial(3, k=6, loads=LOADS, tpot=at((1.2,) * 3)),
    ]
    assert words(surface_of([plain(make_trial), *tied]).best[1])[:3] == (
        "good K=2",
        "good K=4",
        ["good K=2", "good K=4"],
    )


def test_drafts_have_a_best_k_each_and_compete_for_the_overall_one(make_trial: Make) -> None:
    found = surface_of(
        [
            plain(make_trial),
            *trials_of(make_trial, {2: (1.8, 0.9, 0.5)}),
            *trials_of(make_trial, {4: (1.3, 1.2, 0.9)}, draft="small", first=5),
        ]
    )
    assert [found.best[c].best.label for c in (1, 8, 32)] == ["good K=2", "small K=4", "no speculation"]
    good, small = found.drafts
    assert [good.best[c].best.label for c in (1, 8)] == ["good K=2", "no speculation"]
    assert [small.best[c].best.label for c in (1, 8)] == ["small K=4", "small K=4"]


def test_the_best_single_k_follows_the_traffic(make_trial: Make) -> None:
    """At nine tenths concurrency 1: exp(0.9 ln 2 + 0.1 ln 0.5) = 2^0.8 for K = 5, 1.21 for K = 1; the rest at 8."""
    trials = [plain(make_trial), *trials_of(make_trial, {1: (1.2, 1.3, 1.0), 5: (2.0, 0.5, 0.5)})]
    quiet = tuple(replace(load, weight=w) for load, w in zip(LOADS, (0.9, 0.1, 1e-6), strict=True))
    busy = tuple(replace(load, weight=w) for load, w in zip(LOADS, (0.1, 0.9, 1e-6), strict=True))
    static = surface_of(trials, quiet).static
    assert static is not None
    assert static.best.label == "good K=5"
    assert static.speedup.value == pytest.approx(math.exp(0.8 * math.log(2)), rel=1e-5)
    static = surface_of(trials, busy).static
    assert static is not None
    assert static.best.label == "good K=1"
    assert static.speedup.value == pytest.approx(1.2**0.1 * 1.3**0.9, rel=1e-5)
    assert static.speedup.low is not None


def test_a_single_k_has_a_crossover_of_its_own(make_trial: Make) -> None:
    """K = 5 is best over all, and slower at 8, where K = 1 still pays."""
    found = surface_of([plain(make_trial), *trials_of(make_trial, {1: (1.1, 1.1, 0.9), 5: (3.0, 0.9, 0.9)})])
    assert found.static is not None
    assert found.static.best.label == "good K=5"
    assert found.static_crossover.between == (1, 8)
    assert found.crossover.between == (8, 32)


def test_failed_and_unmeasured_k(make_trial: Make) -> None:
    found = surface_of(
        [
            plain(make_trial),
            *trials_of(make_trial, {1: (1.2, 1.2, 1.2)}),
            make_trial(3, k=8, loads=LOADS, failure="out of memory"),
        ],
        ks={"good": (1, 2, 8)},
    )
    (draft,) = found.drafts
    assert draft.ks == (1, 2, 8)
    lost = [cell for cell in draft.cells if cell.speedup.value is None]
    assert [(cell.k, cell.concurrency, cell.speedup.note) for cell in lost] == [
        (8, c, "failed: out of memory") for c in (1, 8, 32)
    ]


def test_what_may_not_win_is_shown_and_not_best(make_trial: Make) -> None:
    fast = make_trial(2, k=3, loads=LOADS, tpot=at((2.0,) * 3), preemptions=5)
    found = surface_of([plain(make_trial), *trials_of(make_trial, {1: (1.2, 1.2, 1.2)}), fast])
    assert found.best[1].best.label == "good K=1"
    assert {(cell.k, cell.barred) for cell in found.drafts[0].cells} == {(1, False), (3, True)}


def test_what_breaks_a_limit_is_not_best_there(make_trial: Make) -> None:
    """At 32 a token takes 0.64 s without a draft: 0.46 with K = 1, 0.44 with 3, 0.58 with 5, the fastest below that."""
    trials = [plain(make_trial), *trials_of(make_trial, {1: (1.2, 1.2, 1.4), 3: (1.8, 1.8, 1.45)})]
    slow = make_trial(9, k=5, loads=LOADS, tpot=at((2.0, 2.0, 1.1)))
    found = surface_of([*trials, slow], goal=Goal(p95_tpot_s=0.5))
    assert [found.best[c].best.label for c in (1, 8, 32)] == ["good K=5", "good K=5", "good K=3"]
    assert found.static is not None
    assert found.static.best.label == "good K=3"
    barred = {(cell.k, cell.concurrency) for cell in found.drafts[0].cells if cell.barred}
    assert barred == {(5, 32)}
    none_within = surface_of([*trials, slow], goal=Goal(p95_tpot_s=0.3))
    assert sorted(none_within.best) == [1, 8]
    assert none_within.static is None
    assert none_within.crossover.at(Effect.PAYS) == (1, 8)


def test_another_metric_decides_here_too(make_trial: Make) -> None:
    """K = 3 has the better TPOT and a TTFT that takes it all back."""
    quick = make_trial(1, k=1, loads=LOADS, tpot=at((1.2, 1.2, 1.2)))
    late = make_trial(2, k=3, loads=LOADS, tpot=at((1.3, 1.3, 1.3)), ttft=lambda load, i, r: 2.0 * load.concurrency)
    assert surface_of([plain(make_trial), quick, late]).best[8].best.label == "good K=3"
    assert surface_of([plain(make_trial), quick, late], goal=Goal(Metric.E2E)).best[8].best.label == "good K=1"


def test_nothing_speculative_has_no_surface(make_trial: Make) -> None:
    (answer,) = findings([plain(make_trial)], LOADS).answers
    assert answer.surface is None


# --- fresh lives ------------------------------------------------------------------------------------------------------


def rounds_of(make: Make, speeds: Mapping[int, tuple[float, ...]], lives: int = 3) -> list[Trial]:
    """Return `lives` rounds of a baseline and each K; rounds differ by 0.1 %."""
    found, number = [], 100
    for n in range(lives):
        found.append(plain(make, number, final_round=n))
        number += 1
        for k, values in speeds.items():
            wobbled = tuple(value * (1 + 0.001 * n) for value in values)
            found.append(make(number, k=k, loads=LOADS, tpot=at(wobbled), final_round=n))
            number += 1
    return found


def test_fresh_lives_give_the_figures_and_decide_whether_it_pays(make_trial: Make) -> None:
    """In one life K = 3 showed 1.5 at concurrency 1, in fresh ones 1.4; and at 8 it was 1.1 and is 0.9."""
    single = trials_of(make_trial, {1: (1.2, 1.05, 0.9), 3: (1.5, 1.1, 0.8)})
    closing = plain(make_trial, 9, role=Role.BASELINE_AGAIN)
    fresh = rounds_of(make_trial, {3: (1.4, 0.9, 0.8), 1: (1.2, 1.05, 0.9)})
    found = surface_of([plain(make_trial), *single, closing, *fresh], protocol=Protocol(lives=3, max_lives=3))
    assert (found.best[1].best.label, found.best[1].lives) == ("good K=3", 3)
    assert found.best[1].speedup.value == pytest.approx(1.4014, rel=1e-4)
    assert (found.best[8].best.label, found.best[8].lives) == ("good K=1", 3)
    assert [c.label for c in found.best[8].not_excluded] == ["good K=1"]


def test_k_are_compared_in_lives_of_one_kind(make_trial: Make) -> None:
    """K = 5 was not measured again. Its single life, 1.45, does not beat K = 3, which fell from 1.5 to 1.4."""
    single = trials_of(make_trial, {3: (1.5, 1.5, 1.5), 5: (1.45, 1.45, 1.45), 1: (1.49, 1.49, 1.49)})
    closing = plain(make_trial, 9, role=Role.BASELINE_AGAIN)
    fresh = rounds_of(make_trial, {3: (1.4, 1.4, 1.4), 1: (1.3, 1.3, 1.3)})
    found = surface_of([plain(make_trial), *single, closing, *fresh], protocol=Protocol(lives=3, max_lives=3))
    assert words(found.best[1])[:3] == ("good K=3", "good K=3", ["good K=3"])
    by_k = {cell.k: cell for cell in found.drafts[0].cells if cell.concurrency == 1}
    assert {k: cell.lives for k, cell in by_k.items()} == {1: 3, 3: 3, 5: 1}
    assert by_k[5].speedup.value == pytest.approx(1.45)


def test_a_doubtful_k_that_is_faster_does_not_hide_one_that_pays(make_trial: Make) -> None:
    doubtful = make_trial(2, k=4, loads=LOADS, tpot=at((1.5,) * 3, noise=0.6))
    found = surface_of([plain(make_trial), *trials_of(make_trial, {2: (1.3, 1.3, 1.3)}), doubtful])
    assert words(found.best[1]) == ("good K=2", "good K=2", ["good K=2", "good K=4"], Effect.PAYS)


def test_slower_needs_every_k_to_be(make_trial: Make) -> None:
    doubtful = make_trial(2, k=4, loads=LOADS, tpot=at((0.9,) * 3, noise=0.6))
    found = surface_of([plain(make_trial), *trials_of(make_trial, {2: (0.95, 0.95, 0.95)}), doubtful])
    assert found.best[1].effect is Effect.UNCLEAR


def test_a_smaller_k_of_another_draft_does_not_take_a_tie(make_trial: Make) -> None:
    found = surface_of(
        [
            plain(make_trial),
            make_trial(1, k=4, loads=LOADS, tpot=at((1.6,) * 3, noise=0.2)),
            *trials_of(make_trial, {2: (1.5, 1.5, 1.5)}, draft="small", first=5),
        ]
    )
    assert words(found.best[1])[:3] == ("good K=4", "good K=4", ["good K=4", "small K=2"])


def test_the_figures_and_the_crossover_are_those_of_the_smaller_k_in_a_tie(make_trial: Make) -> None:
    fast = make_trial(2, k=4, loads=LOADS, tpot=at((1.8, 1.8, 0.85), noise=0.2))
    found = surface_of([plain(make_trial), *trials_of(make_trial, {2: (1.5, 1.5, 0.95)}), fast])
    assert found.static is not None
    assert (found.static.best.label, found.static.fastest.label) == ("good K=2", "good K=4")
    assert found.static.speedup.value == pytest.approx((1.5 * 1.5 * 0.95) ** (1 / 3))
    assert found.static_crossover.at(Effect.SLOWER) == (32,)


def test_fresh_lives_decide_between_those_that_have_them(make_trial: Make) -> None:
    single = trials_of(make_trial, {3: (1.5, 1.5, 1.5), 5: (1.49, 1.49, 1.49)})
    closing = plain(make_trial, 9, role=Role.BASELINE_AGAIN)
    fresh = rounds_of(make_trial, {3: (1.3, 1.3, 1.3), 5: (1.4, 1.4, 1.4)})
    found = surface_of([plain(make_trial), *single, closing, *fresh], protocol=Protocol(lives=3, max_lives=3))
    assert words(found.best[1])[:3] == ("good K=5", "good K=5", ["good K=5"])


def test_what_fresh_lives_show_slower_is_excluded_by_one_that_pays(make_trial: Make) -> None:
    single = [
        *trials_of(make_trial, {3: (1.5, 1.5, 1.5), 1: (1.49, 1.49, 1.49)}),
        make_trial(4, k=5, loads=LOADS, tpot=at((1.45,) * 3, noise=0.1)),
    ]
    closing = plain(make_trial, 9, role=Role.BASELINE_AGAIN)
    fresh = rounds_of(make_trial, {3: (0.9, 0.9, 0.9), 1: (0.8, 0.8, 0.8)})
    found = surface_of([plain(make_trial), *single, closing, *fresh], protocol=Protocol(lives=3, max_lives=3))
    assert words(found.best[1])[:3] == ("good K=5", "good K=5", ["good K=5"])
    assert found.best[1].lives == 1


def test_what_is_faster_but_not_clearly_so_is_not_the_best_k(make_trial: Make) -> None:
    """K = 3 is measured faster than K = 5, with an interval that reaches below 1: it is left open, and not best."""
    trials = [plain(make_trial, loads=(C1,))]
    for number, (k, speed, noise) in enumerate(((3, 1.9, 0.9), (5, 1.8, 0.1)), 1):
        trials.append(make_trial(number, k=k, loads=(C1,), tpot=at((speed,), (C1,), noise)))
    (answer,) = findings(trials, (C1,)).answers
    assert answer.surface is not None
    best = answer.surface.best[1]
    faster = next(cell.speedup for cell in answer.surface.drafts[0].cells if cell.k == 3)
    assert (faster.value or 0) > (best.speedup.value or 0) and (faster.low or 0) < 1
    assert words(best) == ("good K=5", "good K=5", ["good K=3", "good K=5"], Effect.PAYS)
    assert [curve.best_k for curve in answer.curves] == [5]
