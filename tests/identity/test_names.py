"""What a path says by itself."""

from __future__ import annotations

import pytest

from tuner.identity import hub_revision, target_name

SNAPSHOT = "/home/x/.cache/huggingface/hub/models--Qwen--Qwen3-14B/snapshots/8268fe3026cb304910457689366670e803a6fd56"


def test_a_snapshot_of_the_hub_has_a_revision_and_its_hub_id_as_its_name() -> None:
    assert hub_revision(SNAPSHOT) == "8268fe3026cb304910457689366670e803a6fd56"
    assert target_name(SNAPSHOT) == "Qwen/Qwen3-14B"
    other = SNAPSHOT.replace("/home/x", "/mnt").replace("8268fe", "aaaaaa")
    assert target_name(other) == target_name(SNAPSHOT)


@pytest.mark.parametrize(
    "ref",
    ["Qwen/Qwen3-14B", "/models/Qwen3-14B", "demo:target", "/models/snapshots/final", "/models/abcdef0", "x", "/", ""],
)
def test_everything_else_is_itself(ref: str) -> None:
    assert hub_revision(ref) is None
    assert target_name(ref) == ref


def test_a_snapshot_outside_the_hubs_cache_keeps_its_path() -> None:
    path = "/exports/model/snapshots/8268fe3026cb"
    assert hub_revision(path) == "8268fe3026cb"
    assert target_name(path) == path
