"""From a request to what a sweep needs: what is compared with earlier runs, and what the engines are given."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tuner import prepare as module
from tuner.engine.ability import Ability
from tuner.engine.plan import plan
from tuner.engine.resolve import Engine
from tuner.errors import SpaceError
from tuner.preflight.examine import Examined
from tuner.preflight.inspection import NOT_INSPECTED, Asked, Inspected
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import RunManifest, Traffic
from tuner.records.notice import Level, Notice
from tuner.space.search_space import SearchSpace

SPACE = """
target: {target}
env: {{VLLM_OWN: "1"}}
drafts:
  - {{name: good, method: draft_model, model: {draft}, k: [1, 3]}}
load_points:
  - {{eval_set: chat, max_tokens: 24}}
"""
PROFILE = "targets: [{match: '*', step_s: 0.004}]\n"


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.yaml").write_text(PROFILE)
    return tmp_path


def prepared(target: str = "simulated", draft: str = "good", engine: str = "sim:sim.yaml") -> Prepared:
    Path("space.yaml").write_text(SPACE.format(target=target, draft=draft))
    return prepare(SweepRequest(space="space.yaml", engine=engine))


def model(path: Path, config: str = "{}") -> str:
    path.mkdir(parents=True)
    (path / "config.json").write_text(config)
    return str(path)


def test_the_manifest_names_every_candidate_that_can_run() -> None:
    found = prepared()
    assert found.manifest.candidates == tuple(candidate.key for candidate in found.candidates)
    assert found.manifest.target_weight_bytes is None  # The simulated engine has no weights.
    assert len(found.candidates) == 3
    assert found.manifest.draft_ks == {"good": (1, 3)}
    assert found.manifest.traffic is None


def test_what_the_engine_cannot_run_is_listed_and_its_newness_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def newer(space: SearchSpace, engine: Engine) -> Ability:
        return Ability(engine, note="this engine is new")

    monkeypatch.setattr(module, "ability", newer)
    more = "  - {method: ngram, options: {disable_by_batch_size: 8}, k: 2}\nload_points:"
    Path("space.yaml").write_text(SPACE.format(target="simulated", draft="good").replace("load_points:", more))
    found = prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))
    assert {c.draft_name for c in found.candidates} == {"none", "good"}
    (label,) = found.manifest.unavailable
    assert "the last release with it is 0.16.0" in found.manifest.unavailable[label]
    assert list(found.refused.values()) == [found.manifest.unavailable[label]]
    assert "this engine is new" in found.notes
    assert [notice.what for notice in found.manifest.notices] == ["this engine is new"]
    assert f"not tried: {label}: {found.manifest.unavailable[label]}" in found.notes


def test_traffic_is_kept_with_the_run_and_is_no_part_of_what_identifies_it(workshop: Path) -> None:
    before = prepared()
    (workshop / "running.json").write_text(
        '{"data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[0, "1"], [15, "0"], [30, "1"]]}]}}'
    )
    more = SPACE.format(target="simulated", draft="good") + "traffic: {prometheus: running.json}\n"
    Path("space.yaml").write_text(more)
    after = prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))
    assert after.manifest.traffic == Traffic({1: 1.0}, "running.json", 3, 1)
    assert after.fingerprint == before.fingerprint
    assert after.notes == before.notes
    Path("space.yaml").write_text(more.replace("{prometheus: running.json}", "{shares: {1: 0.5, 2: 0.5}}"))
    found = prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml"))
    assert "traffic: 50% of the busy time is at a concurrency above 1 (up to 2)" in found.notes[-1]


def test_inherited_variables_that_shape_the_engine_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prepared()
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    assert prepared().fingerprint == before.fingerprint
    monkeypatch.setenv("VLLM_ATTENTION_BACKEND", "X")
    after = prepared()
    assert after.fingerprint != before.fingerprint
    assert after.manifest.env["VLLM_ATTENTION_BACKEND"] == "X"
    assert after.manifest.env["VLLM_OWN"] == "1"


def test_an_edited_profile_is_another_engine_and_a_moved_one_is_not(workshop: Path) -> None:
    before = prepared().fingerprint
    (workshop / "moved.yaml").write_text(PROFILE)
    assert prepared(engine="sim:moved.yaml").fingerprint == before
    (workshop / "sim.yaml").write_text(PROFILE.replace("0.004", "0.005"))
    assert prepared().fingerprint != before


def test_a_moved_copy_is_the_same_model_and_other_content_is_not(workshop: Path) -> None:
    one, copy, other = (model(workshop / name, name[:1]) for name in ("a1", "a2", "b"))
    assert prepared(target=one, draft=one).fingerprint == prepared(target=copy, draft=copy).fingerprint
    assert prepared(target=one).fingerprint != prepared(target=other).fingerprint
    assert prepared(draft=one).fingerprint != prepared(draft=other).fingerprint


def test_a_draft_from_the_hub_is_known_by_its_snapshot(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = [model(workshop / name, name) for name in ("old", "new")]
    monkeypatch.setattr(module, "resolve_engine", lambda spec: Engine("vllm", "python", "0.32.0", "cpu"))
    monkeypatch.setattr(module, "check_target", lambda target, **_: target)
    monkeypatch.setattr(module, "check_inputs", lambda *_, **__: {})
    found = []
    for snapshot in snapshots:
        seen = Inspected(Examined(), drafts={"good": snapshot})
        monkeypatch.setattr(module, "inspect_models", lambda *_, seen=seen, **__: seen)
        found.append(prepared(draft="org/draft").fingerprint["drafts"])
    assert found[0] != found[1]


@pytest.mark.parametrize(("build", "gpus"), [("cpu", 0), ("cuda", 1)])
def test_a_cpu_engine_takes_no_gpu(build: str, gpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "resolve_engine", lambda spec: Engine("vllm", "python", "0.32.0", build))
    monkeypatch.setattr(module, "check_target", lambda *_, **__: "nowhere")
    monkeypatch.setattr(module, "inspect_models", lambda *_, **__: NOT_INSPECTED)
    monkeypatch.setattr(module, "check_inputs", lambda *_, **__: {})
    assert prepared().gpus_per_worker == gpus


def test_the_check_of_sampled_answers_is_part_of_the_protocol_and_needs_a_temperature(workshop: Path) -> None:
    warm = SPACE.format(target="simulated", draft="good").replace("max_tokens: 24", "temperature: 0.7")
    (workshop / "warm.yaml").write_text(warm)
    asked = SweepRequest(space="warm.yaml", engine="sim:sim.yaml", distribution_samples=32)
    assert prepare(asked).space.protocol.distribution_samples == 32
    assert prepare(asked).manifest.protocol.distribution_samples == 32
    prepared()
    with pytest.raises(SpaceError, match="no load point above temperature 0"):
        prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml", distribution_samples=32))


def test_what_files_say_of_a_draft_is_kept_with_the_run(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = Notice("padded_vocab_size", Level.ERROR, "good", "its vocab_size is 8", "Pad it.")
    warning = Notice("draft_context_shorter", Level.WARNING, "good", "its context is short", evidence={"draft": 8})
    monkeypatch.setattr(module, "resolve_engine", lambda spec: Engine("vllm", "python", "0.32.0", "cpu"))
    monkeypatch.setattr(module, "check_target", lambda *_, **__: "nowhere")
    monkeypatch.setattr(module, "check_inputs", lambda *_, **__: {})

    def inspect(asked: Asked, **_: object) -> Inspected:
        k1 = next(candidate for candidate in asked.candidates if candidate.k == 1)
        return Inspected(Examined((error, warning), {k1.key: error.what}))

    monkeypatch.setattr(module, "inspect_models", inspect)
    found = prepared()
    assert [candidate.k for candidate in found.candidates] == [0, 3]
    assert found.manifest.draft_ks == {"good": (3,)}
    assert found.manifest.unavailable == {"good K=1": "its vocab_size is 8"}
    assert found.manifest.notices == (error, warning)
    assert "not tried: good K=1: its vocab_size is 8" in found.notes
    assert "warning: good: its context is short." in found.notes
    planned = plan(found.space, found.engine, found.target, refused=found.refused)
    assert [start.candidate.k for start in planned.starts] == [0, 3, 0]
    stored = TypeAdapter(RunManifest)
    assert stored.validate_json(stored.dump_json(found.manifest)) == found.manifest
    old = stored.dump_python(found.manifest, mode="json")
    del old["notices"]
    assert stored.validate_python(old).notices == ()


def test_a_simulated_engine_has_no_files_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "inspect_models", lambda *_, **__: pytest.fail("it read files"))
    assert prepared().manifest.notices == ()
