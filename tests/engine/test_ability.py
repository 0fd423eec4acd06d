from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import candidate
from tuner.engine import ability as ability_module
from tuner.engine.ability import Ability, ability, lacking_packages, split
from tuner.engine.help import EngineHelp, NoHelp
from tuner.engine.resolve import SIM_VERSION, Engine
from tuner.errors import EngineNotFound, SpaceError
from tuner.records import Candidate
from tuner.space.schema import load_space
from tuner.space.search_space import SearchSpace

KNOWN = Engine("vllm", sys.executable, "0.32.0", "cuda")
NEW = Engine("vllm", sys.executable, "0.40.0", "cuda")


def space(tmp_path: Path, method: str = "ngram", more: str = "") -> SearchSpace:
    path = tmp_path / "space.yaml"
    path.write_text(f"k: 3\ndrafts: [{{method: {method}}}]\nload_points: [{{eval_set: chat}}]\n{more}")
    return load_space(str(path))


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make every engine's help have three flags; return the versions that were asked."""
    asked: list[str] = []

    def help_of(engine: Engine) -> EngineHelp:
        asked.append(engine.version)
        return EngineHelp(frozenset({"--model", "--speculative-config", "--brand-new"}), frozenset({"ngram"}))

    monkeypatch.setattr(ability_module, "engine_help", help_of)
    return asked


def test_a_known_engine_is_judged_by_the_tables_alone(tmp_path: Path, says: list[str]) -> None:
    found = ability(space(tmp_path), KNOWN)
    assert (found.help, found.note, found.notices, says) == (None, "", (), [])
    assert found.refusal(candidate(3)) is None
    assert "came with 0.33.0" in (found.refusal(Candidate({"watchdog_config": "x"})) or "")


def test_a_newer_engine_is_asked_itself(tmp_path: Path, says: list[str]) -> None:
    found = ability(space(tmp_path), NEW)
    assert says == ["0.40.0"]
    assert [(n.code, n.what, n.evidence["help_read"]) for n in found.notices] == [
        ("engine_beyond_the_tables", found.note, True)
    ]
    assert "vLLM 0.40.0 is newer than 0.33.0" in found.note and "checked against its own --help" in found.note
    assert found.refusal(candidate(3, method="ngram")) is None
    assert "--max-model-len" in (found.refusal(Candidate({"max_model_len": 9})) or "")
    assert "draft_model" in (found.refusal(candidate(3)) or "")


def test_a_flag_that_no_table_has_is_looked_for_in_the_help_of_any_release(tmp_path: Path, says: list[str]) -> None:
    found = ability(space(tmp_path, more="unchecked_engine_args: {brand_new: 1, other_new: 2}"), KNOWN)
    assert says == ["0.32.0"]
    assert found.note == ""
    assert found.refusal(Candidate({"brand_new": 1})) is None
    assert "--other-new" in (found.refusal(Candidate({"other_new": 2})) or "")


def test_an_engine_that_tells_nothing_is_used_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_help(engine: Engine) -> EngineHelp:
        raise NoHelp(f"vLLM {engine.version} took longer than 240 s to print its help.", "")

    monkeypatch.setattr(ability_module, "engine_help", no_help)
    found = ability(space(tmp_path), NEW)
    assert "could not be checked against its own --help (vLLM 0.40.0 took longer" in found.note
    assert found.refusal(candidate(3)) is None
    unknown = ability(space(tmp_path, more="unchecked_engine_args: {brand_new: 1}"), KNOWN)
    assert unknown.note.startswith("brand_new: not among the flags that the tuner knows; they could not be checked")


def test_the_simulated_engine_is_never_asked(tmp_path: Path, says: list[str]) -> None:
    simulated = Engine("sim", sys.executable, SIM_VERSION, "sim")
    found = ability(space(tmp_path, "suffix", "unchecked_engine_args: {brand_new: 1}"), simulated)
    assert (found.lacking, found.help, says) == (frozenset(), None, [])


def test_a_package_that_the_engines_environment_lacks_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lacking_packages(sys.executable, ["arctic-inference"]) == {"arctic-inference"}
    assert "arctic-inference" in (
        ability(space(tmp_path, "suffix"), KNOWN).refusal(candidate(3, method="suffix")) or ""
    )
    (tmp_path / "site" / "arctic_inference").mkdir(parents=True)
    (tmp_path / "site" / "arctic_inference" / "__init__.py").write_text("raise SystemExit('must not be imported')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    assert lacking_packages(sys.executable, ["arctic-inference"]) == frozenset()
    assert ability(space(tmp_path, "suffix"), KNOWN).refusal(candidate(3, method="suffix")) is None


def test_nothing_is_run_where_no_method_needs_a_package(tmp_path: Path) -> None:
    nowhere = Engine("vllm", "/no/such/python", "0.32.0", "cuda")
    assert ability(space(tmp_path), nowhere).lacking == frozenset()
    with pytest.raises(EngineNotFound, match="/no/such/python"):
        ability(space(tmp_path, "suffix"), nowhere)


def test_what_an_engine_cannot_run_is_listed_with_its_reason(tmp_path: Path) -> None:
    asked = space(
        tmp_path, "ngram}, {method: ngram_gpu}, {method: medusa, model: a/b", "choices: {dtype: [auto, half]}"
    )
    possible, impossible = split(asked, Ability(Engine("vllm", sys.executable, "0.33.0", "cpu")))
    assert [c.label for c in possible if c.speculation is None] == [c.label for c in possible[:2]]
    assert {c.speculation.method for c in possible if c.speculation} == {"ngram"}
    reasons = {c.speculation.method: reason for c, reason in impossible if c.speculation}
    assert "does not run on the cpu build" in reasons["ngram_gpu"]
    assert "the last release with it is 0.32.0" in reasons["medusa"]
    assert len(impossible) == 4


def test_an_engine_that_can_run_no_draft_is_refused_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(
        SpaceError, match="none of the drafts: method ngram_gpu does not run on the cpu build"
    ) as caught:
        split(space(tmp_path, "ngram_gpu"), Ability(Engine("vllm", sys.executable, "0.33.0", "cpu")))
    assert "tuner methods" in caught.value.next_step


def test_an_engine_that_cannot_start_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=r"cannot start: vLLM 0\.33\.0 no longer has --swap-space"):
        split(space(tmp_path, more="engine_args: {swap_space: 4}"), Ability(Engine("vllm", "p", "0.33.0", "cuda")))
