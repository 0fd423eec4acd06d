"""Acceptance next to zero at every position."""

from __future__ import annotations

from dataclasses import replace

from tests.analysis.diagnoses.seeing import C1, Make, drifting, said, seen, the
from tuner.records import Confidence, Level, Notice, Sampling

NEVER = (0.01, 0.0, 0.0)


def test_next_to_no_acceptance_is_another_vocabulary_and_not_a_weak_draft(make_trial: Make) -> None:
    sweep = seen([make_trial(tpot=drifting(0.02)), make_trial(1, k=3, acceptance=NEVER, tpot=drifting(0.04))])
    one = the("vocabulary_mismatch", sweep)
    assert one.confidence is Confidence.MEDIUM and one.subject == "good"
    assert "at most 1 % of its first tokens are accepted" in one.evidence[0]
    assert said("draft_too_weak", sweep) == []


def test_what_preflight_said_makes_it_clear(make_trial: Make) -> None:
    trials = [make_trial(tpot=drifting(0.02)), make_trial(1, k=3, acceptance=NEVER, tpot=drifting(0.04))]
    told = Notice("different_tokenizer_same_size", Level.WARNING, "good", "its tokenizer is another one")
    one = the("vocabulary_mismatch", seen(trials, notices=(told,)))
    assert one.confidence is Confidence.HIGH
    assert one.evidence[1] == "before the start, of good: its tokenizer is another one"
    for other in (replace(told, subject="another draft"), replace(told, code="padded_vocab_size")):
        assert the("vocabulary_mismatch", seen(trials, notices=(other,))).confidence is Confidence.MEDIUM


def test_sampling_can_also_be_why_so_it_is_only_possible_above_temperature_0(make_trial: Make) -> None:
    warm = replace(C1, sampling=Sampling(temperature=1.0))
    trials = [make_trial(tpot=drifting(0.02), loads=(warm,))]
    trials.append(make_trial(1, k=3, acceptance=NEVER, tpot=drifting(0.04), loads=(warm,)))
    assert the("vocabulary_mismatch", seen(trials, (warm,))).confidence is Confidence.LOW


def test_a_head_was_made_for_another_target(make_trial: Make) -> None:
    trials = [make_trial(tpot=drifting(0.02))]
    trials.append(make_trial(1, k=3, method="eagle3", acceptance=NEVER, tpot=drifting(0.04)))
    assert "trained for exactly this target" in the("head_of_another_target", seen(trials)).next_step
    assert said("vocabulary_mismatch", seen(trials)) == []


def test_a_weak_draft_and_ngram_without_a_model_have_no_other_vocabulary(make_trial: Make) -> None:
    weak = make_trial(1, k=3, acceptance=(0.3, 0.1, 0.0), tpot=drifting(0.04))
    ngram = make_trial(2, k=3, draft="ngram", method="ngram", acceptance=NEVER, tpot=drifting(0.04))
    sweep = seen([make_trial(tpot=drifting(0.02)), weak, ngram])
    assert said("vocabulary_mismatch", sweep) == said("head_of_another_target", sweep) == []
