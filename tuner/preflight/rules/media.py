"""Models of more than text, and their positions.

vLLM 0.32.0, v1/spec_decode/llm_base_proposer.py (V1 model runner, draft models and parallel drafting): a draft with
M-RoPE is a NotImplementedError, a multimodal target a warning and text-only drafts.
"""

from __future__ import annotations

from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice


def mrope_draft(setting: Setting) -> Notice | None:
    """The draft has multimodal positions."""
    if setting.draft is None or setting.method != "draft_model" or not setting.draft.mrope:
        return None
    if setting.v2_runner:
        return setting.about_draft(
            "mrope_draft",
            Level.WARNING,
            "it has multimodal positions (M-RoPE): it runs on the V2 model runner alone, and this engine may take V1",
            "Take a text-only draft of the family.",
        )
    return setting.about_draft(
        "mrope_draft",
        Level.ERROR,
        "it has multimodal positions (M-RoPE), which the V1 model runner does not take for drafts",
        "Take a text-only draft of the family.",
    )


def multimodal_target(setting: Setting) -> Notice | None:
    """Draft models see the text of a multimodal prompt alone."""
    if not setting.target.media or setting.method != "draft_model":
        return None
    return setting.about_draft(
        "multimodal_target",
        Level.WARNING,
        "the target takes images or sound and a draft model sees the text alone: expect low acceptance on such prompts",
        "Measure with prompts like production's; eval sets here are text.",
    )


def multimodal_draft(setting: Setting) -> Notice | None:
    """A draft's encoders take memory and are not used."""
    if setting.draft is None or not setting.draft.media or setting.target.media or setting.method != "draft_model":
        return None
    return setting.about_draft(
        "multimodal_draft",
        Level.WARNING,
        "it takes images or sound and the target does not: its encoders take memory for nothing",
        "Take the text-only model of the family.",
    )
