"""EAGLE heads and block drafters read the hidden states of one target: that of another has other ones.

vLLM 0.32.0: model_executor/models/llama_eagle.py (fc reads 2 x hidden_size), llama_eagle3.py (fc reads
target_hidden_size, or else hidden_size, of each of its auxiliary layers); a mismatch fails while weights load.
"""

from __future__ import annotations

from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice

_HEADS = ("eagle", "eagle3", "dflash", "dspark")
_NO_DRAFTS = ("ForSequenceClassification", "ForTokenClassification", "ForMaskedLM", "ForRewardModel", "BertModel")
_ANOTHER = "Get the head that was trained for this target."


def head_as_draft_model(setting: Setting) -> Notice | None:
    """A head is no language model: it cannot draft by itself."""
    kind = _kind(setting.draft) if setting.draft and setting.method == "draft_model" else None
    if kind is None:
        return None
    return setting.about_draft(
        "head_as_draft_model",
        Level.ERROR,
        f"it is a head for method {kind}, which reads the target's hidden states, and no model by itself",
        f"Set `method: {kind}`.",
    )


def no_language_model(setting: Setting) -> Notice | None:
    """Encoders, classifiers and encoder-decoders write no next token."""
    draft = setting.draft
    if draft is None or setting.method != "draft_model":
        return None
    if not draft.architecture.endswith(_NO_DRAFTS) and draft.config.get("is_encoder_decoder") is not True:
        return None
    return setting.about_draft(
        "no_language_model",
        Level.ERROR,
        f"its architecture is {draft.architecture}: it does not write texts token by token, so it cannot draft",
        "Take a causal language model of the target's family (an architecture ...ForCausalLM).",
        architecture=draft.architecture,
    )


def model_as_head(setting: Setting) -> Notice | None:
    """A whole language model under a method that loads a head."""
    draft = setting.draft
    if draft is None or setting.method not in ("eagle", "eagle3") or not draft.tensors or _kind(draft):
        return None
    if any(name.split(".")[-2:] in (["fc", "weight"], ["eagle_linear", "weight"]) for name in draft.tensors):
        return None
    return setting.about_draft(
        "model_as_head",
        Level.ERROR,
        f"it is no {setting.method} head: its weights have no fc.weight, which reads the target's hidden states",
        "Set `method: draft_model` if it is a small language model.",
    )


def other_kind(setting: Setting) -> Notice | None:
    """An EAGLE-3 head under method eagle, or the other way round."""
    kind = _kind(setting.draft) if setting.draft and setting.method in ("eagle", "eagle3") else None
    if kind not in ("eagle", "eagle3") or kind == setting.method:
        return None
    return setting.about_draft(
        "other_kind_of_head",
        Level.ERROR,
        f"it is a head for method {kind}, and the method here is {setting.method}",
        f"Set `method: {kind}`.",
    )


def hidden_size(setting: Setting) -> Notice | None:
    """The head was trained on hidden states of another width."""
    draft, width = setting.draft, setting.target.hidden_size
    if draft is None or setting.method not in _HEADS or width is None:
        return None
    made_for = draft.integer("target_hidden_size") or draft.hidden_size
    if made_for is None or made_for == width:
        return None
    return setting.about_draft(
        "head_for_another_target",
        Level.ERROR,
        f"it was made for a target with hidden states of {made_for} numbers, and this target's have {width}",
        _ANOTHER,
        head_hidden_size=made_for,
        target_hidden_size=width,
    )


def layers(setting: Setting) -> Notice | None:
    """The head reads layers that the target does not have."""
    draft, number = setting.draft, setting.target.layers
    if draft is None or setting.method not in _HEADS or number is None:
        return None
    read = _layer_ids(draft)
    if not read or max(read) <= number:
        return None
    return setting.about_draft(
        "head_reads_missing_layers",
        Level.ERROR,
        f"it reads the target's layer {max(read)}, and this target has {number}: it was made for another",
        _ANOTHER,
        head_layers=list(read),
        target_layers=number,
    )


def vocabulary(setting: Setting) -> Notice | None:
    """The head's embedding is the target's, so their sizes are the same where both belong together."""
    draft = setting.draft
    if draft is None or setting.method not in _HEADS:
        return None
    own, wanted = draft.vocab_size, setting.target.vocab_size
    if own is None or wanted is None or own == wanted:
        return None
    return setting.about_draft(
        "head_vocab_size",
        Level.WARNING,
        f"its vocab_size is {own} and the target's {wanted}: was it made for this target?",
        _ANOTHER,
        draft_vocab_size=own,
        target_vocab_size=wanted,
    )


def _kind(draft: ModelFiles | None) -> str | None:
    """Return the method that a checkpoint's architecture shows, None where it shows none."""
    name = draft.architecture if draft else ""
    if "Eagle3" in name or name.startswith(("PEagle", "Peagle")):
        return "eagle3"
    if name.startswith("Eagle") and not name.startswith("Eagle2_5_VL"):  # a vision model of that name
        return "eagle"
    if "DFlash" in name:
        return "dflash"
    return "dspark" if "DSpark" in name else _kind_by_weights(draft)


def _kind_by_weights(draft: ModelFiles | None) -> str | None:
    """Many heads name the target's architecture as theirs; fc reads one hidden state beside an embedding, or three."""
    fc = (
        next((t for name, t in draft.tensors.items() if name in ("fc.weight", "model.fc.weight")), None)
        if draft
        else None
    )
    if fc is None or len(fc.shape) != 2:
        return None
    return "eagle" if fc.shape[1] == 2 * fc.shape[0] else "eagle3"


def _layer_ids(draft: ModelFiles) -> tuple[int, ...]:
    nested = draft.text.get("eagle_config") or draft.text.get("dflash_config")
    for part in (draft.text, nested if isinstance(nested, dict) else {}):
        for name in ("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids", "target_layer_ids"):
            ids = part.get(name)
            if isinstance(ids, list) and ids and all(isinstance(number, int) for number in ids):
                return tuple(ids)
    return ()
