"""Older schema versions, one step each: a mapping of version n becomes one of n + 1.

A step is pure and never changes once released. What an older version did not say is null in the newer one, or empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Document = dict[str, Any]

_TRIAL_NAME = re.compile(r"\d+-(?P<role>[a-z_]+)-(?P<draft>.+)-k(?P<k>\d+)-[0-9a-f]+")
_RECOMMENDED = ("temperature", "verdict", "why", "recommended")


def migrated(document: Document, version: int) -> Document:
    """Return `document`, of schema `version`, as one of the present version.

    Raises KeyError, TypeError, AttributeError, IndexError or ValueError where it is not of the version that it names.
    """
    for step in (STEPS[number] for number in sorted(STEPS) if number >= version):
        document = step(document)
    return document


def _one_to_two(old: Document) -> Document:
    """Version 2 keeps what was measured apart from what is recommended, and puts beside that where it holds."""
    fingerprint = old["fingerprint"]
    return {
        "schema_version": 2,
        "tuner_version": old["tuner_version"],
        "target": old["target"],
        "verdict": old["verdict"],
        "why": old["why"],
        "finished": old["finished"],
        "objective": old["objective"],
        "environment": dict(fingerprint.get("env", {})),
        "identity": _identity(old, fingerprint),
        "answers": [_answer(answer, old["measured_on"]) for answer in old["answers"]],
        "diagnoses": [],
        "changed_settings": [],
        "warnings": old["warnings"],
        "failed": [_failed(name, why) for name, why in old["failed"].items()],
        "barred": old["barred"],
        "drift": old["drift"],
        "floor": old["floor"],
        "protocol": old["protocol"],
        "measured_on": old["measured_on"],
        "fingerprint": fingerprint,
    }


def _identity(old: Document, fingerprint: Document) -> Document:
    refs = {
        curve["draft"]: answer["recommended"]["speculation"]["draft"]
        for answer in old["answers"]
        for curve in answer["curves"]
        if answer["recommended"]["speculation"] and _names(curve, answer["recommended"])
    }
    drafts = fingerprint.get("drafts", {})
    return {
        "target": _model(old["target"], fingerprint.get("target", {})),
        "drafts": {name: _model(refs.get(name) or name, known) for name, known in drafts.items()},
    }


def _names(curve: Document, recommended: Document) -> bool:
    """Whether the curve is that of the recommended draft: version 1 has a draft's name in one and its path in other."""
    speculation = recommended["speculation"]
    same = curve["method"] == speculation["method"] and curve["engine_args"] == recommended["engine_args"]
    return same and str(speculation["draft"]).rstrip("/").endswith(curve["draft"])


def _model(ref: str, known: Mapping[str, Any]) -> Document:
    return {
        "id": ref,
        "hash": known.get("hash"),
        "of": known.get("of"),
        "weight_bytes": known.get("weight_bytes"),
    }


def _failed(name: str, why: str) -> Document:
    found = _TRIAL_NAME.fullmatch(name)
    if found is None:
        return {"candidate": name, "role": "candidate", "why": why}
    k = int(found["k"])
    label = f"{found['draft']} K={k}" if k else "no speculation"
    return {"candidate": label, "role": found["role"], "why": why}


def _answer(old: Document, measured_on: Document) -> Document:
    room = {"max_num_seqs": None, "full_length_requests": None, "peak_device_memory_bytes": None}
    return {
        "temperature": old["temperature"],
        "verdict": old["verdict"],
        "why": old["why"],
        "recommended": _recommended(old["recommended"], old["verdict"]),
        "validity": _validity(old, measured_on),
        "capacity": {
            "with_speculation": None,
            "without_speculation": {"kv_cache_tokens": measured_on["kv_cache_tokens"], **room},
        },
        "lossless": None,
        "drags_along": None,
        "request_features": [],
        "alert": None,
        "measured": {name: value for name, value in old.items() if name not in _RECOMMENDED},
    }


def _recommended(old: Document, verdict: str) -> Document:
    limit = None
    if verdict == "speculate_below":
        up_to = old["up_to_concurrency"]
        limit = {
            "up_to_concurrency": up_to,
            "slower_at_concurrency": old["slower_at_concurrency"],
            "serve_config": old["serve_config"],
            "speculation": old["speculation"],
            "engine_args": old["engine_args"],
            "max_num_seqs": up_to,
            "advice": [],
        }
    return {**old, "baseline_serve_config": "serve.baseline.yaml", "chosen_by": "verdict", "limit": limit}


def _validity(old: Document, measured_on: Document) -> Document:
    points = [load["load_point"] for load in old["load_points"]]
    return {
        "temperature": old["temperature"],
        "concurrency": sorted({point["concurrency"] for point in points}),
        "prompt_tokens": None,
        "answer_tokens": None,
        "eval_sets": list(dict.fromkeys(point["eval_set"] for point in points)),
        "max_model_len": measured_on["max_model_len"],
    }


STEPS: Mapping[int, Callable[[Document], Document]] = {1: _one_to_two}
"""Version n -> the step to n + 1."""
