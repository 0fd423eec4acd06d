"""Sentences for a person."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.findings import findings
from tuner.analysis.screening import failure_words
from tuner.analysis.wording import drift_words
from tuner.page.chinese import CHINESE
from tuner.records import Failure, FailureKind, LoadPoint, Protocol, Role, Trial, Verdict

Make = Callable[..., Trial]
C1 = LoadPoint("chat", 1, 33)


def test_an_interval_that_excludes_one_and_settles_nothing_says_why(make_trial: Make) -> None:
    """Logs of mean -0.15 and SD 0.052 over three rounds: t = 5, between 4.3 for the interval and 6.2 for "slower"."""
    factors = (0.817, 0.861, 0.907)
    trials = [make_trial(0), make_trial(1, k=4, tpot=0.02 / 0.86)]
    for number, factor in enumerate(factors):
        trials.append(make_trial(len(trials), final_round=number))
        trials.append(make_trial(len(trials), k=4, tpot=0.02 / factor, final_round=number))
    (answer,) = findings(trials, (C1,), protocol=Protocol(lives=3, max_lives=3)).answers
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "not enough to be sure at the level that a sweep's claims share" in answer.why


@pytest.mark.parametrize(("prompts", "words"), [(1, "1 prompt,"), (2, "2 prompts,")])
def test_one_prompt_is_no_prompts(make_trial: Make, prompts: int, words: str) -> None:
    trials = [make_trial(0, prompts=prompts), make_trial(1, k=4, tpot=0.01, prompts=prompts)]
    assert words in findings(trials, (C1,)).answers[0].why


def test_a_cause_that_is_in_the_message_is_not_told_twice(make_trial: Make) -> None:
    def failed(message: str) -> Trial:
        return make_trial(1, k=4, failure=Failure(FailureKind.CRASHED, message, "", "RuntimeError: no"))

    assert (
        failure_words(failed("ended with exit code 1: RuntimeError: no")) == "ended with exit code 1: RuntimeError: no"
    )
    assert failure_words(failed("ended")) == "ended (RuntimeError: no)"


def test_a_recommended_draft_without_token_ids_is_said_to_be_uncompared(make_trial: Make) -> None:
    def bare(trial: Trial) -> Trial:
        return replace(trial, samples=tuple(replace(sample, token_ids=()) for sample in trial.samples))

    trials = [make_trial(0), make_trial(1, k=4, tpot=0.01)]
    assert not any("not compared" in line for line in findings(trials, (C1,)).warnings)
    (line,) = (w for w in findings([bare(t) for t in trials], (C1,)).warnings if "not compared" in w)
    assert line.startswith("the outputs of good K=4 at chat, concurrency 1")


@pytest.mark.parametrize("spread", [0.5, 3.0, 12.0])
def test_what_two_wild_prompts_could_have_shown_is_no_number(make_trial: Make, spread: float) -> None:
    """One degree of freedom, sixteen candidates: the smallest effect in sight is larger than any float."""

    def tpot(_load: LoadPoint, prompt: int, _repeat: int) -> float:
        return 0.02 * math.exp(spread * (-1) ** prompt)

    candidates = [make_trial(k, k=k, prompts=2, repeats=1, tpot=tpot) for k in range(1, 17)]
    (answer,) = findings([make_trial(0, prompts=2, repeats=1), *candidates], (C1,)).answers
    assert "only an effect of over 1000% could have been seen" in answer.why
    assert answer.resolution is not None
    assert math.isfinite(answer.resolution.smallest_effect)


def test_lives_without_a_valid_repeat_are_not_counted_in_the_sentence(make_trial: Make) -> None:
    """The baseline of the third round saw foreign traffic in all its repeats: two rounds are left."""
    trials = [make_trial(0), make_trial(1, k=4, tpot=0.01)]
    for number in range(3):
        problems = dict.fromkeys(range(3), ("foreign traffic: 9 requests",)) if number == 2 else {}
        trials.append(make_trial(len(trials), final_round=number, problems=problems))
        trials.append(make_trial(len(trials), k=4, tpot=0.01 + 0.00001 * number, final_round=number))
    (answer,) = findings(trials, (C1,), protocol=Protocol(lives=3, max_lives=3)).answers
    assert "over 2 engine lives" in answer.why


@pytest.mark.parametrize("ratio", [1.383, 1 / 1.383])
def test_a_drift_has_one_form_whichever_life_was_slower(ratio: float) -> None:
    """99.94 ms after 138.2 ms: -27.7 % and 0.72x are the same as 38 % slower."""
    first, last = ("an earlier life", "a later one") if ratio < 1 else ("a later life", "an earlier one")
    assert drift_words(ratio) == f"{first} was 38% slower than {last}"
    assert CHINESE.told(drift_words(ratio)) in ("前面的启动比后面的慢 38%", "后面的启动比前面的慢 38%")


def test_drifts_in_both_directions_name_no_slower_life(make_trial: Make) -> None:
    loads = (C1, LoadPoint("chat", 4, 33))

    def later(load: LoadPoint, _prompt: int, _repeat: int) -> float:
        return 0.03 if load.concurrency == 1 else 0.02 / 1.5

    trials = [
        make_trial(0, loads=loads, tpot=0.02),
        make_trial(1, k=4, loads=loads, tpot=0.02),
        make_trial(2, loads=loads, tpot=later, role=Role.BASELINE_AGAIN),
    ]
    (answer,) = findings(trials, loads).answers
    assert "drifted, on average two of its lives differ by 50%, and which" in answer.why
    assert "基线自己有漂移，平均两次启动相差 50%，哪次更慢也不一致" in CHINESE.told(answer.why)
