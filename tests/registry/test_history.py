"""The sweeps of a target, and what changed from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tuner.artifact import BestConfig
from tuner.artifact.model import DeviceDetail
from tuner.registry import Registry, history, target_slug


def test_each_sweep_is_held_against_the_one_before(
    tmp_path: Path, make_config: Callable[..., BestConfig], keep: Callable[..., str]
) -> None:
    registry = Registry(str(tmp_path))
    first, upgraded = make_config("1.0"), make_config("2.0")
    target = first.target
    eval_sets = {**upgraded.fingerprint, "eval_sets": {"chat": "other"}}
    other_prompts = make_config("2.0", fingerprint=eval_sets)
    on = upgraded.measured_on
    new_device = on.model_copy(
        update={"devices": ("NVIDIA B200",), "device_details": (DeviceDetail(device="NVIDIA B200"),)}
    )
    moved = other_prompts.model_copy(update={"measured_on": new_device})
    for day, config in enumerate((first, upgraded, upgraded, other_prompts, moved), 1):
        keep(registry, config, day)
    found = history(registry, target)
    changed = [None if past.changed is None else [one.field for one in past.changed] for past in found.past]
    assert changed == [None, ["engine.version"], [], ["eval_sets.chat"], ["device.name"]]
    assert found.broken == ()


def test_a_broken_entry_is_left_out_and_named_and_the_next_is_held_against_the_last_whole_one(
    tmp_path: Path, make_config: Callable[..., BestConfig], keep: Callable[..., str]
) -> None:
    registry = Registry(str(tmp_path))
    target = make_config().target
    stamps = [keep(registry, make_config(version), day) for day, version in enumerate(("1.0", "2.0", "3.0"), 1)]
    (tmp_path / target_slug(target) / stamps[1] / "best_config.yaml").write_text("schema_version: 1")
    found = history(registry, target)
    assert [past.entry.stamp for past in found.past] == [stamps[0], stamps[2]]
    (change,) = found.past[1].changed or ()
    assert (change.field, change.measured, change.now) == ("engine.version", "1.0", "3.0")
    assert stamps[1] in found.broken[0]
