"""What files alone tell about a candidate: one function a rule, one file a theme, one row a rule in these tables."""

from tuner.preflight.rules import (
    context,
    heads,
    media,
    parallel,
    quantised,
    sizes,
    speculators,
    trained_k,
    vocabulary,
)
from tuner.preflight.rules.setting import Rule, Setting

TARGET_RULES: tuple[Rule, ...] = (
    speculators.as_target,
    vocabulary.target_rows,
    context.beyond_trained,
    parallel.target_heads,
    quantised.target,
    sizes.small_target,
)
"""Asked of every baseline."""

DRAFT_RULES: tuple[Rule, ...] = (
    speculators.unknown_kind,
    speculators.method,
    speculators.parallel,
    speculators.verifier,
    speculators.tokens,
    heads.head_as_draft_model,
    heads.no_language_model,
    heads.model_as_head,
    heads.other_kind,
    heads.hidden_size,
    heads.layers,
    heads.vocabulary,
    vocabulary.padded_size,
    vocabulary.different,
    vocabulary.different_tokenizer_same_size,
    vocabulary.some_tokens_differ,
    vocabulary.end_token_differs,
    vocabulary.not_compared,
    vocabulary.little_shared,
    vocabulary.draft_rows,
    context.shorter_draft,
    context.draft_limit_too_long,
    media.mrope_draft,
    media.multimodal_target,
    media.multimodal_draft,
    parallel.draft_heads,
    parallel.draft_size,
    trained_k.mtp_layers,
    trained_k.mtp_multiple,
    trained_k.mtp_reused,
    trained_k.beyond_block,
    trained_k.omni_block,
    quantised.draft,
    sizes.not_smaller,
    sizes.unusual_size,
    sizes.other_family,
)
"""Asked of every candidate with speculation."""

__all__ = ["DRAFT_RULES", "TARGET_RULES", "Rule", "Setting"]
