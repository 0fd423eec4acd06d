"""Checkpoints in the speculators format say themselves how they draft, and for whom.

vLLM 0.32.0: transformers_utils/configs/speculators (what a checkpoint holds) and transformers_utils/config.py,
maybe_override_with_speculators (given as the target, it serves the verifier that the checkpoint names).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice

_METHODS = {"eagle3": "eagle3", "peagle": "eagle3", "dflash": "dflash", "dflash2": "dflash", "dspark": "dspark"}


def as_target(setting: Setting) -> Notice | None:
    """A speculators checkpoint in the place of the target."""
    found = _part(setting.target)
    if found is None:
        return None
    verifier = _verifier(found) or "its verifier"
    return setting.about_target(
        "speculators_as_target",
        Level.ERROR,
        f"it is a draft in the speculators format: the engine would serve {verifier} with it, baseline included",
        f"Give {verifier} as the target and {setting.target.reference} as the draft.",
    )


def unknown_kind(setting: Setting) -> Notice | None:
    """A speculators checkpoint of a kind that vLLM does not know."""
    kind = _kind(setting.draft)
    if kind is None or kind in _METHODS:
        return None
    return setting.about_draft(
        "speculators_kind_unknown",
        Level.ERROR,
        f"its speculators_model_type is {kind!r}, and vLLM takes {', '.join(_METHODS)}",
        "Take a checkpoint of one of these kinds.",
    )


def method(setting: Setting) -> Notice | None:
    """The method comes from the checkpoint, and here is another."""
    kind = _kind(setting.draft)
    wanted = _METHODS.get(kind or "")
    if wanted is None or wanted == setting.method:
        return None
    return setting.about_draft(
        "speculators_method",
        Level.ERROR,
        f"its checkpoint ({kind}, speculators format) drafts by method {wanted}, and the method here is "
        f"{setting.method}",
        f"Set `method: {wanted}`.",
    )


def parallel(setting: Setting) -> Notice | None:
    """P-EAGLE proposes all tokens at once, which has to be said."""
    if _kind(setting.draft) != "peagle" or setting.option("parallel_drafting") is True:
        return None
    return setting.about_draft(
        "speculators_parallel",
        Level.ERROR,
        "it is a P-EAGLE head, which proposes all tokens at once, and its options do not say so",
        "Set the option parallel_drafting: true.",
    )


def verifier(setting: Setting) -> Notice | None:
    """The checkpoint names another target."""
    found = _part(setting.draft)
    named = _verifier(found) if found is not None else None
    if named is None or PurePath(named).name.lower() == PurePath(setting.target.reference).name.lower():
        return None
    return setting.about_draft(
        "speculators_verifier",
        Level.HINT,
        f"it was trained for {named}; the target here is {setting.target.reference}",
        "If these are not the same weights, expect a lower acceptance.",
        verifier=named,
    )


def tokens(setting: Setting) -> Notice | None:
    """K above what the checkpoint says it was made for."""
    found = _part(setting.draft)
    methods = found.get("proposal_methods") if found is not None else None
    first = methods[0] if isinstance(methods, list) and methods and isinstance(methods[0], Mapping) else {}
    made_for = first.get("speculative_tokens")
    if not isinstance(made_for, int) or setting.k <= made_for:
        return None
    return setting.about_draft(
        "speculators_tokens",
        Level.HINT,
        f"its checkpoint was made for K = {made_for}: acceptance may fall faster above it",
        speculative_tokens=made_for,
    )


def _part(model: ModelFiles | None) -> Mapping[str, Any] | None:
    found = model.config.get("speculators_config") if model else None
    return found if isinstance(found, Mapping) else None


def _kind(model: ModelFiles | None) -> str | None:
    if model is None or _part(model) is None:
        return None
    return str(model.config.get("speculators_model_type") or "")


def _verifier(part: Mapping[str, Any]) -> str | None:
    named = part.get("verifier")
    path = named.get("name_or_path") if isinstance(named, Mapping) else None
    return str(path) if path else None
