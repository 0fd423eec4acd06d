"""Verdicts on outputs: a broken engine is caught, a baseline that differs from itself raises no alarm."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from tuner.analysis.losslessness import MAX_DIVERGENCES, sameness
from tuner.analysis.statistics import fisher_more
from tuner.records import (
    DISTRIBUTION_REPEAT,
    REFERENCE_REPEAT,
    LoadPoint,
    RequestSample,
    Role,
    SameOutput,
    Sampling,
    Trial,
)

MakeTrial = Callable[..., Trial]
Texts = Mapping[str, Sequence[tuple[int, ...]]]
ALONE = LoadPoint(eval_set="chat", concurrency=1, max_tokens=8)
CROWD = LoadPoint(eval_set="chat", concurrency=8, max_tokens=8)
WARM = LoadPoint(eval_set="chat", concurrency=8, max_tokens=8, sampling=Sampling(temperature=0.8))
RIGHT = (1, 2, 3, 4)
WRONG = (1, 2, 9, 9)


def spoken(trial: Trial, load: LoadPoint, texts: Texts) -> Trial:
    """Return the trial with these answers instead of its own: the n-th of a prompt in repeat n."""
    [pattern, *_] = trial.samples
    samples = [
        replace(pattern, load_point=load.key, prompt_id=prompt, repeat=repeat, token_ids=tokens, finish_reason="length")
        for prompt, answers in texts.items()
        for repeat, tokens in enumerate(answers)
    ]
    return Trial(trial.record, tuple(samples))


def with_reference(trial: Trial, load: LoadPoint, texts: Mapping[str, tuple[int, ...]], gap: float) -> Trial:
    [pattern, *_] = trial.samples
    samples = [
        replace(
            pattern,
            load_point=load.key,
            prompt_id=prompt,
            repeat=REFERENCE_REPEAT,
            token_ids=tokens,
            top2_gaps=(gap,) * len(tokens),
            finish_reason="length",
        )
        for prompt, tokens in texts.items()
    ]
    return Trial(trial.record, (*trial.samples, *samples))


def names(count: int) -> list[str]:
    return [f"p{i}" for i in range(count)]


@pytest.fixture
def arms(make_trial: MakeTrial) -> Callable[..., tuple[Trial, Trial]]:
    """`arms(load, candidate's answers, baseline's answers, gap)` -> candidate, baseline."""

    def make(load: LoadPoint, mine: Texts, theirs: Texts, gap: float | None = None) -> tuple[Trial, Trial]:
        repeats = max(map(len, [*mine.values(), *theirs.values()]), default=1)
        trial = spoken(make_trial(k=4, loads=(load,), repeats=repeats), load, mine)
        baseline = spoken(make_trial(k=0, loads=(load,), repeats=repeats), load, theirs)
        if gap is not None:
            baseline = with_reference(baseline, load, {prompt: answers[0] for prompt, answers in theirs.items()}, gap)
        return trial, baseline

    return make


Arms = Callable[..., tuple[Trial, Trial]]


def test_equal_answers_are_identical(arms: Arms) -> None:
    trial, baseline = arms(ALONE, dict.fromkeys(names(8), [RIGHT] * 3), dict.fromkeys(names(8), [RIGHT] * 3))
    found = sameness(trial, [baseline], ALONE)
    assert found.verdict is SameOutput.IDENTICAL
    assert (found.equal, found.compared, found.self_equal, found.self_compared) == (24, 24, 24, 24)
    assert found.note == "24 of 24 answers have the baseline's token ids (its own among themselves: 24 of 24)"


@pytest.mark.parametrize("gap", [None, 3.0])
@pytest.mark.parametrize("repeats", [1, 3])
def test_an_engine_with_none_of_8_answers_right_differs(arms: Arms, gap: float | None, repeats: int) -> None:
    texts = [dict.fromkeys(names(8), [tokens] * repeats) for tokens in (WRONG, RIGHT)]
    trial, baseline = arms(ALONE, *texts, gap)
    found = sameness(trial, [baseline], ALONE)
    assert found.verdict is SameOutput.DIFFERS, found
    assert found.equal == 0
    assert {(d.position, d.gap) for d in found.divergences} == {(2, gap)}
    assert ("probabilities are not known" in found.note) == (gap is None)


@pytest.mark.parametrize(("gap", "verdict"), [(0.25, "near_ties"), (0.3, "differs"), (1.2, "differs")])
def test_gaps_tell_rounding_from_a_fault(arms: Arms, gap: float, verdict: str) -> None:
    trial, baseline = arms(ALONE, dict.fromkeys(names(8), [WRONG] * 3), dict.fromkeys(names(8), [RIGHT] * 3), gap)
    assert sameness(trial, [baseline], ALONE).verdict == verdict


def test_one_answer_that_parts_where_the_baseline_is_sure_is_enough(arms: Arms) -> None:
    mine = {key: [RIGHT] for key in names(96)} | {"p7": [WRONG]}
    trial, baseline = arms(ALONE, mine, {key: [RIGHT] for key in names(96)}, 4.0)
    found = sameness(trial, [baseline], ALONE)
    assert found.verdict is SameOutput.DIFFERS
    assert "token 3 of p7 it prefers its own token by 4 nats" in found.note


def test_one_answer_of_many_at_an_unclear_gap_is_no_evidence(arms: Arms) -> None:
    mine = {key: [RIGHT] for key in names(96)} | {"p7": [WRONG]}
    trial, baseline = arms(ALONE, mine, {key: [RIGHT] for key in names(96)}, 0.6)
    assert sameness(trial, [baseline], ALONE).verdict is SameOutput.UNEXPLAINED


def test_repeats_of_one_prompt_are_not_more_evidence(arms: Arms) -> None:
    # By answers 9 of 36 against 0 of 36 would be significant; by prompts 3 of 12 against 0 of 12 is not.
    mine = dict.fromkeys(names(12), [RIGHT] * 3) | dict.fromkeys(names(3), [WRONG] * 3)
    trial, baseline = arms(ALONE, mine, dict.fromkeys(names(12), [RIGHT] * 3))
    found = sameness(trial, [baseline], ALONE)
    assert (found.equal, found.compared, found.verdict) == (27, 36, SameOutput.UNEXPLAINED)


def test_a_crowded_baseline_that_differs_from_itself_raises_no_alarm(arms: Arms) -> None:
    rng = random.Random(5)
    alarms = 0
    for _ in range(300):
        mine, theirs = ({name: [(1, 2, rng.randrange(6), 4) for _ in range(3)] for name in names(12)} for _ in range(2))
        trial, baseline = arms(CROWD, mine, theirs)
        alarms += sameness(trial, [baseline], CROWD).verdict is SameOutput.DIFFERS
    assert alarms <= 3


def test_a_broken_engine_is_caught_beside_a_baseline_that_differs_from_itself(arms: Arms) -> None:
    theirs = {name: [(1, 2, i % 2, 4), (1, 2, 1, 4), (1, 2, 1, 4)] for i, name in enumerate(names(12))}
    trial, baseline = arms(CROWD, dict.fromkeys(names(12), [WRONG] * 3), theirs)
    found = sameness(trial, [baseline], CROWD)
    assert (found.self_equal, found.self_compared) == (30, 36)
    assert found.verdict is SameOutput.DIFFERS, found


def test_every_life_of_the_baseline_counts(arms: Arms) -> None:
    trial, baseline = arms(ALONE, {key: [WRONG] for key in names(8)}, {key: [RIGHT] for key in names(8)})
    _, again = arms(ALONE, {}, {key: [WRONG] for key in names(8)})
    found = sameness(trial, [baseline, again], ALONE)
    assert found.verdict is SameOutput.IDENTICAL
    assert (found.self_equal, found.self_compared) == (0, 16)


def test_a_crowded_baseline_seen_once_cannot_tell(arms: Arms) -> None:
    trial, baseline = arms(CROWD, {key: [WRONG] for key in names(8)}, {key: [RIGHT] for key in names(8)})
    found = sameness(trial, [baseline], CROWD)
    assert found.verdict is SameOutput.NOT_COMPARED
    assert "not known from one repeat" in found.note and found.compared == 8


def test_a_reference_pass_of_another_concurrency_serves(arms: Arms, make_trial: MakeTrial) -> None:
    trial, baseline = arms(CROWD, {key: [WRONG] for key in names(8)}, {key: [RIGHT] for key in names(8)})
    both = replace(baseline.record, loads=(*make_trial(loads=(ALONE,)).record.loads, *baseline.record.loads))
    baseline = with_reference(Trial(both, baseline.samples), ALONE, dict.fromkeys(names(8), RIGHT), 0.1)
    found = sameness(trial, [baseline], CROWD)
    assert found.verdict is SameOutput.NEAR_TIES
    assert [d.gap for d in found.divergences] == [0.1] * 8


def test_divergences_are_few_distinct_and_the_clearest_first(arms: Arms) -> None:
    mine, theirs = (dict.fromkeys(names(30), [tokens] * 2) for tokens in (WRONG, RIGHT))
    trial, baseline = arms(ALONE, mine, theirs)
    [*rest, _last] = names(30)
    baseline = with_reference(baseline, ALONE, dict.fromkeys(rest, RIGHT), 0.5)
    baseline = with_reference(baseline, ALONE, {"p29": RIGHT}, 7.0)
    found = sameness(trial, [baseline], ALONE)
    assert len(set(found.divergences)) == len(found.divergences) == MAX_DIVERGENCES
    assert (found.divergences[0].prompt_id, found.divergences[0].gap) == ("p29", 7.0)


def test_nothing_to_compare(arms: Arms) -> None:
    trial, baseline = arms(ALONE, {"p0": [RIGHT]}, {"p0": [RIGHT]})
    mute = Trial(trial.record, tuple(replace(sample, token_ids=()) for sample in trial.samples))
    [load] = trial.record.loads
    invalid = replace(load, repeats=tuple(replace(repeat, problems=("x",)) for repeat in load.repeats))
    for one, lives in (
        (trial, []),
        (mute, [baseline]),
        (trial, [Trial(baseline.record, mute.samples)]),
        (Trial(replace(trial.record, loads=(invalid,)), trial.samples), [baseline]),
        (trial, arms(ALONE, {}, {"other": [RIGHT]})[1:]),
    ):
        found = sameness(one, lives, ALONE)
        assert (found.verdict, found.compared) == (SameOutput.NOT_COMPARED, 0)
        assert "no answers with token ids" in found.note


@given(st.integers(0, 12), st.integers(1, 12), st.integers(0, 12), st.integers(1, 12))
def test_fisher_s_test_is_scipy_s(hits: int, of: int, other_hits: int, other_of: int) -> None:
    hits, other_hits = min(hits, of), min(other_hits, other_of)
    table = [[hits, of - hits], [other_hits, other_of - other_hits]]
    assert fisher_more(hits, of, other_hits, other_of) == pytest.approx(fisher_exact(table, "greater").pvalue)


def test_fisher_s_test_by_hand() -> None:
    # All 8 of 8 against 0 of 8: one of the C(16, 8) ways to choose eight of sixteen.
    assert fisher_more(8, 8, 0, 8) == pytest.approx(1 / 12870)


# --- above temperature 0 ----------------------------------------------------------------------------------------------


def sampling(trial: Trial, load: LoadPoint, weights: Sequence[float], seed: int) -> Trial:
    rng = random.Random(seed)
    [pattern, *_] = trial.samples
    samples: list[RequestSample] = [
        replace(pattern, load_point=load.key, prompt_id=name, repeat=DISTRIBUTION_REPEAT, token_ids=tuple(tokens))
        for name in names(8)
        for tokens in (rng.choices(range(4), weights, k=4) for _ in range(64))
    ]
    return Trial(trial.record, tuple(samples))


@pytest.mark.parametrize(("shifted", "verdict"), [((4, 3, 2, 1), "no_difference_found"), ((6, 2, 1, 1), "differs")])
def test_sampled_answers_are_compared_by_distribution(
    make_trial: MakeTrial, shifted: Sequence[float], verdict: str
) -> None:
    other = replace(WARM, concurrency=1)
    trial = sampling(make_trial(k=4, loads=(other, WARM)), WARM, shifted, 3)
    baseline = sampling(make_trial(k=0, loads=(other, WARM), role=Role.BASELINE), WARM, (4, 3, 2, 1), 4)
    for load in (WARM, other):
        found = sameness(trial, [baseline], load)
        assert found.verdict == verdict
        assert found.p_value is not None and (found.p_value < 0.01) == (verdict == "differs")


def test_several_temperatures_share_the_error_rate(make_trial: MakeTrial) -> None:
    hot = replace(WARM, sampling=Sampling(temperature=1.2))
    alone, beside = (
        [sampling(make_trial(k=k, loads=loads), WARM, (4, 3, 2, 1), k) for k in (4, 0)]
        for loads in ((WARM,), (WARM, hot))
    )
    p_alone, p_beside = (sameness(trial, [baseline], WARM).p_value for trial, baseline in (alone, beside))
    assert p_alone is not None and p_beside == min(1.0, 2 * p_alone)


def test_sampled_answers_without_the_test_are_not_compared(make_trial: MakeTrial) -> None:
    found = sameness(make_trial(k=4, loads=(WARM,)), [make_trial(loads=(WARM,))], WARM)
    assert (found.verdict, found.p_value) == (SameOutput.NOT_COMPARED, None)
