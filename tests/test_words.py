from dataclasses import replace

import pytest

from tuner.records import (
    Answer,
    Candidate,
    Failure,
    FailureKind,
    Figure,
    LoadFigures,
    LoadPoint,
    PhaseTimes,
    Role,
    Speculation,
    TrialFigures,
    TrialRecord,
    Verdict,
    WorkerFacts,
)
from tuner.words import duration, milliseconds, plain, times, trial_words, verdict_words

GOOD = Candidate({}, Speculation("draft_model", 4, "good", "/models/good"))


def figure(value: float | None, low: float | None = None, high: float | None = None, unit: str = "x") -> Figure:
    return Figure(value, unit, "test", n=8, low=low, high=high)


def record(failure: Failure | None = None) -> TrialRecord:
    return TrialRecord(3, Role.CANDIDATE, GOOD, WorkerFacts("d", "cpu", "n"), "t", PhaseTimes(), failure=failure)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations_carry_over(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_figures_show_their_interval_and_undefined_is_a_dash() -> None:
    assert times(figure(1.724, 1.651, 1.789)) == "1.72x (1.65-1.79)"
    assert times(figure(1.724, 1.651, 1.789), interval=False) == "1.72x"
    assert times(figure(1.724)) == "1.72x"
    assert times(figure(None)) == milliseconds(figure(None)) == plain(figure(None)) == "-"
    assert milliseconds(figure(0.008012, unit="s")) == "8.012 ms"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.SPECULATE, "speculate: good, K = 4"),
        (Verdict.SPECULATE_BELOW, "speculate at a concurrency of up to 8, not at 16: good, K = 4"),
        (Verdict.DO_NOT, "do not speculate"),
        (Verdict.INCONCLUSIVE, "inconclusive: do not speculate until a better measurement says so"),
    ],
)
def test_every_verdict_says_what_to_do(verdict: Verdict, words: str) -> None:
    best = GOOD if verdict in (Verdict.SPECULATE, Verdict.SPECULATE_BELOW) else GOOD.baseline
    assert verdict_words(Answer(0.0, verdict, best, figure(1.7), "because", (), (), below=16, up_to=8)) == words


def test_a_trial_in_a_line_is_its_figures_or_its_failure() -> None:
    load = LoadFigures(LoadPoint("chat"), {"tpot_s": figure(0.08, unit="s"), "speedup_tpot": figure(1.9, 1.8, 2.0)})
    assert trial_words(record(), TrialFigures(3, GOOD, "d", (load,))) == "TPOT 80 ms, 1.90x (1.80-2.00)"
    at_four = replace(load, load_point=LoadPoint("chat", 4))
    assert trial_words(record(), TrialFigures(3, GOOD, "d", (load, at_four))) == (
        "concurrency 1: TPOT 80 ms, 1.90x (1.80-2.00); concurrency 4: TPOT 80 ms, 1.90x (1.80-2.00)"
    )
    longer = replace(load, load_point=LoadPoint("chat", max_tokens=7))
    assert f"; {longer.load_point.label}: TPOT" in trial_words(record(), TrialFigures(3, GOOD, "d", (load, longer)))
    again = TrialFigures(6, GOOD.baseline, "d", (load,))
    assert trial_words(record(), again) == "TPOT 80 ms, drift: the baseline itself is 1.90x of its first life"
    failure = Failure(FailureKind.CRASHED, "out of memory")
    assert trial_words(record(failure), None) == "failed (crashed): out of memory"
