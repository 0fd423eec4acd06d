"""The installed vLLM's own help, against the tables. No engine is started; it takes as long as importing torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import candidate
from tuner.engine.ability import ability, split
from tuner.engine.help import engine_help
from tuner.engine.resolve import resolve_engine
from tuner.records import Candidate
from tuner.space.engine_flags import MANAGED, SWITCHES, VALUES, engine_arg_unavailable, known_engine_args
from tuner.space.methods import METHODS
from tuner.space.schema import load_space
from tuner.space.versions import version_row

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_the_tables_have_the_flags_of_the_installed_engine() -> None:
    engine = resolve_engine(None)
    if not version_row(engine.version).known:
        pytest.skip(f"the tables end before {engine.version}")
    there = {flag[2:].replace("-", "_") for flag in engine_help(engine).flags} - {"help"}
    known = known_engine_args() | set(MANAGED)
    assert {name for name in there if name not in known and name.removeprefix("no_") not in known} == set()
    ours = {name for name in SWITCHES | VALUES if engine_arg_unavailable({name: 1}, engine.version) is None}
    assert ours - there == set()


def test_an_engine_that_seems_newer_is_judged_by_its_help(tmp_path: Path) -> None:
    engine = replace(resolve_engine(None), version="9.0.0")
    path = tmp_path / "space.yaml"
    text = (
        "k: 3\nengine_args: {{max_model_len: 512{}}}\ndrafts: [{{method: ngram}}]\nload_points: [{{eval_set: chat}}]\n"
    )
    path.write_text(text.format(""))
    found = ability(load_space(str(path)), engine)
    assert found.help is not None and "newer than" in found.note
    assert {c.k for c in split(load_space(str(path)), found)[0]} == {0, 3}
    assert "--no-such-flag" in (found.refusal(Candidate({"no_such_flag": 1})) or "")
    assert {name for name in METHODS if found.help.method_refusal(name)} <= {"medusa", "mlp_speculator"}
    assert found.refusal(candidate(3, method="ngram")) is None
