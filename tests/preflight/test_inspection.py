"""A space's models, looked at together: what is refused, what is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tuner.errors import ModelError
from tuner.preflight import inspection
from tuner.preflight.examine import Examined, by_level, needs_tokens, refusal, sentence
from tuner.preflight.inspection import Asked, Inspected, inspect_models, left, with_memory
from tuner.preflight.memory import Device
from tuner.records import Json, LoadPoint
from tuner.records.notice import Level, Notice
from tuner.space.candidates import candidates
from tuner.space.search_space import DraftSpec, SearchSpace

MakeFiles = Callable[..., Path]
SHUFFLED = {"<unk>": 0, "<s>": 1, "</s>": 2, "c": 3, "a": 4, "b": 5}


@pytest.fixture(autouse=True)
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "read_device", lambda build: None)


def space(
    target: Path,
    drafts: Mapping[str, Path],
    choices: Mapping[str, tuple[Json, ...]] | None = None,
    args: Mapping[str, Json] | None = None,
) -> SearchSpace:
    specs = tuple(DraftSpec(name, "draft_model", str(path), {}, (1, 3)) for name, path in drafts.items())
    ngram = DraftSpec("ngram", "ngram", None, {}, (3,))
    return SearchSpace(
        "s", "", str(target), (*specs, ngram), (LoadPoint("chat"),), engine_args=args or {}, choices=choices or {}
    )


def inspected(asked: SearchSpace, build: str = "cpu") -> Inspected:
    target = str(asked.target)
    return inspect_models(Asked(asked, candidates(asked), target, target, sys.executable, "0.32.0", build))


def test_a_wrong_draft_leaves_the_others(make_files: MakeFiles) -> None:
    asked = space(make_files(), {"good": make_files("good"), "bad": make_files("bad", vocab_size=8)})
    found = inspected(asked)
    errors = [notice for notice in found.examined.notices if notice.level is Level.ERROR]
    assert [(notice.code, notice.subject) for notice in errors] == [("padded_vocab_size", "bad")]  # once, not per K
    assert found.models is not None and found.models.comparisons["bad"].same
    possible, refused = left(candidates(asked), found.examined)
    assert [candidate.label for candidate in possible] == ["no speculation", "good K=1", "good K=3", "ngram K=3"]
    assert len(refused) == 2 and all("vocab_size is 8" in reason for reason in refused.values())


def test_where_no_draft_is_left_every_reason_is_told(make_files: MakeFiles) -> None:
    asked = space(make_files(), {"one": make_files("one", vocab_size=8), "two": make_files("two", rows=9)})
    only = SearchSpace(**{**vars(asked), "drafts": asked.drafts[:2]})
    with pytest.raises(ModelError, match="one: its tokens are the target's") as caught:
        left(candidates(only), inspected(only).examined)
    assert "tuner models pad" in caught.value.next_step and "also: two: config.json says" in caught.value.next_step


def test_a_wrong_target_ends_it(make_files: MakeFiles) -> None:
    asked = space(make_files(rows=9), {"good": make_files("good")})
    with pytest.raises(ModelError, match=r"target: config\.json says vocab_size 6, and the embedding has 9 rows"):
        left(candidates(asked), inspected(asked).examined)


def test_a_wrong_choice_takes_its_group_with_it(make_files: MakeFiles) -> None:
    asked = space(make_files(), {"good": make_files("good")}, {"max_model_len": (64, 4096)})
    possible, refused = left(candidates(asked), inspected(asked).examined)
    assert {candidate.engine_args["max_model_len"] for candidate in possible} == {64}
    assert len(possible) == len(refused) == 4
    assert any(reason.startswith("its baseline cannot start: max_model_len is 4096") for reason in refused.values())


def test_a_space_without_drafts_needs_none(make_files: MakeFiles) -> None:
    asked = SearchSpace("s", "", str(make_files()), (), (LoadPoint("chat"),))
    assert left(candidates(asked), inspected(asked).examined) == (candidates(asked), {})


def test_another_tokenizer_is_a_warning_and_is_tried(make_files: MakeFiles) -> None:
    asked = space(make_files(), {"odd": make_files("odd", tokens=SHUFFLED)})
    found = inspected(asked)
    (notice,) = [n for n in found.examined.notices if n.code == "different_tokenizer_same_size"]
    assert (notice.level, notice.subject) == (Level.WARNING, "odd")
    assert notice.evidence["first_difference"] == [3, "a", "c"]
    assert found.examined.refused == {}


def test_the_targets_tokenizer_may_be_elsewhere(make_files: MakeFiles) -> None:
    target, draft, other = make_files(), make_files("draft", tokens=SHUFFLED), make_files("other", tokens=SHUFFLED)
    asked = space(target, {"draft": draft}, args={"tokenizer": str(other)})
    found = inspected(asked)
    assert found.models is not None and found.models.comparisons["draft"].same


def test_a_draft_without_a_tokenizer_is_compared_by_size(make_files: MakeFiles) -> None:
    draft = make_files("draft")
    (draft / "tokenizer.json").unlink()
    found = inspected(space(make_files(), {"draft": draft}))
    assert "tokens_not_compared" in {notice.code for notice in found.examined.notices}


def test_token_maps_are_read_only_where_a_method_needs_them(make_files: MakeFiles) -> None:
    asked = SearchSpace("s", "", str(make_files()), (DraftSpec("n", "ngram", None, {}, (1,)),), (LoadPoint("chat"),))
    found = inspected(asked)
    assert found.models is not None and found.models.target.vocabulary is None
    assert needs_tokens(["ngram", "draft_model"]) and not needs_tokens(["ngram", "eagle3"])


def test_a_missing_draft_is_an_error_of_the_user(make_files: MakeFiles, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"draft 'gone': .* does not exist"):
        inspected(space(make_files(), {"gone": tmp_path / "gone"}))


def test_what_certainly_does_not_fit_is_refused(make_files: MakeFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = space(make_files(), {"good": make_files("good")})
    monkeypatch.setattr(inspection, "read_device", lambda build: Device("gpu", "a tiny one", 300))
    found = inspected(asked)
    assert len(found.plans) == len(candidates(asked))
    with pytest.raises(ModelError, match="does not fit"):
        left(candidates(asked), found.examined)
    monkeypatch.setattr(inspection, "read_device", lambda build: Device("gpu", "a large one", 10**12))
    assert inspected(asked).examined.refused == {}


def test_what_rules_say_stands_before_what_memory_says() -> None:
    told = Examined((Notice("a", Level.HINT, "x", "y"),), {"k": "rule"})
    assert with_memory(told, (), (Notice("b", Level.ERROR, "x", "y"),)) == Examined(
        (Notice("b", Level.ERROR, "x", "y"), Notice("a", Level.HINT, "x", "y")), {"k": "rule"}
    )


def test_notices_are_told_in_sentences() -> None:
    hint, error = Notice("a", Level.HINT, "good", "it is slow", "Look."), Notice("b", Level.ERROR, "target", "it fails")
    assert by_level([hint, error]) == (error, hint)
    assert (sentence(hint), sentence(error)) == ("good: it is slow. Look.", "target: it fails.")
    assert str(refusal([error, hint])) == "target: it fails\n\nalso: good: it is slow. Look."
