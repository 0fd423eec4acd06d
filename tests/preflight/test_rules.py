"""Each rule speaks where it should, and is silent where it should be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.preflight.rule_building import Case, draft, files, parameters, plain, setting, with_tokens, words
from tests.preflight.rule_cases import CASES
from tuner.preflight.examine import Models, examine
from tuner.preflight.rules import DRAFT_RULES, TARGET_RULES, Setting
from tuner.preflight.rules.sizes import small_target
from tuner.preflight.rules.vocabulary import padded_size
from tuner.records import Candidate, Speculation
from tuner.records.notice import Level

RULES = (*TARGET_RULES, *DRAFT_RULES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule.__name__}-{case.code}")
def test_a_rule_speaks_of_what_is_wrong(case: Case) -> None:
    notice = case.rule(case.fires)
    assert notice is not None
    assert (notice.code, notice.level) == (case.code, case.level)
    assert notice.subject == ("target" if case.rule in TARGET_RULES else "draft")
    assert notice.what and not notice.what.endswith(".")
    assert notice.next_step or notice.level is Level.HINT
    assert not notice.next_step or notice.next_step.endswith((".", "?"))


@pytest.mark.parametrize(
    ("case", "silent"),
    [(case, silent) for case in CASES for silent in case.silent],
    ids=lambda value: value.rule.__name__ if isinstance(value, Case) else "",
)
def test_a_rule_is_silent_where_nothing_is_wrong(case: Case, silent: Setting) -> None:
    assert case.rule(silent) is None


def test_every_rule_has_both_cases() -> None:
    for rule in RULES:
        cases = [case for case in CASES if case.rule is rule]
        assert cases, rule
        assert any(case.silent for case in cases), rule


def test_no_rule_speaks_of_a_sound_pair() -> None:
    sound = setting(with_tokens(), draft(tokens=words()))
    assert [notice for rule in DRAFT_RULES if (notice := rule(sound))] == []


@pytest.mark.parametrize(("version", "offered"), [("0.24.0", False), ("0.32.0", True)])
def test_heterogeneous_vocabularies_are_offered_where_the_release_has_them(version: str, offered: bool) -> None:
    notice = padded_size(setting(with_tokens(vocab_size=8), draft(tokens=words()), version=version))
    assert notice is not None
    assert ("use_heterogeneous_vocab" in notice.next_step) is offered
    assert "tuner models pad org/draft OUT --like org/target" in notice.next_step


def test_models_of_which_nothing_is_known_are_no_mistake() -> None:
    empty = files("target", plain=False), files("draft", plain=False)
    for method in ("draft_model", "eagle", "eagle3", "dflash", "dspark"):
        found = [rule(setting(*empty, method=method)) for rule in DRAFT_RULES]
        assert [notice for notice in found if notice and notice.level is Level.ERROR] == []


def test_n_gram_is_not_advised_where_it_is_measured_anyway() -> None:
    small = files(tensors=parameters(1))
    alone, beside = plain(small), replace(plain(small), methods=frozenset({"draft_model", "ngram"}))
    without, with_it = (small_target(setting) for setting in (alone, beside))
    assert without is not None and "n-gram" in without.next_step
    assert with_it is not None and with_it.next_step == ""
    candidates = [Candidate({}), Candidate({}, Speculation("ngram", 3, "ngram", None))]
    (told,) = [n for n in examine(candidates, Models(small), version="0.32.0", build="cpu").notices if n == with_it]
    assert told.code == "small_target"
