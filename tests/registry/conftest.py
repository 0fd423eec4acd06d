"""Artifacts with what a test wants in them, from one that was really measured."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tuner.artifact import BestConfig, dump_best_config, load_best_config
from tuner.registry import Registry

MEASURED = Path(__file__).parents[1] / "golden" / "artifacts" / "v1-h200-7b.yaml"


def build_config(engine: str = "0.26.0", **fields: Any) -> BestConfig:
    config = load_best_config(MEASURED)
    on = config.measured_on
    measured_on = on.model_copy(update={"engine": on.engine.model_copy(update={"version": engine})})
    return config.model_copy(update={"measured_on": measured_on, **fields})


def keep_config(registry: Registry, config: BestConfig, day: int = 1) -> str:
    """Keep an artifact under its target, as of a day of December 2026; return its stamp."""
    files = {"best_config.yaml": dump_best_config(config).encode()}
    entry, _ = registry.keep(config.target, files, f"day {day}", datetime(2026, 12, day, tzinfo=UTC))
    return entry.stamp


@pytest.fixture
def make_config() -> Callable[..., BestConfig]:
    return build_config


@pytest.fixture
def keep() -> Callable[..., str]:
    return keep_config
