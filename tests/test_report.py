"""Reports from recorded and from built runs: no engine is needed."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tuner.errors import NothingMeasured, OutputError
from tuner.records import (
    BarKind,
    Json,
    LoadPoint,
    Protocol,
    RequestSample,
    Role,
    RunManifest,
    SameOutput,
    Trial,
    Verdict,
)
from tuner.report import manifest_json, write_report
from tuner.store import RunStore

RECORDED = Path(__file__).parent / "data" / "h200-14b"
GOLDEN = Path(__file__).parent / "golden"
LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
BUSY = LoadPoint(eval_set="chat", concurrency=16, max_tokens=33)


def manifest(**changes: object) -> RunManifest:
    fields: dict[str, object] = {
        "target": "org/target",
        "space": "test",
        "space_source": "",
        "engine_version": "0.32.0",
        "engine_build": "cuda",
        "load_points": (LOAD, BUSY),
        "protocol": Protocol(),
        "inflection_threshold": 0.01,
        "prompts": {"chat": 6},
        "tuner_version": "1.2.3",
        "env": {"VLLM_X": "1"},
        "repeat_with": ("tuner", "sweep", "org/target"),
    }
    return RunManifest(**{**fields, **changes})  # type: ignore[arg-type]


def write_run(path: Path, trials: list[Trial], of: RunManifest | None = None) -> Path:
    with RunStore.open(path, {"engine": {"version": "0.32.0"}}, manifest_json(of or manifest())) as store:
        for trial in trials:
            store.save(trial)
    return path


def slower_when_busy(factor: float) -> Callable[[LoadPoint, int, int], float]:
    """Return TPOT in seconds: 20 ms / `factor` at concurrency 1, 20 ms x 1.1 at 16, prompts a little apart."""
    return lambda load, prompt, repeat: (
        0.02 * (1 / factor if load.concurrency == 1 else 1.1) * (1 + 0.002 * prompt + 0.0005 * repeat)
    )


@pytest.fixture
def trials(make_trial: Callable[..., Trial]) -> list[Trial]:
    loads = (LOAD, BUSY)
    plain = {"tpot": lambda load, prompt, repeat: 0.02 * (1 + 0.002 * prompt), "loads": loads}
    return [
        make_trial(number=0, **plain, kv_cache_tokens=1000, max_model_len=512),
        make_trial(number=1, k=1, loads=loads, tpot=slower_when_busy(1.4)),
        make_trial(number=2, k=4, loads=loads, tpot=slower_when_busy(1.9), changed_settings=("Disabling X.",)),
        make_trial(number=3, k=8, loads=loads, failure="out of memory"),
        make_trial(number=4, **plain, role=Role.BASELINE_AGAIN),
    ]


def test_a_real_gpu_run_read_again(tmp_path: Path) -> None:
    run = shutil.copytree(RECORDED, tmp_path / "run")
    report = write_report(run)
    (answer,) = report.findings.answers
    assert (answer.verdict, answer.best.label) == (Verdict.SPECULATE_BELOW, "good K=1")
    assert (answer.up_to, answer.below) == (8, 64)
    assert "Provisional" in answer.why
    warnings = " ".join(report.findings.warnings)
    assert "not finished" in warnings
    assert "measured once" in warnings
    assert "using the V1 model runner instead" not in warnings  # it stands beside the result, once
    page = (run / "report.md").read_text(encoding="utf-8")
    assert page.count("speculative method 'draft_model'; using the V1 model runner instead") == 1
    assert (
        page.index("## Why")
        < page.index("## What to keep in mind")
        < page.index("## What the engine changed by itself")
    )
    weak = [curve for curve in answer.curves if curve.draft_name == "weak"]
    assert all(curve.best_k == 0 for curve in weak)
    assert (run / "plots" / "speedup-t0.png").is_file()
    # 10 of 12 texts of that one life differ at concurrency 1, some from the first token on; no other candidate's do.
    barred = {(b.candidate.label, b.bar.kind) for b in report.findings.barred}
    assert barred == {("good K=3", BarKind.OUTPUT_DIFFERS)}


def test_the_page_and_the_artifact_are_as_agreed(tmp_path: Path, trials: list[Trial]) -> None:
    run = write_run(tmp_path / "run", trials)
    write_report(run, finished=True)
    for name in (
        "report.md",
        "best_config.yaml",
        "serve.yaml",
        "serve.speculate.yaml",
        "serve.baseline.yaml",
        "serve.env",
        "alerts.yaml",
    ):
        assert (run / name).read_text(encoding="utf-8") == (GOLDEN / name).read_text(encoding="utf-8"), name


def test_files_of_an_earlier_answer_do_not_stay(tmp_path: Path, trials: list[Trial]) -> None:
    run = write_run(tmp_path / "run", trials)
    write_report(run, finished=True)
    mine = run / "serve-mine.yaml"
    mine.write_text("model: x\n")
    assert (run / "serve.speculate.yaml").is_file()
    slow = [replace(t, samples=tuple(_slower(s) for s in t.samples)) if t.record.candidate.k else t for t in trials]
    other = write_run(tmp_path / "other", slow)
    shutil.rmtree(run / "trials")
    shutil.copytree(other / "trials", run / "trials")
    write_report(run, finished=True)
    assert yaml.safe_load((run / "best_config.yaml").read_text())["verdict"] == "do_not"
    assert not (run / "serve.speculate.yaml").exists()
    assert not (run / "alerts.yaml").exists()
    assert mine.is_file()


def _slower(sample: RequestSample) -> RequestSample:
    """Return the request with five times its TPOT."""
    first, last = sample.first_token_s or 0.0, sample.last_token_s or 0.0
    return replace(sample, last_token_s=first + 5 * (last - first))


def test_a_real_gpu_run_with_device_outputs_and_an_unfinished_round(tmp_path: Path) -> None:
    run = shutil.copytree(RECORDED.parent / "h200-7b", tmp_path / "run")
    findings = write_report(run).findings
    (answer,) = findings.answers
    assert (answer.verdict, answer.lives) == (Verdict.INCONCLUSIVE, 1)
    assert any(w.startswith("0 of 3 fresh lives of the finalists were measured") for w in findings.warnings)
    assert not any("disturbed" in warning for warning in findings.warnings)
    outputs = {
        (trial.candidate.label, load.load_point.concurrency): load.sameness.verdict
        for trial in findings.trials
        for load in trial.loads
        if load.sameness is not None
    }
    assert {verdict for (_, concurrency), verdict in outputs.items() if concurrency == 1} == {SameOutput.IDENTICAL}
    assert outputs["good K=2", 8] is outputs["ngram-gpu K=3", 8] is SameOutput.NEAR_TIES
    page = (run / "report.md").read_text(encoding="utf-8")
    assert "| no speculation | chat, concurrency 1, T=0, up to 128 tokens | 98% | 1980 MHz | 434 W | 40 °C |" in page
    assert "| good K=4 | chat, concurrency 1, T=0, up to 128 tokens | 41% | 1980 MHz | 200 W | 37 °C |" in page
    assert findings.floor["bandwidth_share"].value == pytest.approx(0.63, abs=0.01)
    drift = next(figure for key, figure in findings.drift.items() if "-c1-" in key).value
    assert drift == pytest.approx(1.0, abs=0.002)


def test_the_floor_is_what_reading_the_weights_takes(tmp_path: Path, trials: list[Trial]) -> None:
    """14.4 GB at the H200's 4.8 TB/s are 3 ms of the baseline's 20.1 ms a token."""
    gpu = [replace(t, record=replace(t.record, worker=replace(t.record.worker, device="NVIDIA H200"))) for t in trials]
    run = write_run(tmp_path / "run", gpu, manifest(target_weight_bytes=14_400_000_000))
    report = write_report(run, finished=True)
    assert report.findings.floor["weight_read_s"].value == pytest.approx(0.003)
    share = report.findings.floor["bandwidth_share"].value
    assert share == pytest.approx(0.149, abs=0.001)
    page = (run / "report.md").read_text(encoding="utf-8")
    assert (
        "reading the weights takes 3 ms of each decode step (14.4 GB at 4.8 TB/s): 15% of the baseline's TPOT" in page
    )


def test_writing_the_report_again_changes_nothing(tmp_path: Path, trials: list[Trial]) -> None:
    run = write_run(tmp_path / "run", trials)
    write_report(run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    write_report(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_each_temperature_gets_a_serve_file(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    warm = LoadPoint(eval_set="chat", sampling=type(LOAD.sampling)(temperature=0.7), max_tokens=33)
    both = (LOAD, warm)
    built = [
        make_trial(number=0, loads=both, tpot=lambda load, prompt, repeat: 0.02 + 0.0001 * prompt),
        make_trial(
            number=1,
            k=2,
            loads=both,
            tpot=lambda load, prompt, repeat: (0.01 if load is LOAD else 0.03) + 0.0001 * prompt,
        ),
    ]
    run = write_run(tmp_path / "run", built, manifest(load_points=both))
    write_report(run)
    assert "speculative-config" in yaml.safe_load((run / "serve.yaml").read_text())
    assert "speculative-config" not in yaml.safe_load((run / "serve-t0.7.yaml").read_text())


def test_a_candidate_that_left_the_space_decides_nothing(tmp_path: Path, trials: list[Trial]) -> None:
    present = tuple(trial.record.candidate.key for trial in trials if trial.record.candidate.k != 4)
    report = write_report(write_run(tmp_path / "run", trials, manifest(candidates=present)))
    assert report.findings.answers[0].best.k == 1
    assert all(point.k != 4 for curve in report.findings.answers[0].curves for point in curve.points)


def test_what_must_not_be_deployed_is_read_from_the_records(tmp_path: Path, trials: list[Trial]) -> None:
    def by_chance(trial: Trial) -> Trial:
        spec = trial.record.candidate.speculation
        if spec is None or spec.num_speculative_tokens != 4:
            return trial
        options: dict[str, Json] = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 4}
        candidate = replace(trial.record.candidate, speculation=replace(spec, options=options))
        return replace(trial, record=replace(trial.record, candidate=candidate))

    report = write_report(write_run(tmp_path / "run", [by_chance(trial) for trial in trials]))
    assert report.findings.answers[0].best.k == 1


def test_a_simulated_engine_and_an_unfinished_run_are_warned_of(tmp_path: Path, trials: list[Trial]) -> None:
    run = write_run(tmp_path / "run", trials, manifest(engine_build="sim"))
    warnings = " ".join(write_report(run).findings.warnings)
    assert "simulated engine: these figures describe no real model" in warnings
    assert "not finished" in warnings
    with RunStore.open(run, {"engine": {"version": "0.32.0"}}, manifest_json(manifest())) as store:
        store.finish({})
    warnings = " ".join(write_report(run).findings.warnings)
    assert "simulated" not in warnings
    assert "not finished" not in warnings


def test_a_full_disk_is_said_plainly(tmp_path: Path, trials: list[Trial], monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", trials)

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tuner.report.write_atomic", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_report(run)


def test_curves_in_the_artifact_say_their_engine_arguments(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    built = [
        make_trial(number=2 * i + j, k=2 * j, tpot=0.02 - 0.005 * j, args={"max_num_seqs": seqs})
        for i, seqs in enumerate((8, 64))
        for j in (0, 1)
    ]
    run = write_run(tmp_path / "run", built, manifest(load_points=(LOAD,)))
    write_report(run)
    (answer,) = yaml.safe_load((run / "best_config.yaml").read_text())["answers"]
    assert [curve["engine_args"] for curve in answer["measured"]["curves"]] == [
        {"max_num_seqs": 8},
        {"max_num_seqs": 64},
    ]


def test_no_run_and_no_baseline_are_said_plainly(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    with pytest.raises(OutputError):
        write_report(tmp_path)
    run = write_run(tmp_path / "run", [make_trial(number=0, failure="out of memory")])
    with pytest.raises(NothingMeasured, match="out of memory"):
        write_report(run)
    assert not (run / "best_config.yaml").exists()


def test_who_is_barred_is_in_the_artifact_and_on_the_page(
    tmp_path: Path, trials: list[Trial], make_trial: Callable[..., Trial]
) -> None:
    empty = make_trial(number=1, k=1, loads=(LOAD, BUSY), tpot=slower_when_busy(9.0))
    empty = replace(empty, samples=tuple(replace(sample, text="") for sample in empty.samples))
    run = write_run(tmp_path / "run", [trials[0], empty, *trials[2:]])
    write_report(run)
    (barred,) = yaml.safe_load((run / "best_config.yaml").read_text())["barred"]
    assert (barred["candidate"], barred["temperature"], barred["kind"]) == ("good K=1", 0.0, "degenerate_text")
    assert barred["text"].startswith(f"{LOAD.label}: 100% of its answers, 0% of the baseline's, are empty")
    assert f"good K=1 cannot win: {barred['text']}" in (run / "report.md").read_text()


def test_one_category_of_prompts_is_not_named_as_the_worst(tmp_path: Path, trials: list[Trial]) -> None:
    of_one = [replace(t, samples=tuple(replace(s, category="chat") for s in t.samples)) for t in trials]
    run = write_run(tmp_path / "run", of_one)
    write_report(run)
    page = (run / "report.md").read_text()
    assert "worst category" not in page
    assert "gains least" not in page
    loads = yaml.safe_load((run / "best_config.yaml").read_text())["answers"][0]["measured"]["load_points"]
    assert [load["worst_category"] for load in loads] == [None, None]
    assert list(loads[0]["categories"]) == ["chat"]
