"""How long a text may be, for the target and for its draft.

vLLM 0.32.0: config/model.py refuses a max_model_len above what the config derives; config/speculative.py
(_maybe_override_draft_max_model_len) gives a draft the smaller of both contexts; v1/worker/gpu_model_runner.py
(_input_fits_in_drafter) then proposes token 0, K times, for every request of a batch in which one is longer. Measured
with the CPU build: such drafts are verified and counted, and none is accepted.
"""

from __future__ import annotations

from tuner.preflight.context import REPLACE_CONFIG, parse_max_model_len
from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice

_ALLOWED = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"


def beyond_trained(setting: Setting) -> Notice | None:
    """max_model_len is above what the target was made for: the engine refuses it."""
    asked, trained = parse_max_model_len(setting.engine_args.get("max_model_len")), setting.target.context
    if asked is None or trained is None or asked <= trained:
        return None
    if setting.env.get(_ALLOWED) in ("1", "true", "True") or any(
        setting.engine_args.get(name) for name in REPLACE_CONFIG
    ):
        return None
    if asked <= (setting.target.integer("model_max_length") or 0):
        return None
    return setting.about_target(
        "max_model_len_beyond_context",
        Level.ERROR,
        f"max_model_len is {asked} and its files allow {trained}: the engine refuses it",
        f"Lower max_model_len to {trained}, or extend the context by RoPE scaling (engine argument hf_overrides).",
        max_model_len=asked,
        trained_context=trained,
    )


def shorter_draft(setting: Setting) -> Notice | None:
    """The draft's context is shorter than what the target serves."""
    own = setting.draft.context if setting.draft else None
    served = setting.served_context
    limited = parse_max_model_len(setting.option("max_model_len"))
    if own is None or served is None or (limited or own) >= served:
        return None
    own = min(limited or own, own)
    return setting.about_draft(
        "draft_context_shorter",
        Level.WARNING,
        f"its context is {own} tokens and the target serves {served}: once a request is that long "
        f"(less K), the V1 model runner proposes placeholders for its whole batch: verified at full cost, and rejected",
        f"Set max_model_len: {own} if requests are never longer, or take a draft with a longer context.",
        draft_context=own,
        served_context=served,
    )


def draft_limit_too_long(setting: Setting) -> Notice | None:
    """The draft's option max_model_len is above the draft's or the target's context: the engine refuses it."""
    asked = parse_max_model_len(setting.option("max_model_len"))
    known = [length for length in (setting.draft and setting.draft.context, setting.served_context) if length]
    if asked is None or not known or asked <= min(known):
        return None
    return setting.about_draft(
        "draft_max_model_len_too_long",
        Level.ERROR,
        f"its option max_model_len is {asked}, more than the {min(known)} tokens of draft and target: "
        f"the engine refuses it",
        "Leave the option out: the engine takes the smaller of both contexts by itself.",
    )
