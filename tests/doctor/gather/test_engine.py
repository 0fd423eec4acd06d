import sys
from pathlib import Path

import pytest

from tuner.doctor.gather.engine import engine_facts, own_packages
from tuner.errors import EngineNotFound


def test_the_tuners_own_packages_are_those_that_it_requires() -> None:
    found = own_packages()
    assert {"ray", "optuna", "pandas", "nvidia-ml-py"} <= found.found.keys()
    assert "pytest" not in found.found and "vllm" not in found.found
    assert found.missing == ()
    assert found.executable == sys.executable


def test_the_simulated_engine_needs_no_packages() -> None:
    assert engine_facts("sim", 5.0).build == "sim"


def test_an_engine_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound):
        engine_facts(str(tmp_path), 5.0)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """An environment with packages that consist of nothing but their metadata."""
    site = tmp_path / f"venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    for name, version in (("vllm", "0.30.1"), ("torch", "2.9.0"), ("arctic_inference", "0.1.1")):
        metadata = site / f"{name}-{version}.dist-info/METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("raise ImportError('imported')\n")
    (site / "torch/version.py").write_text("from typing import Optional\ncuda: Optional[str] = '12.8'\nhip = None\n")
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir()
    python.symlink_to(Path(sys.executable).resolve())
    (tmp_path / "venv/pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    return tmp_path / "venv"


def test_an_engine_is_read_without_importing_it(engine: Path) -> None:
    found = engine_facts(str(engine), 20.0)
    assert (found.version, found.build, found.torch_cuda) == ("0.30.1", "cuda", "12.8")
    assert found.found == {"vllm": "0.30.1", "torch": "2.9.0", "arctic-inference": "0.1.1"}
    assert found.python == str(engine / "bin/python")
