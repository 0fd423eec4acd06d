"""Artifacts of built trials, for the tests of what deployment reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tuner.analysis.findings import findings
from tuner.artifact import BestConfig
from tuner.artifact.model import Engine, MeasuredOn
from tuner.export.artifact import RunContext, artifact_files, best_config
from tuner.records import Findings, LoadPoint, Protocol, Traffic, Trial
from tuner.space.traffic import by_temperature, weighted


def build_context(trials: Sequence[Trial] = (), version: str = "0.32.0", **changes: Any) -> RunContext:
    """Return what a run of a CPU says of itself."""
    measured_on = MeasuredOn(
        devices=("CPU",),
        engine=Engine(version=version, build="cpu"),
        machine={},
        max_model_len=None,
        kv_cache_tokens=None,
        first_trial="2026-01-01T00:00:00Z",
        last_trial="2026-01-01T00:00:00Z",
    )
    return replace(RunContext("org/target", {}, {}, measured_on, {}, "1", trials), **changes)


class Built:
    """What follows from trials: findings, the artifact and all files."""

    def __init__(
        self, trials: Sequence[Trial], loads: Sequence[LoadPoint], shares: Traffic | None = None, **changes: Any
    ) -> None:
        change: Callable[[Findings], Findings] = changes.pop("change", lambda found: found)
        found = findings(trials, loads, protocol=changes.pop("protocol", Protocol()))
        self.findings = change(replace(found, traffic=by_temperature(shares, loads)))
        self.context = build_context(trials, **changes)
        self.config: BestConfig = best_config(self.findings, self.context)
        self.files: Mapping[str, str] = artifact_files(self.findings, self.context)


def weigh(shares: Mapping[int, float], *concurrencies: int) -> tuple[LoadPoint, ...]:
    """Return load points at these concurrencies with the traffic's weights."""
    return weighted([LoadPoint("chat", c, 33) for c in concurrencies], Traffic(dict(shares)))
