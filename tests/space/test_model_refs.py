from pathlib import Path

import pytest

from tuner.errors import SpaceError
from tuner.records import Candidate, Speculation
from tuner.space.model_refs import resolve_candidate, resolve_model


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, a shared model folder and a cache of the test's own."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TUNER_MODELS", str(tmp_path / "models"))
    return tmp_path


def test_a_demo_model_is_in_the_cache(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_model("demo:good") == str(here / "cache/models/smollm2-demo/good")
    monkeypatch.delenv("TUNER_CACHE")
    monkeypatch.setenv("HOME", "/home/someone")
    assert resolve_model("demo:good") == "/home/someone/.cache/spec-tuner/models/smollm2-demo/good"


@pytest.mark.parametrize("ref", ["demo:", "demo:../x", "demo:a/b", "demo:/etc", "demo:.."])
def test_a_demo_name_leads_nowhere_else(ref: str) -> None:
    with pytest.raises(SpaceError, match="no demo model"):
        resolve_model(ref)


def test_an_unknown_demo_model_gets_the_nearest_one() -> None:
    with pytest.raises(SpaceError, match="the nearest is 'demo:target'") as caught:
        resolve_model("demo:taget")
    assert "demo:weak" in caught.value.next_step


def test_a_directory_here_comes_before_one_in_the_shared_folder(here: Path) -> None:
    (here / "models/draft").mkdir(parents=True)
    assert resolve_model("draft") == str(here / "models/draft")
    (here / "work/draft").mkdir()
    assert resolve_model("draft") == str(here / "work/draft")


def test_a_hub_id_stays_as_it_is() -> None:
    assert resolve_model("Qwen/Qwen2.5-0.5B-Instruct") == "Qwen/Qwen2.5-0.5B-Instruct"


def test_what_is_written_as_a_path_is_one_even_if_nothing_is_there(here: Path) -> None:
    assert resolve_model("./draft") == str(here / "work/draft")
    assert resolve_model("/no/where") == "/no/where"
    assert resolve_model("~/m") == str(Path.home() / "m")


def test_a_candidate_is_resolved_but_for_import_paths(here: Path) -> None:
    resolved = resolve_candidate(Candidate({}, Speculation("draft_model", 3, "good", "demo:good")))
    assert resolved.speculation is not None
    assert resolved.speculation.draft == str(here / "cache/models/smollm2-demo/good")
    (here / "work/pkg.Proposer").mkdir()
    custom = Candidate({}, Speculation("custom_class", 3, "mine", "pkg.Proposer"))
    assert resolve_candidate(custom) == custom
    assert resolve_candidate(Candidate()) == Candidate()


def test_a_web_address_is_answered_with_its_hub_id() -> None:
    with pytest.raises(SpaceError, match="web address") as raised:
        resolve_model("https://huggingface.co/org/model/tree/main")
    assert "org/model" in raised.value.next_step.split()
