"""Plans of a whole space, from files to notices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.memory.models import CONFIGS, write_model
from tuner.errors import ModelError
from tuner.preflight.memory import (
    Device,
    Load,
    Planned,
    Unplanned,
    by_draft,
    memory_notices,
    memory_plans,
    plans_as_json,
    read_model,
)
from tuner.preflight.memory_plan import Verdict
from tuner.records import Candidate, Speculation
from tuner.records.notice import Level

GIB = 2**30
GPU = Device("gpu", "card", 24 * GIB)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    for name in ("7B", "135M"):
        write_model(root / name, CONFIGS[name])
    return root


def space(ks: tuple[int, ...] = (1, 3, 7), **choices: list[Any]) -> list[Candidate]:
    args: list[dict[str, Any]] = [{"max_model_len": 2048, "max_num_seqs": 32}]
    for name, values in choices.items():
        args = [{**one, name: value} for one in args for value in values]
    drafts = [Speculation("draft_model", k, "small", "/small") for k in ks]
    return [Candidate(one, spec) for one in args for spec in (None, *drafts, Speculation("ngram", 3, "ngram"))]


def plans(models: Path, candidates: list[Candidate], device: Device = GPU, **more: Any) -> tuple[Planned, ...]:
    found, unplanned = memory_plans(
        candidates, models / "7B", {"small": models / "135M"}, device, default_utilization=0.9, **more
    )
    assert unplanned == ()
    return found


def test_every_candidate_gets_a_plan(models: Path) -> None:
    candidates = space()
    found = plans(models, candidates)
    assert [one.candidate for one in found] == candidates
    assert {one.plan.verdict for one in found} == {Verdict.FITS}
    by_label = {one.candidate.label: one.plan for one in found}
    assert by_label["small K=3"].weights > by_label["ngram K=3"].weights == by_label["no speculation"].weights
    assert memory_notices(found) == ()


def test_drafts_are_shown_once_at_the_k_that_leaves_least(models: Path) -> None:
    shown = by_draft(plans(models, space(ks=(7, 1, 3), gpu_memory_utilization=[0.8, 0.9])))
    assert [one.candidate.label for one in shown] == ["no speculation", "small K=7", "ngram K=3"] * 2


def test_too_large_a_target_is_one_error(models: Path) -> None:
    notices = memory_notices(plans(models, space(), replace(GPU, total=12 * GIB)))
    assert [(n.code, n.level, n.subject) for n in notices] == [("memory_does_not_fit", Level.ERROR, "target")]
    assert "the weights take 13.92 GiB of 10.80 GiB" in notices[0].what
    assert "quantised target" in notices[0].next_step
    assert notices[0].evidence["certain"] is True


def test_a_draft_that_is_too_much_is_an_error_of_that_draft(models: Path) -> None:
    device = replace(GPU, total=round(14.1 * GIB / 0.9))
    found = plans(models, space(), device)
    notices = {n.subject: n for n in memory_notices(found)}
    assert set(notices) == {"target", "small"}
    assert notices["target"].level is Level.WARNING  # its estimates do not fit; its weights do
    assert notices["small"].level is Level.ERROR


def test_a_share_that_is_too_small_for_all_but_one_choice_is_a_warning(models: Path) -> None:
    notices = memory_notices(plans(models, space(gpu_memory_utilization=[0.5, 0.9])))
    assert [(n.level, n.subject) for n in notices] == [(Level.WARNING, "target")]
    assert "gpu_memory_utilization 0.6" in notices[0].next_step


def test_a_context_that_is_too_long_is_answered_with_the_longest_that_fits(models: Path) -> None:
    candidates = [Candidate({"max_model_len": 200_000, "max_num_seqs": 4, "gpu_memory_utilization": 0.7})]
    (notice,) = memory_notices(plans(models, candidates))
    assert (notice.code, notice.level) == ("memory_does_not_fit", Level.ERROR)
    assert "one request of max_model_len 200000" in notice.what
    assert notice.next_step.startswith("max_model_len ")


def test_a_derived_context_is_never_certain(models: Path) -> None:
    config = {**CONFIGS["135M"], "max_position_embeddings": 10**7}
    directory = write_model(models / "long", config)
    found, _ = memory_plans([Candidate()], directory, {}, GPU, default_utilization=0.9)
    (notice,) = memory_notices(found)
    assert notice.level is Level.WARNING


def test_a_draft_adds_nothing_to_what_its_baseline_lacks(models: Path) -> None:
    found = plans(models, space(), load=Load(sequences=32, tokens=2048))
    assert {one.plan.verdict for one in found} == {Verdict.TIGHT}
    assert [n.subject for n in memory_notices(found)] == ["target"]


def test_the_variable_of_the_cpu_build_counts(models: Path) -> None:
    host = Device("cpu", "host", 32 * GIB)
    found = plans(models, space(), host, env={"VLLM_CPU_KVCACHE_SPACE": "2"})
    assert {one.plan.kv_bytes for one in found} == {2 * GIB}


def test_models_that_cannot_be_planned_are_said(models: Path, tmp_path: Path) -> None:
    odd = write_model(tmp_path / "odd", {"model_type": "odd"}, {"a.weight": (2, 2)})
    found, unplanned = memory_plans(space(ks=(1, 2)), models / "7B", {"small": odd}, GPU, default_utilization=0.9)
    assert [one.candidate.label for one in found] == ["no speculation", "ngram K=3"]
    assert [one.subject for one in unplanned] == ["small"]
    (notice,) = memory_notices(found, unplanned)
    assert (notice.code, notice.level, notice.subject) == ("memory_unknown", Level.HINT, "small")


def test_other_weight_files_count_by_their_size(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(bytes(1000))
    (tmp_path / "training_args.bin").write_bytes(bytes(50))
    read = read_model("target", tmp_path)
    assert (read.weights.total, bool(read.weights.doubt)) == (1000, True)


@pytest.mark.parametrize("content", [None, b"\x08\x00\x00\x00\x00\x00\x00\x00notjson!"])
def test_weights_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    (tmp_path / "config.json").write_text("{}")
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError):
        read_model("target", tmp_path)


def test_a_missing_config_is_the_models_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        read_model("target", tmp_path)


def test_json_has_one_entry_for_each_draft(models: Path) -> None:
    told: list[dict[str, Any]] = plans_as_json(plans(models, space()))
    assert [one["candidate"] for one in told] == ["no speculation", "small K=7", "ngram K=3"]
    first = told[0]
    assert first["verdict"] == "fits"
    assert {part["name"]: part["source"] for part in first["parts"]} == {
        "target weights": "files",
        "activations": "estimate",
        "CUDA graphs": "estimate",
        "libraries": "estimate",
    }
    parts = sum(part["bytes"] for part in first["parts"])
    assert first["kv_cache"]["bytes"] + parts == first["limit_bytes"]
    assert first["largest_that_fits"]["max_model_len"] == 8192


def test_unplanned_is_no_plan() -> None:
    assert memory_notices((), (Unplanned("target", "why"),))[0].what.endswith("why")


@pytest.mark.parametrize(
    ("total", "given", "step"),
    [
        (24, 20 * GIB, "a KV cache of 9 GiB or less fits"),
        (24, 2**20, "a KV cache of 1 GiB or more fits"),
        (12, GIB, "Use more memory"),
    ],
)
def test_a_cache_of_the_wrong_size_is_answered_with_a_right_one(
    models: Path, total: int, given: int, step: str
) -> None:
    candidates = [Candidate({"max_model_len": 2048, "max_num_seqs": 4, "kv_cache_memory_bytes": given})]
    (notice,) = memory_notices(plans(models, candidates, Device("gpu", "card", total * GIB)))
    assert notice.next_step.startswith(step)


def test_the_share_that_is_called_enough_is(models: Path) -> None:
    candidate = Candidate({"max_model_len": 2048, "max_num_seqs": 4, "gpu_memory_utilization": 0.5})
    (notice,) = memory_notices(plans(models, [candidate]))
    share = float(notice.next_step.split()[1])
    enough = replace(candidate, engine_args={**candidate.engine_args, "gpu_memory_utilization": share})
    less = replace(candidate, engine_args={**candidate.engine_args, "gpu_memory_utilization": share - 0.01})
    assert [one.plan.verdict for one in plans(models, [enough, less])] == [Verdict.FITS, Verdict.TIGHT]
