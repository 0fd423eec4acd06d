"""What a run directory says about itself, so that a report needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.records.candidate import Json, LoadPoint, Protocol
from tuner.records.goal import Goal
from tuner.records.notice import Notice
from tuner.records.traffic import Traffic


@dataclass(frozen=True)
class FingerprintParts:
    """What is read of a run's fingerprint (see tuner.provenance), whose other parts are only compared.

    Older versions wrote fewer parts.
    """

    engine: Mapping[str, Json] = field(default_factory=dict)
    target: Mapping[str, Json] = field(default_factory=dict)
    drafts: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    eval_sets: Mapping[str, str] = field(default_factory=dict)
    engine_args: Mapping[str, Json] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    load_points: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunManifest:
    """Everything a report needs beside the records.

    target: as the user wrote it.  space, space_source: name and text of the search-space file.
    prompts: eval set -> number of prompts.  env: what the engines' figures may depend on, given or inherited.
    default_gpu_memory_utilization: the engine's own, None where it is not known.  repeat_with: the command line.
    unavailable: what this engine cannot run, with the reason.  candidates: keys of those that the space has now, which
    alone are reported; () for all (runs of older versions).
    target_weight_bytes: what one decode step reads of the target's weights, None where its files do not tell.
    draft_ks: K that may be measured, by draft name; {} in runs of older versions.  traffic: what the load points weigh
    by.
    target_revision, draft_revisions: of the hub, where the model was a snapshot in its cache.
    engine_wheel: the distribution that the engine came with, "" where it is not known.
    goal: what decides between settings, and what they must keep to.  notices: what files told before the first start.
    """

    target: str
    space: str
    space_source: str
    engine_version: str
    engine_build: str
    load_points: tuple[LoadPoint, ...]
    protocol: Protocol
    inflection_threshold: float
    prompts: Mapping[str, int]
    tuner_version: str
    env: Mapping[str, str] = field(default_factory=dict)
    default_gpu_memory_utilization: float | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    machine: Mapping[str, Json] = field(default_factory=dict)
    repeat_with: tuple[str, ...] = ()
    target_weight_bytes: int | None = None
    draft_ks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    traffic: Traffic | None = None
    goal: Goal = field(default_factory=Goal)
    notices: tuple[Notice, ...] = ()
    target_revision: str | None = None
    draft_revisions: Mapping[str, str] = field(default_factory=dict)
    engine_wheel: str = ""

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Temperatures of the load points, in the space's order, each once."""
        return tuple(dict.fromkeys(point.sampling.temperature for point in self.load_points))
