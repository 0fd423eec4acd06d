"""The keys of vLLM's --speculative-config: one row each, with domain and the releases that know it.

vLLM answers an unknown key or a bad value with a traceback after half a minute; here the same is said from the file.
Keys that the tuner writes itself (method, model, num_speculative_tokens) are no options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tuner.records import Json


class Kind(StrEnum):
    """What a value may be."""

    INT = "an integer"
    FLOAT = "a number"
    BOOL = "true or false"
    TEXT = "text"
    RATES = "a list of numbers in [0, 1] that never rise"
    SCHEDULE = "a list of [first batch size, last batch size, K]: first start 1, no overlap, K 0 or more"
    MAPPING = "a mapping"


@dataclass(frozen=True)
class Option:
    """One key.

    default: the engine's own, None where it decides by itself.  low, high: bounds of a number, included.
    since, until: first and last release that takes it.
    """

    kind: Kind
    default: Json = None
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    since: str = "0.8.5"
    until: str | None = None

    def problem(self, value: Json) -> str | None:
        """Return what is wrong with a value, None if nothing is."""
        if not _fits(self.kind, value):
            return f"must be {self.kind.value}"
        if self.choices and value not in self.choices:
            return f"must be one of {', '.join(self.choices)}"
        if isinstance(value, int | float) and not self.low <= value <= self.high:
            upper = f" and at most {self.high:g}" if math.isfinite(self.high) else ""
            return f"must be at least {self.low:g}{upper}"
        return None


def _fits(kind: Kind, value: Json) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case Kind.INT:
            return isinstance(value, int) and number
        case Kind.FLOAT:
            return number
        case Kind.BOOL:
            return isinstance(value, bool)
        case Kind.TEXT:
            return isinstance(value, str) and bool(value.strip())
        case Kind.RATES:
            return _are_rates(value)
        case Kind.SCHEDULE:
            return _is_schedule(value)
        case Kind.MAPPING:
            return isinstance(value, dict)


def _are_rates(value: Json) -> bool:
    if not isinstance(value, list) or not value:
        return False
    rates = [rate for rate in value if isinstance(rate, int | float) and not isinstance(rate, bool) and 0 <= rate <= 1]
    return len(rates) == len(value) and rates == sorted(rates, reverse=True)


def _is_schedule(value: Json) -> bool:
    if not isinstance(value, list) or not value:
        return False
    last_end = 0
    for row in value:
        if not isinstance(row, list) or len(row) != 3 or not all(_fits(Kind.INT, item) for item in row):
            return False
        start, end, k = (int(str(item)) for item in row)
        if start <= last_end or end < start or k < 0 or (last_end == 0 and start != 1):
            return False
        last_end = end
    return True


_COUNT = Option(Kind.INT, low=1)
_FLAG = Option(Kind.BOOL, False)
_TEXT = Option(Kind.TEXT)

VERIFICATION: Mapping[str, Option] = {
    "rejection_sample_method": Option(
        Kind.TEXT,
        "standard",
        choices=("standard", "block", "strict", "probabilistic", "synthetic", "fly"),
        since="0.18.0",
    ),
    "synthetic_acceptance_rate": Option(Kind.FLOAT, low=0, high=1, since="0.19.0", until="0.19.1"),
    "synthetic_acceptance_rates": Option(Kind.RATES, since="0.20.0"),
    "synthetic_acceptance_length": Option(Kind.FLOAT, low=1, since="0.20.0"),
    "fly_window_size": replace(_COUNT, since="0.33.0"),
    "fly_entropy_threshold": Option(Kind.FLOAT, low=0, since="0.33.0"),
    "fly_entropy_top_k": replace(_COUNT, default=3, since="0.33.0"),
    "num_speculative_tokens_per_batch_size": Option(Kind.SCHEDULE, since="0.24.0"),
    "disable_by_batch_size": Option(Kind.INT, low=2, until="0.16.0"),
    "disable_logprobs": Option(Kind.BOOL, True, until="0.11.0"),
    "disable_mqa_scorer": replace(_FLAG, until="0.9.2"),
    "acceptance_method": Option(
        Kind.TEXT, "rejection_sampler", choices=("rejection_sampler", "typical_acceptance_sampler"), until="0.9.2"
    ),
    "posterior_threshold": Option(Kind.FLOAT, low=0, until="0.9.2"),
    "posterior_alpha": Option(Kind.FLOAT, low=0, until="0.9.2"),
}
"""Options of every method: how drafts are verified, and when."""

DRAFT: Mapping[str, Option] = {
    "draft_tensor_parallel_size": _COUNT,
    "quantization": _TEXT,
    "max_model_len": _COUNT,
    "revision": _TEXT,
    "code_revision": _TEXT,
    "enforce_eager": replace(_FLAG, default=None, since="0.11.0"),
    "draft_load_config": Option(Kind.MAPPING, since="0.17.0"),
    "use_local_argmax_reduction": replace(_FLAG, since="0.17.0"),
    "moe_backend": replace(_TEXT, since="0.19.0"),
    "attention_backend": replace(_TEXT, since="0.21.0"),
    "draft_sample_method": Option(Kind.TEXT, "greedy", choices=("greedy", "probabilistic", "gumbel"), since="0.21.0"),
    "kv_cache_dtype": replace(_TEXT, since="0.26.0"),
}
"""Options of every method that loads a model."""

LOOKUP: Mapping[str, Option] = {"prompt_lookup_max": _COUNT, "prompt_lookup_min": _COUNT}

DRAFT_MODEL: Mapping[str, Option] = {
    "parallel_drafting": replace(_FLAG, since="0.16.0"),
    "use_heterogeneous_vocab": replace(_FLAG, since="0.25.0"),
}

EAGLE: Mapping[str, Option] = {
    "speculative_token_tree": replace(_TEXT, since="0.9.0", until="0.20.2"),
    "disable_padded_drafter_batch": replace(_FLAG, since="0.11.0"),
    "parallel_drafting": replace(_FLAG, since="0.16.0"),
    "disable_eagle_block_drop": replace(_FLAG, since="0.30.0"),
    "disable_lookahead_block_hashes": replace(_FLAG, since="0.33.0"),
    "draft_lm_head_quantization": Option(Kind.TEXT, choices=("fp8", "nvfp4"), since="0.33.0"),
}

MTP: Mapping[str, Option] = {
    "disable_padded_drafter_batch": replace(_FLAG, since="0.11.0"),
    "index_share_for_mtp_iteration": replace(_FLAG, default=None, since="0.29.0"),
    "disable_eagle_block_drop": replace(_FLAG, since="0.30.0"),
    "draft_lm_head_quantization": Option(Kind.TEXT, choices=("fp8", "nvfp4"), since="0.33.0"),
}

BLOCK: Mapping[str, Option] = {"disable_eagle_block_drop": replace(_FLAG, since="0.30.0")}
"""Of drafts that propose a whole block; vLLM counts them among those that read the target's hidden states."""

DSPARK: Mapping[str, Option] = {
    **BLOCK,
    "enable_adaptive_verification": replace(_FLAG, since="0.28.0"),
    "dspark_draft_topk": replace(_COUNT, since="0.28.0"),
}

SUFFIX: Mapping[str, Option] = {
    "suffix_decoding_max_tree_depth": Option(Kind.INT, 24, low=1, since="0.11.1"),
    "suffix_decoding_max_cached_requests": Option(Kind.INT, 10000, low=0, since="0.11.1"),
    "suffix_decoding_max_spec_factor": Option(Kind.FLOAT, 1.0, low=0, since="0.11.1"),
    "suffix_decoding_min_token_prob": Option(Kind.FLOAT, 0.1, low=0, high=1, since="0.11.1"),
}
