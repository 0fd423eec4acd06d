"""Each rule of what differs: one case that fires and one that stays silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tuner.identity import (
    DeviceSetup,
    Difference,
    EngineSetup,
    ModelSetup,
    Setup,
    differences,
    ignoring,
)

GIB = 2**30
PARTS = {"config": "c", "tokenizer": "t", "generation": "g", "weights": "w"}
H200 = DeviceSetup("NVIDIA H200", 2, 140 * GIB, "570.86.15")
TARGET = ModelSetup("org/target", "h", "content", 2, PARTS, 1000, "abc")
DRAFT = ModelSetup("/models/good", "d", "content", 2, PARTS, 100)
MEASURED = Setup(
    engine=EngineSetup("0.32.0", "cuda"),
    devices=(H200,),
    target=TARGET,
    drafts={"good": DRAFT, "weak": DRAFT},
    deployed=frozenset({"good"}),
    env={"VLLM_X": "1"},
    eval_sets={"chat": "1"},
    engine_args={"max_model_len": 2048},
    load_points=("a", "b"),
)


def fields(now: Setup, measured: Setup = MEASURED) -> dict[str, bool]:
    return {difference.field: difference.stale for difference in differences(measured, now)}


def device(**changed: Any) -> Setup:
    return replace(MEASURED, devices=(replace(H200, **changed),))


def target(**changed: Any) -> Setup:
    return replace(MEASURED, target=replace(TARGET, **changed))


def drafts(**changed: Any) -> Setup:
    return replace(MEASURED, drafts={**MEASURED.drafts, "good": replace(DRAFT, **changed)})


def parts(**changed: str) -> dict[str, Any]:
    return {"hash": "other", "parts": {**PARTS, **changed}}


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (MEASURED, {}),
        (replace(MEASURED, engine=EngineSetup("0.33.0", "cuda")), {"engine.version": True}),
        (replace(MEASURED, engine=EngineSetup("0.32.0.post1", "cuda")), {"engine.version": True}),
        (replace(MEASURED, engine=EngineSetup("0.32.0", "cpu")), {"engine.build": True}),
        (replace(MEASURED, engine=EngineSetup("0.32.0", "cuda", "p")), {"engine.profile": True}),
        (device(name="NVIDIA H100"), {"device.name": True}),
        (replace(MEASURED, devices=()), {"device.name": True}),
        (device(count=1), {"device.count": True}),
        (device(count=8), {}),
        (device(memory_bytes=80 * GIB), {"device.memory": True}),
        (device(memory_bytes=139 * GIB), {}),
        (device(memory_bytes=None, driver=None), {}),
        (device(driver="580.10.1"), {"device.driver": True}),
        (device(driver="570.124.06"), {"device.driver": False}),
        (device(cores=4), {}),
        (target(**parts(tokenizer="x")), {"target.tokenizer": True}),
        (target(**parts(config="x", weights="x")), {"target.config": True, "target.weights": True}),
        (target(hash="other"), {"target": True}),
        (target(id="/elsewhere"), {}),
        (target(revision="def"), {"target.revision": False}),
        (target(revision=None), {}),
        (target(scheme=None, hash="old"), {"target.scheme": False}),
        (target(scheme=None, hash="old", weight_bytes=999), {"target.weights": True}),
        (target(missing="not here"), {"target": True}),
        (target(hash=None), {}),
        (target(of="name", hash="n"), {"target": True}),
        (drafts(**parts(weights="x")), {"draft.good.weights": True}),
        (drafts(missing="not here"), {"draft.good": True}),
        (replace(MEASURED, drafts={"good": DRAFT, "weak": replace(DRAFT, missing="not here")}), {}),
        (
            replace(MEASURED, drafts={"good": DRAFT, "weak": replace(DRAFT, **parts(weights="x"))}),
            {"draft.weak.weights": True},
        ),
        (replace(MEASURED, drafts={"good": DRAFT}), {"draft.weak": False}),
        (replace(MEASURED, drafts={"weak": DRAFT}), {"draft.good": True}),
        (replace(MEASURED, drafts={**MEASURED.drafts, "new": DRAFT}), {"draft.new": True}),
        (replace(MEASURED, env={"VLLM_X": "2"}), {"env.VLLM_X": True}),
        (replace(MEASURED, env={"VLLM_X": "1", "VLLM_Y": "1"}), {"env.VLLM_Y": True}),
        (replace(MEASURED, env={}), {"env.VLLM_X": False}),
        (replace(MEASURED, eval_sets={"chat": "2"}), {"eval_sets.chat": True}),
        (replace(MEASURED, eval_sets=None, engine_args=None, load_points=None), {}),
        (replace(MEASURED, engine_args={}), {"engine_args.max_model_len": True}),
        (replace(MEASURED, load_points=("b", "a")), {}),
        (replace(MEASURED, load_points=("a",)), {"load_points": True}),
    ],
)
def test_each_rule(now: Setup, found: dict[str, bool]) -> None:
    assert fields(now) == found


def test_cores_count_where_the_engine_computes_on_them() -> None:
    cpu = replace(MEASURED, devices=(DeviceSetup("AMD EPYC", cores=2),))
    assert fields(replace(cpu, devices=(DeviceSetup("AMD EPYC", cores=4),)), cpu) == {"device.cores": True}
    assert fields(cpu, cpu) == {}


def test_of_several_measured_kinds_of_device_one_is_enough() -> None:
    both = replace(MEASURED, devices=(DeviceSetup("NVIDIA L4", 1, 22 * GIB, "500.1"), H200))
    assert fields(MEASURED, both) == {}
    assert fields(replace(MEASURED, devices=(DeviceSetup("NVIDIA L4", 1, 22 * GIB, "600.1"),)), both) == {
        "device.driver": True
    }


def test_of_two_measured_devices_of_one_name_the_nearer_is_compared() -> None:
    smaller, patched = replace(H200, memory_bytes=80 * GIB), replace(H200, driver="570.1")
    assert fields(MEASURED, replace(MEASURED, devices=(smaller, patched))) == {"device.driver": False}


def test_every_difference_has_both_values_and_a_reason() -> None:
    (found,) = differences(MEASURED, device(driver="580.10.1"))
    assert (found.measured, found.now) == ("570.86.15", "580.10.1")
    assert all(difference.why for difference in differences(MEASURED, replace(MEASURED, devices=(), env={})))


FOUND = tuple(Difference(field, 1, 2, "why") for field in ("device.driver", "env.A", "env.AB", "target.config"))


@pytest.mark.parametrize(
    ("ignored", "still_stale"),
    [
        ([], ["device.driver", "env.A", "env.AB", "target.config"]),
        (["driver"], ["env.A", "env.AB", "target.config"]),
        (["device"], ["env.A", "env.AB", "target.config"]),
        (["env.A"], ["device.driver", "env.AB", "target.config"]),
        (["env", "target.config"], ["device.driver"]),
        (["tar"], ["device.driver", "env.A", "env.AB", "target.config"]),
    ],
)
def test_what_is_ignored_becomes_a_note_and_stays_visible(ignored: list[str], still_stale: list[str]) -> None:
    left = ignoring(FOUND, ignored)
    assert [difference.field for difference in left if difference.stale] == still_stale
    assert all(difference.why.startswith("ignored: ") for difference in left if not difference.stale)
    assert len(left) == len(FOUND)
