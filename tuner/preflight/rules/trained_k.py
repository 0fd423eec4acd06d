"""How many tokens per step a draft was trained for.

vLLM 0.32.0, config/speculative.py: K above n_predict must be a multiple of it (MTP); Qwen3-Omni's DSpark draft takes
its trained block size alone. Other block drafters run beyond their block without a word; a DFlash block is one token
that is known and block_size - 1 that are proposed.
"""

from __future__ import annotations

from collections.abc import Mapping

from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice

_PREDICTED = ("n_predict", "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_ONE_LAYER = ("MiMoV2", "Gemma4")  # vLLM takes one layer of these whatever the config says
_OWN_LAYERS = ("step3p5", "step3p7", "inkling")
# vLLM takes these to have one such layer where their config names none, or reads it in a place of its own.
_ASSUMED = ("longcat_flash", "step3p5", "step3p7", "minimax_m3", "dots3_note", "nemotron_h", "inkling", "qwen3_next")


def mtp_layers(setting: Setting) -> Notice | None:
    """Method mtp on a model without such layers."""
    if setting.method != "mtp":
        return None
    model = setting.draft or setting.target
    known = "mtp" in model.model_type or "assistant" in model.model_type or model.model_type.startswith(_ASSUMED)
    if predicted_tokens(model) or known or any(_drafts(name) for name in model.tensors):
        return None
    return setting.about_draft(
        "no_mtp_layers",
        Level.ERROR,
        f"{model.reference} has no layers for multi-token prediction (config.json: none of {', '.join(_PREDICTED)})",
        "Use a model that was trained with them, or another method.",
    )


def mtp_multiple(setting: Setting) -> Notice | None:
    """K above the predicted tokens that is no multiple of them."""
    predicted = predicted_tokens(setting.draft or setting.target) if setting.method == "mtp" else None
    if not predicted or setting.k <= predicted or setting.k % predicted == 0:
        return None
    return setting.about_draft(
        "k_not_a_multiple",
        Level.ERROR,
        f"K = {setting.k} is above its {predicted} predicted tokens and no multiple of them: the engine refuses it",
        f"Use a K of at most {predicted}, or a multiple of it.",
        n_predict=predicted,
        k=setting.k,
    )


def mtp_reused(setting: Setting) -> Notice | None:
    """K above the predicted tokens runs the same layer again, for which it was not trained."""
    model = setting.draft or setting.target
    predicted = predicted_tokens(model) if setting.method == "mtp" else None
    if not predicted or setting.k <= predicted or setting.k % predicted or model.model_type.startswith(_OWN_LAYERS):
        return None
    return setting.about_draft(
        "mtp_layer_reused",
        Level.HINT,
        f"above K = {predicted} the same prediction layer runs several times: acceptance may fall faster",
        "",
        n_predict=predicted,
    )


def beyond_block(setting: Setting) -> Notice | None:
    """K beyond the block that a DFlash or DSpark draft was trained on."""
    size = block_size(setting.draft) if setting.draft and setting.method in ("dflash", "dspark") else None
    if size is None or setting.draft is None:
        return None
    most = size if _from_anchor(setting.draft, default=setting.method == "dspark") else size - 1
    if setting.k <= most:
        return None
    return setting.about_draft(
        "k_beyond_block",
        Level.ERROR,
        f"K = {setting.k} is more than the {most} tokens that its block of {size} was trained to propose",
        f"Use a K of at most {most}.",
        block_size=size,
        k=setting.k,
    )


def omni_block(setting: Setting) -> Notice | None:
    """Qwen3-Omni's DSpark draft takes exactly its block size."""
    draft = setting.draft
    if draft is None or setting.method != "dspark" or draft.architecture != "Qwen3OmniDSparkModel":
        return None
    size = block_size(draft)
    if size is None or setting.k >= size:
        return None
    return setting.about_draft(
        "k_not_the_block",
        Level.ERROR,
        f"K = {setting.k}, and a Qwen3-Omni DSpark draft takes exactly its block size, {size}",
        f"Use K = {size}.",
        block_size=size,
        k=setting.k,
    )


def _drafts(tensor: str) -> bool:
    """Whether a weight is of such a layer by its name ("mtp.fc.weight", "model.mtp_layers.0...")."""
    return any(part.startswith("mtp") for part in tensor.split("."))


def predicted_tokens(model: ModelFiles) -> int | None:
    """Return how many tokens a model's MTP layers predict; None where its config names none."""
    if model.architecture.startswith(_ONE_LAYER):
        return 1
    return model.integer(*_PREDICTED)


def block_size(draft: ModelFiles) -> int | None:
    """Return the trained block of a block drafter."""
    for name in ("block_size", "dspark_block_size"):
        for part in (_part(draft, "dflash_config"), draft.text):
            value = part.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _from_anchor(draft: ModelFiles, *, default: bool) -> bool:
    """Whether the block's first token, which is known, stands for a prediction too."""
    for part in (_part(draft, "dflash_config"), draft.text):
        if isinstance(part.get("sample_from_anchor"), bool):
            return bool(part["sample_from_anchor"])
    # Checkpoints in the speculators format do not sample from the anchor unless they say so.
    return default and "speculators_config" not in draft.config


def _part(draft: ModelFiles, name: str) -> Mapping[str, object]:
    found = draft.text.get(name)
    return found if isinstance(found, Mapping) else {}
