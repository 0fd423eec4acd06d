"""The parts of a step's time."""

from __future__ import annotations

from collections.abc import Callable
from statistics import geometric_mean

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuner.analysis.apart import Apart, apart
from tuner.analysis.findings import findings
from tuner.analysis.step_split import StepSplit, step_splits
from tuner.records import LoadPoint, Role, Trial

Make = Callable[..., Trial]
LOAD = LoadPoint("chat", 1, 33)
NONE = Apart((), (), {})


def splits(trials: list[Trial], timed: Apart = NONE) -> list[StepSplit]:
    return list(step_splits(findings(trials, [LOAD]).trials, timed))


@pytest.fixture
def measured(make_trial: Make) -> list[Trial]:
    """Return a baseline of 20 ms and a draft whose steps of K = 2 give 2 tokens in 30 ms: 15 ms a token."""
    return [make_trial(0, loads=[LOAD], tpot=0.02), make_trial(1, k=2, loads=[LOAD], tpot=0.015, acceptance=[0.6, 0.4])]


def test_without_more_a_step_is_a_plain_pass_and_the_rest(measured: list[Trial]) -> None:
    (split,) = splits(measured)
    assert split.step_s == pytest.approx(0.03)
    assert split.plain_s == pytest.approx(0.02)
    assert split.rest_s == pytest.approx(0.01)
    assert (split.draft_s, split.verification_s) == (None, None)


def test_a_draft_served_alone_tells_drafting(measured: list[Trial], make_trial: Make) -> None:
    from dataclasses import replace

    alone = make_trial(2, loads=[LOAD], tpot=0.002, role=Role.DRAFT_ALONE)
    spec = measured[1].record.candidate.speculation
    assert spec is not None
    alone = replace(alone, record=replace(alone.record, served=spec.draft or "good"))
    speculating = replace(measured[1].record.candidate, speculation=replace(spec, draft=spec.draft or "good"))
    measured[1] = replace(measured[1], record=replace(measured[1].record, candidate=speculating))
    (split,) = splits(measured, apart([*measured, alone], [LOAD]))
    assert split.draft_s == pytest.approx(0.004)  # two passes of 2 ms
    assert split.rest_s == pytest.approx(0.006)
    assert split.verification_s is None


def test_n_gram_at_the_same_k_tells_verification(measured: list[Trial], make_trial: Make) -> None:
    ngram = make_trial(2, k=2, draft="ngram", method="ngram", loads=[LOAD], tpot=0.023, acceptance=[0.0, 0.0])
    trials = [*measured, ngram]
    of = {split.candidate.draft_name: split for split in splits(trials, apart(trials, [LOAD]))}
    good = of["good"]
    assert good.verification_s == pytest.approx(0.003, rel=0.05)
    assert good.draft_s == pytest.approx(0.007, rel=0.05)
    assert good.rest_s == 0.0  # nothing that only rounding leaves over
    assert of["ngram"].draft_s is None


def test_the_parts_add_up(measured: list[Trial], make_trial: Make) -> None:
    ngram = make_trial(2, k=2, draft="ngram", method="ngram", loads=[LOAD], tpot=0.05, acceptance=[0.0, 0.0])
    trials = [*measured, ngram]
    for split in splits(trials, apart(trials, [LOAD])):
        parts = (split.plain_s, split.draft_s or 0.0, split.verification_s or 0.0, split.rest_s)
        assert sum(parts) == pytest.approx(split.step_s)
        assert min(parts) >= 0.0


def test_a_step_shorter_than_a_plain_one_has_no_other_part(make_trial: Make) -> None:
    fast = [make_trial(0, loads=[LOAD], tpot=0.02), make_trial(1, k=1, loads=[LOAD], tpot=0.009, acceptance=[1.0])]
    (split,) = splits(fast)
    assert split.plain_s == pytest.approx(split.step_s) == pytest.approx(0.018)
    assert split.rest_s == 0.0


def test_nothing_is_said_of_a_candidate_without_a_baseline_of_its_own(make_trial: Make) -> None:
    trials = [make_trial(0, loads=[LOAD]), make_trial(1, k=2, loads=[LOAD], args={"max_num_seqs": 8})]
    assert splits(trials) == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.floats(0.005, 0.05), min_size=1, max_size=2), st.lists(st.floats(0.005, 0.05), min_size=2, max_size=2)
)
def test_a_step_is_its_own_seconds_however_the_baseline_drifted(
    make_trial: Make, lives: list[float], tpots: list[float]
) -> None:
    """The seconds of a step are its TPOT times its tokens; those of a plain step are of all lives, as ratios are."""
    trials = [make_trial(0, loads=[LOAD], tpot=lives[0])]
    trials += [
        make_trial(k, k=k, loads=[LOAD], tpot=tpot, acceptance=[0.6, 0.4][:k]) for k, tpot in enumerate(tpots, start=1)
    ]
    trials += [make_trial(3 + i, loads=[LOAD], tpot=tpot, role=Role.BASELINE_AGAIN) for i, tpot in enumerate(lives[1:])]
    mean = geometric_mean(lives)
    found = splits(trials)
    assert len(found) == 2
    for split in found:
        tokens = split.load.figures["effective_tokens_per_step"].value or 0.0
        step = tpots[split.candidate.k - 1] * tokens
        assert split.step_s == pytest.approx(step)
        assert split.plain_s == pytest.approx(min(step, mean))
        assert split.growth.value == pytest.approx(step / mean)
        assert split.plain_s + split.rest_s == pytest.approx(split.step_s)
