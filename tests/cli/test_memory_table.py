"""Memory plans as a person reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.memory.models import CONFIGS, write_model
from tuner.cli import cli
from tuner.cli.memory_table import memory_table
from tuner.preflight.inspection import largest_load
from tuner.preflight.memory import Device, Load, Planned, memory_plans
from tuner.records import Candidate, LoadPoint, Speculation

GIB = 2**30
WIDTH = 140


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    for name in ("7B", "135M"):
        write_model(root / name, CONFIGS[name])
    return root


def plans(models: Path, total: float, shares: tuple[float, ...] = (0.9,), **args: int) -> tuple[Planned, ...]:
    candidates = [
        Candidate({"max_model_len": 2048, "max_num_seqs": 32, "gpu_memory_utilization": share, **args}, spec)
        for share in shares
        for spec in (None, *(Speculation("draft_model", k, "small", "/small") for k in (1, 7)))
    ]
    device = Device("gpu", "card", round(total * GIB))
    found, _ = memory_plans(candidates, models / "7B", {"small": models / "135M"}, device, default_utilization=0.9)
    return found


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_each_draft_has_a_row_with_its_verdict(models: Path) -> None:
    told = memory_table(plans(models, 24), WIDTH)
    assert told.startswith("memory of card, 24.00 GiB; gpu_memory_utilization 0.9 of it is 21.60 GiB\n")
    baseline, _ = (row for row in rows(told) if row[:2] == ["no", "speculation"])
    assert baseline[2:4] == ["13.92", "GiB"]  # exact: no mark
    assert all(cell.startswith("~") for cell in (baseline[4], baseline[6], baseline[8]))
    small, _ = (row for row in rows(told) if row[:1] == ["small"])
    assert small[1] == "K=7" and "fits" in small
    assert "  small K=7 fits up to: K " in told and ", max_model_len " in told
    assert "~ is an estimate" in told


def test_nothing_is_cut_off_where_it_is_narrow(models: Path) -> None:
    wide, narrow = (memory_table(plans(models, 24), width) for width in (WIDTH, 60))
    assert "…" not in narrow
    assert sorted("".join(narrow.split())) == sorted("".join(wide.split()))


def test_reasons_stand_below(models: Path) -> None:
    told = memory_table(plans(models, 12), WIDTH)
    assert "does not fit" in told and "nothing" in told
    assert "  no speculation: the weights take 13.92 GiB of 10.80 GiB\n" in told


def test_what_only_estimates_show_says_so(models: Path) -> None:
    assert "does not fit (estimate)" in memory_table(plans(models, 15.6), WIDTH)
    assert "(estimate)" not in memory_table(plans(models, 12), WIDTH)


def test_shares_are_named_where_they_differ(models: Path) -> None:
    told = memory_table(plans(models, 24, shares=(0.5, 0.9)), WIDTH)
    assert "small K=7 at 0.5" in told and "small K=7 at 0.9" in told
    assert " at 0.9" not in memory_table(plans(models, 24), WIDTH)


def test_a_cache_that_was_given(models: Path) -> None:
    told = memory_table(plans(models, 24, kv_cache_memory_bytes=GIB), WIDTH)
    assert told.startswith("memory of card, 24.00 GiB; the KV cache is given 1.00 GiB\n")


def test_gpus_together(models: Path) -> None:
    assert "on each of 2 GPUs" in memory_table(plans(models, 24, tensor_parallel_size=2), WIDTH)


def test_nothing_planned_is_nothing_said() -> None:
    assert memory_table((), WIDTH) == ""


def test_a_size_that_is_none_starts_nothing(models: Path) -> None:
    done = CliRunner().invoke(cli, ["preflight", str(models / "7B"), "--device-memory", "lots"])
    assert done.exit_code != 0
    assert "is no amount of memory" in str(done.exception or done.output)


def test_the_largest_load_is_of_all_points_together() -> None:
    assert largest_load(()) == Load()
    points = (LoadPoint("a", concurrency=1, max_tokens=300), LoadPoint("a", concurrency=32, max_tokens=20))
    assert largest_load(points) == Load(32, 300)
