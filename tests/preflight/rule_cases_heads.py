"""What was trained for a target: heads, block drafters, MTP layers, speculators checkpoints."""

from __future__ import annotations

from typing import Any

from tests.preflight.rule_building import EAGLE3, FC, SPECULATORS, Case, draft, files, plain, rows, same, setting
from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules import heads, speculators, trained_k
from tuner.preflight.tensors import Tensor
from tuner.records.notice import Level


def trained_k_cases() -> list[Case]:
    two = files(num_nextn_predict_layers=2)
    block = draft(block_size=8)
    anchored = draft(dflash_config={"block_size": 8, "sample_from_anchor": True})
    omni = draft(architectures=["Qwen3OmniDSparkModel"], block_size=4)
    return [
        same(
            "no_mtp_layers",
            Level.ERROR,
            trained_k.mtp_layers,
            setting(method="mtp"),
            setting(files(model_type="longcat_flash"), method="mtp"),
            setting(files(model_type="qwen3_next"), method="mtp"),
            setting(files(tensors={"mtp.fc.weight": Tensor("BF16", (64, 128), 16384)}), method="mtp"),
            setting(two, method="mtp"),
            setting(),
        ),
        same(
            "k_not_a_multiple",
            Level.ERROR,
            trained_k.mtp_multiple,
            setting(two, method="mtp", k=3),
            *(setting(two, method="mtp", k=k) for k in (1, 2, 4)),
            setting(files(num_nextn_predict_layers=2, architectures=["MiMoV2ForCausalLM"]), method="mtp", k=3),
        ),
        same(
            "mtp_layer_reused",
            Level.HINT,
            trained_k.mtp_reused,
            setting(two, method="mtp", k=4),
            setting(two, method="mtp", k=2),
            setting(files(num_nextn_predict_layers=1, model_type="step3p5"), method="mtp"),
        ),
        same(
            "k_beyond_block",
            Level.ERROR,
            trained_k.beyond_block,
            setting(draft=block, method="dflash", k=8),
            setting(draft=block, method="dflash", k=7),
            setting(draft=anchored, method="dflash", k=8),
            setting(draft=block, method="dspark", k=8),
            setting(draft=block, k=8),
        ),
        same(
            "k_not_the_block",
            Level.ERROR,
            trained_k.omni_block,
            setting(draft=omni, method="dspark", k=3),
            setting(draft=omni, method="dspark", k=4),
            setting(draft=block, method="dspark", k=3),
        ),
    ]


def head_cases() -> list[Case]:
    head = draft(architectures=EAGLE3)
    reads: dict[str, Any] = {"eagle_aux_hidden_state_layer_ids": [2, 4, 9]}
    three = {"fc.weight": Tensor("BF16", (64, 192), 2 * 64 * 192)}
    return [
        same(
            "head_as_draft_model",
            Level.ERROR,
            heads.head_as_draft_model,
            setting(draft=head),
            setting(draft=head, method="eagle3"),
            setting(draft=draft()),
            setting(draft=draft(architectures=["Eagle2_5_VLForConditionalGeneration"])),
        ),
        same("head_as_draft_model", Level.ERROR, heads.head_as_draft_model, setting(draft=draft(tensors=FC))),
        same(
            "model_as_head",
            Level.ERROR,
            heads.model_as_head,
            setting(draft=draft(tensors=rows(4)), method="eagle"),
            setting(draft=draft(tensors=FC), method="eagle"),
            setting(draft=draft(tensors={"eagle_linear.weight": FC["fc.weight"]}), method="eagle"),  # Mistral's name
            setting(draft=draft(), method="eagle"),  # weights in another format: nothing is known
        ),
        same(
            "no_language_model",
            Level.ERROR,
            heads.no_language_model,
            setting(draft=draft(architectures=["LlamaForSequenceClassification"])),
            setting(draft=draft()),
            setting(draft=draft(architectures=None)),
            setting(draft=draft(architectures=["BertModel"]), method="eagle"),
        ),
        same(
            "no_language_model",
            Level.ERROR,
            heads.no_language_model,
            setting(draft=draft(architectures=["T5ForConditionalGeneration"], is_encoder_decoder=True)),
            setting(draft=draft(architectures=["Qwen2_5_VLForConditionalGeneration"])),
        ),
        same(
            "other_kind_of_head",
            Level.ERROR,
            heads.other_kind,
            setting(draft=head, method="eagle"),
            setting(draft=head, method="eagle3"),
            setting(draft=draft(tensors=three), method="eagle3"),
        ),
        same("other_kind_of_head", Level.ERROR, heads.other_kind, setting(draft=draft(tensors=three), method="eagle")),
        same(
            "head_for_another_target",
            Level.ERROR,
            heads.hidden_size,
            setting(draft=draft(hidden_size=128), method="eagle3"),
            setting(draft=draft(hidden_size=128, target_hidden_size=64), method="eagle3"),
            setting(draft=draft(hidden_size=128)),
        ),
        same(
            "head_reads_missing_layers",
            Level.ERROR,
            heads.layers,
            setting(draft=draft(**reads), method="eagle3"),
            setting(files(num_hidden_layers=9), draft(**reads), method="eagle3"),
            setting(draft=draft(), method="eagle3"),
        ),
        same(
            "head_vocab_size",
            Level.WARNING,
            heads.vocabulary,
            setting(draft=draft(vocab_size=8), method="eagle3"),
            setting(draft=draft(draft_vocab_size=2), method="eagle3"),
            setting(draft=draft(vocab_size=8)),
        ),
    ]


def speculators_cases() -> list[Case]:
    def head(**changed: Any) -> ModelFiles:
        return files("draft", plain=False, **{**SPECULATORS, **changed})

    peagle = head(speculators_model_type="peagle")
    return [
        same("speculators_as_target", Level.ERROR, speculators.as_target, plain(head()), plain()),
        same(
            "speculators_kind_unknown",
            Level.ERROR,
            speculators.unknown_kind,
            setting(draft=head(speculators_model_type="hass"), method="eagle3"),
            setting(draft=head(), method="eagle3"),
            setting(draft=draft()),
        ),
        same(
            "speculators_method",
            Level.ERROR,
            speculators.method,
            setting(draft=head(), method="eagle"),
            setting(draft=head(), method="eagle3"),
            setting(draft=peagle, method="eagle3"),
        ),
        same(
            "speculators_parallel",
            Level.ERROR,
            speculators.parallel,
            setting(draft=peagle, method="eagle3"),
            setting(draft=peagle, method="eagle3", parallel_drafting=True),
            setting(draft=head(), method="eagle3"),
        ),
        same(
            "speculators_verifier",
            Level.HINT,
            speculators.verifier,
            setting(files("other"), head(), method="eagle3"),
            setting(draft=head(), method="eagle3"),
            setting(draft=draft()),
        ),
        same(
            "speculators_tokens",
            Level.HINT,
            speculators.tokens,
            setting(draft=head(), method="eagle3", k=4),
            setting(draft=head(), method="eagle3", k=3),
            setting(draft=draft()),
        ),
    ]
