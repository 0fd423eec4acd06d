"""A sweep from the command line ends in the registry, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.cli import main
from tuner.registry import Registry

SPACE = """
target: simulated
drafts: [{name: good, method: draft_model, model: good, k: [2]}]
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 8}]
protocol: {repeats: 1, lives: 1, warmup_requests: 0, reduced: "A test."}
"""
PROMPTS = '{"id": "a", "category": "c", "prompt": "one two"}\n{"id": "b", "category": "c", "prompt": "three four"}\n'
SWEEP = ("sweep", "--space", "space.yaml", "--engine", "sim", "--out", "run", "--json", "--quiet")


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUNER_REGISTRY", raising=False)
    Path("space.yaml").write_text(SPACE)
    Path("prompts.jsonl").write_text(PROMPTS)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert isinstance(exit_.value.code, int)
    return exit_.value.code, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_a_finished_sweep_is_kept_once_and_can_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    code, closing = run(capsys, *SWEEP, "--no-registry")
    assert (code, closing["registry_entry"], Path("artifacts").exists()) == (0, None, False)
    # The measurements are there already: this keeps them, and a third call finds them kept.
    entries = [run(capsys, *SWEEP)[1]["registry_entry"] for _ in range(2)]
    assert entries[0] == entries[1] is not None
    (entry,) = Registry("artifacts").entries("simulated").entries
    assert entry.url == entries[0]
    kept = {path.relative_to(entry.url).as_posix() for path in Path(entry.url).rglob("*") if path.is_file()}
    assert {"best_config.yaml", "serve.yaml", "serve.baseline.yaml", "serve.env", "report.md", "run.json"} <= kept
    assert sum(name.endswith("/record.json") for name in kept) == 3
    assert not any(name.endswith((".log", ".parquet", ".db", ".png")) for name in kept)
    assert run(capsys, "check", "simulated", "--json")[1]["fresh"]
    assert len(run(capsys, "history", "simulated", "--json")[1]["sweeps"]) == 1  # type: ignore[arg-type]


def test_an_unusable_registry_is_told_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    for registry in ("file", "s3://bucket/x"):
        code, closing = run(capsys, *SWEEP, "--registry", registry)
        assert (code, closing["exit_code"]) == (2, 2)
    assert not Path("run").exists()
