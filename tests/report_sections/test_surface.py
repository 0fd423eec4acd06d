"""What the page says by concurrency."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.findings import findings
from tuner.page.chinese import CHINESE
from tuner.records import Crossover, Effect, Findings, Goal, LoadPoint, Metric, Sampling, Traffic, Trial, Verdict
from tuner.report_sections.surface import crossover_words, surface_section
from tuner.space.traffic import by_temperature, weighted

Make = Callable[..., Trial]
LOADS = tuple(LoadPoint("chat", c, 33) for c in (4, 8, 32))
PAYS, SLOWER, UNCLEAR = Effect.PAYS, Effect.SLOWER, Effect.UNCLEAR


def result(make: Make, traffic: Traffic | None = None, drafts: tuple[str, ...] = ("good",)) -> Findings:
    """K = 1 at 1.2, 1.1, 0.95 and K = 3 at 1.8, 1.05, 0.7 of no speculation."""
    speeds = {1: (1.2, 1.1, 0.95), 3: (1.8, 1.05, 0.7)}
    loads = weighted(LOADS, traffic)

    def trial(number: int, k: int, draft: str) -> Trial:
        by_concurrency = dict(zip((4, 8, 32), speeds[k], strict=True))
        return make(
            number,
            k=k,
            draft=draft,
            loads=loads,
            tpot=lambda load, i, r: (
                0.02 * (1 + 0.1 * number) / by_concurrency[load.concurrency]
                if draft != drafts[0]
                else 0.02 / by_concurrency[load.concurrency]
            ),
        )

    trials = [trial(10 * d + k, k, name) for d, name in enumerate(drafts) for k in speeds]
    found = findings([make(0, loads=loads), *trials], loads)
    return replace(found, traffic=by_temperature(traffic, loads))


def page(found: Findings) -> str:
    return "\n".join(surface_section(found, ()))


def test_a_row_for_each_concurrency_and_one_for_all(make_trial: Make) -> None:
    text = page(result(make_trial))
    assert "| 4 | good K=3 | 1.80x (1.80-1.80) | 1 | good K = 3 |" in text
    assert "| 8 | good K=1 | 1.10x (1.10-1.10) | 1 | good K = 1 |" in text
    assert "| 32 | none | nearest good K=1: 0.95x (0.95-0.95) | 1 | good K = 1; no speculation |" in text
    assert "| one K for all | good K=3 | 1.10x (1.10-1.10) | 1 | good K = 3 |" in text
    assert (
        "With the best K at each concurrency, and with good K=3 at all of them, speculation pays at 4 and 8 and is "
        in text
    )
    assert "it stops paying between 8 and 32" in text
    assert "Over all load points, good K=3 is the best single K: 1.10x (1.10-1.10), the geometric mean of TPOT" in text
    assert "best K of each draft" not in text
    assert "With good K=3 at all of them it" not in text


def test_each_draft_has_its_row_where_there_are_several(make_trial: Make) -> None:
    text = page(result(make_trial, drafts=("good", "weak")))
    assert "| best K of each draft | 4 | 8 | 32 |" in text
    assert "| good | K = 3, 1.80x (1.80-1.80) | K = 1, 1.10x (1.10-1.10) | none (nearest K = 1, 0.95x) |" in text
    assert "| weak | none (nearest K = 3, 0.78x) |" in text


def test_the_traffic_is_told_with_what_it_does_not_cover(make_trial: Make) -> None:
    """Nine tenths at 4, by hand: 1.8^(0.72 / 0.8) x 1.05^(0.08 / 0.8) for K = 3 over what is covered."""
    traffic = Traffic({1: 0.02, 4: 0.7, 8: 0.08, 100: 0.2}, "running.json", 2000, 500)
    text = page(result(make_trial, traffic))
    value = math.exp(0.9 * math.log(1.8) + 0.1 * math.log(1.05))
    assert (
        f"Over the traffic (running.json: 2,000 samples, 25% of them idle), good K=3 is the best single K: {value:.2f}x"
        in text
    )
    assert "the geometric mean of TPOT ratios by shares of busy time" in text
    assert "by shares of busy time. 20% of the busy time is not covered." in text
    assert "| 4 | 72% | good K=3 |" in text
    assert "| 32 | 0% | none |" in text
    assert "| one K for all | 80% | good K=3 |" in text


def test_a_single_k_that_stops_paying_earlier_has_a_sentence_of_its_own(make_trial: Make) -> None:
    speeds = {1: (1.1, 1.1, 0.9), 3: (2.5, 0.9, 0.9)}

    def trial(k: int) -> Trial:
        by_concurrency = dict(zip((4, 8, 32), speeds[k], strict=True))
        return make_trial(k, k=k, loads=LOADS, tpot=lambda load, i, r: 0.02 / by_concurrency[load.concurrency])

    text = page(findings([make_trial(0, loads=LOADS), trial(1), trial(3)], LOADS))
    assert "With the best K at each concurrency, speculation pays at 4 and 8 and is slower at 32" in text
    assert (
        "With good K=3 at all of them it pays at 4 and is slower at 8 and 32: it stops paying between 4 and 8" in text
    )


def test_where_nothing_keeps_to_a_limit_and_another_metric_decides(make_trial: Make) -> None:
    goal = Goal(Metric.E2E, p95_tpot_s=0.021)
    fast = make_trial(1, k=2, loads=LOADS, tpot=lambda load, i, r: 0.03 if load.concurrency == 32 else 0.01)
    text = page(findings([make_trial(0, loads=LOADS), fast], LOADS, goal=goal))
    assert "| 32 | none may win | - | - | - |" in text
    assert "speculation pays at 4 and 8" in text
    assert "one K for all" not in text
    text = page(findings([make_trial(0, loads=LOADS), fast], LOADS, goal=Goal(Metric.E2E)))
    assert "the geometric mean of E2E ratios by their weights" in text


def test_traffic_at_which_nothing_pays(make_trial: Make) -> None:
    text = page(result(make_trial, Traffic({32: 1.0})))
    assert "Over the traffic, every single K is slower than no speculation; nearest is good K=1: 0.95x" in text


def test_one_concurrency_has_no_section(make_trial: Make) -> None:
    assert page(findings([make_trial(0), make_trial(1, k=2, tpot=0.01)], (LoadPoint("chat", 1, 33),))) == ""


def test_temperatures_have_a_section_each(make_trial: Make) -> None:
    loads = (*LOADS[:2], *(replace(load, sampling=Sampling(0.7)) for load in LOADS[:2]))
    text = page(findings([make_trial(0, loads=loads), make_trial(1, k=2, tpot=0.01, loads=loads)], loads))
    assert "## By concurrency, temperature 0\n" in text
    assert "## By concurrency, temperature 0.7\n" in text


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        (
            {1: PAYS, 8: PAYS, 16: UNCLEAR, 32: SLOWER},
            "pays at 1 and 8, cannot be told from none at 16 and is slower at 32: it stops paying between 8 and 32",
        ),
        ({1: PAYS, 8: SLOWER}, "pays at 1 and is slower at 8: it stops paying between 1 and 8"),
        ({1: PAYS, 8: PAYS}, "pays at 1 and 8, that is wherever it was measured: where it stops paying is above 8"),
        ({1: PAYS, 8: UNCLEAR}, "pays at 1 and cannot be told from none at 8: where it stops paying is not known"),
        ({1: SLOWER, 8: SLOWER}, "is slower at 1 and 8"),
        ({1: UNCLEAR, 8: SLOWER}, "cannot be told from none at 1 and is slower at 8"),
        ({1: SLOWER, 8: PAYS}, "pays at 8 and is slower at 1"),
        ({1: UNCLEAR, 8: PAYS}, "pays at 8 and cannot be told from none at 1"),
        ({1: PAYS, 2: SLOWER, 8: PAYS, 16: SLOWER}, "pays at 1 and 8 and is slower at 2 and 16"),
    ],
)
def test_the_crossover_in_words(effects: dict[int, Effect], words: str) -> None:
    assert crossover_words(Crossover(effects)) == words


def test_what_pays_in_a_table_of_an_open_answer_says_why_it_is_no_verdict(make_trial: Make) -> None:
    """Two candidates: each claim needs 97.5 %. K = 3 pays at the lowest concurrency, and noise hides the rest."""

    def noisy(load: LoadPoint, prompt: int, repeat: int) -> float:
        noise = 0.4 if load.concurrency > 4 else 0.0
        return 0.02 * (1 + (noise if prompt % 2 else -noise))

    trials = [
        make_trial(0, loads=LOADS),
        *(make_trial(k, k=k, loads=LOADS, tpot=lambda *at, k=k: noisy(*at) / (1 + 0.1 * k)) for k in (1, 3)),
    ]
    found = findings(trials, LOADS)
    (answer,) = found.answers
    undecided = replace(answer, verdict=Verdict.INCONCLUSIVE)
    assert undecided.surface is not None and undecided.surface.crossover.at(PAYS)
    text = page(replace(found, answers=(undecided,)))
    assert "2 candidates were tried" in text and "each claim has to be 97.5 % sure" in text
    assert "候选配置" in CHINESE.told(next(line for line in text.splitlines() if "by luck" in line))
    decided = replace(answer, verdict=Verdict.SPECULATE)
    assert "by luck" not in page(replace(found, answers=(decided,)))
