"""What a run was measured with: tuner, engine, machine, models, eval sets.

And the fingerprint, which decides whether finished measurements count in a later sweep.
"""

from __future__ import annotations

import hashlib
import os
import platform
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil

from tuner.hardware import cpu_model
from tuner.records import EvalSet, Json, LoadPoint, Protocol, canonical_json
from tuner.records.redaction import without_credentials_json


def profile_identity(profile: str | None) -> str | None:
    """Return what identifies a profile of the simulated engine: a file's content, or the preset's name."""
    if profile is None or not Path(profile).is_file():
        return profile
    return hashlib.sha256(Path(profile).read_bytes()).hexdigest()[:16]


def fingerprint(
    *,
    engine: Mapping[str, Json],
    target: Mapping[str, Json],
    drafts: Mapping[str, Mapping[str, Json]],
    eval_sets: Iterable[EvalSet],
    engine_args: Mapping[str, Json],
    env: Mapping[str, str],
    load_points: Iterable[LoadPoint],
    protocol: Protocol,
) -> dict[str, Json]:
    """Return what must be equal for finished measurements to count in a later sweep.

    target, drafts: see tuner.identity.model_identity.  env: see tuner.engine.environment.shaping_env.
    The list of K and the limits are left out on purpose: a sweep that adds a K goes on where the last one ended.
    So is the device: every figure is compared with a baseline of its own device.
    """
    return {
        "engine": dict(engine),
        "target": dict(target),
        "drafts": {name: dict(identity) for name, identity in sorted(drafts.items())},
        "eval_sets": {eval_set.name: eval_set.sha256 for eval_set in eval_sets},
        "engine_args": without_credentials_json(dict(engine_args)),
        "env": without_credentials_json({**env}),
        "load_points": [point.key for point in load_points],
        "protocol": {
            "repeats": protocol.repeats,
            "warmup_requests": protocol.warmup_requests,
            # Trials without these answers cannot serve a sweep that compares them; without the check nothing changes.
            **({"distribution_samples": protocol.distribution_samples} if protocol.distribution_samples else {}),
        },
    }


def only_hashed_otherwise(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Whether two fingerprints differ in nothing but the scheme by which models were hashed.

    Then an older or newer tuner made one of them, and whether the models are the same cannot be told.
    """
    return canonical_json(one) != canonical_json(other) and (
        _schemes(one) != _schemes(other) and canonical_json(_unhashed(one)) == canonical_json(_unhashed(other))
    )


def _models(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    return {"target": fingerprint.get("target", {}), **fingerprint.get("drafts", {})}


def _schemes(fingerprint: Mapping[str, Json]) -> set[Any]:
    return {model.get("scheme") for model in _models(fingerprint).values() if model.get("of") == "content"}


def _unhashed(fingerprint: Mapping[str, Json]) -> dict[str, Any]:
    sizes = {name: (model.get("of"), model.get("weight_bytes")) for name, model in _models(fingerprint).items()}
    return {**fingerprint, "target": None, "drafts": sizes}


def machine() -> dict[str, Json]:
    """Return the driver's machine in words. Nothing here decides anything."""
    return {
        "host": socket.gethostname(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "cpu": cpu_model(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }
