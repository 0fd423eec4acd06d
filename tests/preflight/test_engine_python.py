from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tuner.errors import EngineNotFound
from tuner.preflight import engine_python
from tuner.preflight.engine_python import ScriptFailed, run_script


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(engine_python, "SCRIPTS", tmp_path)
    return tmp_path / "script.py"


def test_the_answer_comes_back_and_the_hub_is_off(script: Path) -> None:
    script.write_text(
        "import json, os, sys\n"
        "print('a library says hello')\n"
        "json.dump({'got': json.load(sys.stdin), 'offline': os.environ.get('HF_HUB_OFFLINE')}, sys.stdout)"
    )
    assert run_script(sys.executable, "script.py", {"a": "ü"}) == {"got": {"a": "ü"}, "offline": "1"}
    assert run_script(sys.executable, "script.py", {}, offline=False)["offline"] is None


def test_the_last_line_of_a_traceback_is_the_reason(script: Path) -> None:
    script.write_text("raise KeyError('vocab')")
    with pytest.raises(ScriptFailed, match=r"script.py failed in .*: KeyError: 'vocab'"):
        run_script(sys.executable, "script.py", {})


def test_a_missing_package_is_the_engines_fault(script: Path) -> None:
    script.write_text("import no_such_package_anywhere")
    with pytest.raises(EngineNotFound, match="no_such_package_anywhere") as caught:
        run_script(sys.executable, "script.py", {})
    assert "vLLM" in caught.value.next_step


def test_a_script_that_hangs_is_stopped(script: Path) -> None:
    script.write_text("import time; time.sleep(60)")
    with pytest.raises(ScriptFailed, match="took longer than"):
        run_script(sys.executable, "script.py", {}, timeout_s=0.3)
