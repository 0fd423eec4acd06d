"""What two models are to each other: vocabulary, context, media, GPUs, sizes, quantisation."""

from __future__ import annotations

from typing import Any

from tests.preflight.rule_building import (
    LONG,
    MROPE,
    SHUFFLED,
    Case,
    draft,
    files,
    parameters,
    plain,
    rows,
    same,
    setting,
    with_tokens,
    words,
)
from tuner.preflight.rules import Setting, context, media, parallel, quantised, sizes, vocabulary
from tuner.preflight.tensors import Tensor
from tuner.preflight.vocabulary import Vocabulary
from tuner.records.notice import Level


def vocabulary_cases() -> list[Case]:
    alike = setting(with_tokens(), draft(tokens=words()))
    padded = setting(with_tokens(vocab_size=8), draft(tokens=words()))
    other = setting(with_tokens(vocab_size=8), draft(tokens=words(SHUFFLED)))
    unlike = setting(with_tokens(), draft(tokens=words(SHUFFLED)))
    bridged = setting(with_tokens(vocab_size=8), draft(tokens=words(SHUFFLED)), use_heterogeneous_vocab=True)
    few = setting(
        files(tokens=Vocabulary(LONG), vocab_size=1024),
        draft(tokens=Vocabulary({**LONG, "new": 1000}), vocab_size=1024),
    )
    few_padded = setting(
        files(tokens=Vocabulary({**LONG, "t999": 1000, "<end>": 999}), vocab_size=1024),
        draft(tokens=Vocabulary(LONG), vocab_size=1000),
    )
    nameless = setting(with_tokens(vocab_size=None, tensors=rows(8)), draft(tokens=words()))
    eagle = setting(with_tokens(vocab_size=8), draft(tokens=words()), method="eagle")
    base = draft(tokens=words(eos="<s>"))
    foreign: dict[str, Any] = {"use_heterogeneous_vocab": True}
    little = setting(with_tokens(), draft(tokens=Vocabulary({"x": 0, "y": 1, "a": 2})), **foreign)
    much = setting(with_tokens(), draft(tokens=words(SHUFFLED)), **foreign)
    wrong = draft(tensors=rows(5))
    output = draft(tensors={**rows(4), **rows(5, "lm_head.weight")})
    return [
        media_rows(),
        same("padded_vocab_size", Level.ERROR, vocabulary.padded_size, padded, alike, other, bridged, eagle),
        same("padded_vocab_size", Level.ERROR, vocabulary.padded_size, few_padded, few, other),
        same("padded_vocab_size", Level.ERROR, vocabulary.padded_size, nameless, alike),
        same("different_vocabulary", Level.ERROR, vocabulary.different, other, alike, padded, few_padded, unlike),
        same("different_vocabulary", Level.ERROR, vocabulary.different, other, bridged),
        same("different_vocabulary", Level.ERROR, vocabulary.different, setting(files(vocab_size=8), draft()), alike),
        same(
            "different_tokenizer_same_size", Level.WARNING, vocabulary.different_tokenizer_same_size, unlike, alike, few
        ),
        same("some_tokens_differ", Level.HINT, vocabulary.some_tokens_differ, few, alike, unlike),
        same(
            "end_token_differs", Level.HINT, vocabulary.end_token_differs, setting(with_tokens(), base), alike, unlike
        ),
        same("tokens_not_compared", Level.HINT, vocabulary.not_compared, setting(with_tokens(), draft()), alike),
        same("little_shared_vocabulary", Level.WARNING, vocabulary.little_shared, little, much, alike),
        same(
            "embedding_rows_differ",
            Level.ERROR,
            vocabulary.draft_rows,
            setting(draft=wrong),
            setting(draft=draft(tensors=rows(4))),
            setting(draft=wrong, method="eagle"),
        ),
        same("embedding_rows_differ", Level.ERROR, vocabulary.draft_rows, setting(draft=output), alike),
        same(
            "embedding_rows_differ",
            Level.ERROR,
            vocabulary.target_rows,
            plain(files(tensors=rows(6))),
            plain(files(tensors=rows(4))),
            plain(files(tensors=rows(6)), {"load_format": "dummy"}),
            plain(files(tensors={"model.embed_tokens.weight": Tensor("I32", (1, 64), 256)})),
        ),
    ]


def media_rows() -> Case:
    seeing = files(tensors=rows(6), vision_config={"depth": 2})
    return same("embedding_rows_differ", Level.WARNING, vocabulary.target_rows, plain(seeing))


def context_cases() -> list[Case]:
    short = draft(max_position_embeddings=2048)
    return [
        same(
            "max_model_len_beyond_context",
            Level.ERROR,
            context.beyond_trained,
            plain(args={"max_model_len": "8k"}),
            plain(args={"max_model_len": 4096}),
            plain(),
            plain(args={"max_model_len": 8192}, VLLM_ALLOW_LONG_MAX_MODEL_LEN="1"),
            plain(args={"max_model_len": 8192, "hf_overrides": {"rope_scaling": {}}}),
            plain(files(model_max_length=8192), {"max_model_len": 8192}),
            plain(files(), {"max_model_len": 8192, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}),
            plain(files(), {"max_model_len": 8192, "hf_config_path": "/other"}),
        ),
        same(
            "draft_context_shorter",
            Level.WARNING,
            context.shorter_draft,
            setting(draft=short),
            setting(draft=draft()),
            setting(draft=short, args={"max_model_len": 2048}),
            setting(method="ngram"),
        ),
        same("draft_context_shorter", Level.WARNING, context.shorter_draft, setting(draft=draft(), max_model_len=1024)),
        same(
            "draft_max_model_len_too_long",
            Level.ERROR,
            context.draft_limit_too_long,
            setting(draft=short, max_model_len=4096),
            setting(draft=short, max_model_len=2048),
            setting(draft=short),
        ),
    ]


def media_cases() -> list[Case]:
    seeing: dict[str, Any] = {"vision_config": {"depth": 2}}
    mrope = draft(**MROPE)
    return [
        same(
            "mrope_draft",
            Level.ERROR,
            media.mrope_draft,
            setting(draft=mrope),
            setting(draft=draft()),
            setting(files(**MROPE), draft()),
        ),
        same(
            "mrope_draft",
            Level.WARNING,
            media.mrope_draft,
            setting(draft=mrope, build="cuda"),
            setting(draft=mrope, method="eagle"),
        ),
        same(
            "multimodal_target",
            Level.WARNING,
            media.multimodal_target,
            setting(files(**seeing), draft()),
            setting(draft=draft()),
        ),
        same(
            "multimodal_draft",
            Level.WARNING,
            media.multimodal_draft,
            setting(draft=draft(**seeing)),
            setting(draft=draft()),
            setting(files(**seeing), draft(**seeing)),
        ),
    ]


def parallel_cases() -> list[Case]:
    three, four = {"tensor_parallel_size": 3}, {"tensor_parallel_size": 4}
    return [
        same(
            "heads_not_divisible",
            Level.ERROR,
            parallel.target_heads,
            plain(args=three),
            plain(args=four),  # two key and value heads are copied to four GPUs
            plain(),
        ),
        same(
            "heads_not_divisible",
            Level.ERROR,
            parallel.target_heads,
            plain(files(num_attention_heads=12, num_key_value_heads=3), four),
        ),
        same(
            "heads_not_divisible",
            Level.ERROR,
            parallel.draft_heads,
            setting(draft=draft(num_attention_heads=9), args=four),
            setting(draft=draft(), args=four),
            setting(draft=draft(num_attention_heads=9), args=four, draft_tensor_parallel_size=1),
        ),
        same(
            "draft_tensor_parallel_size",
            Level.ERROR,
            parallel.draft_size,
            setting(draft=draft(), args=four, draft_tensor_parallel_size=2),
            setting(draft=draft(), args=four, draft_tensor_parallel_size=4),
            setting(draft=draft(), args=four),
        ),
        same(
            "draft_tensor_parallel_size",
            Level.ERROR,
            parallel.draft_size,
            setting(draft=draft(), args=four, draft_tensor_parallel_size=1),
            setting(draft=draft(), args=four, draft_tensor_parallel_size=1, build="cuda"),
            setting(draft=draft(), args=four, draft_tensor_parallel_size=1, method="eagle"),
        ),
    ]


def size_cases() -> list[Case]:
    def pair(target: float, of_draft: float, method: str = "draft_model") -> Setting:
        return setting(files(tensors=parameters(target)), draft(tensors=parameters(of_draft)), method=method)

    return [
        same(
            "draft_not_smaller",
            Level.WARNING,
            sizes.not_smaller,
            pair(7, 7),
            pair(7, 6.9),
            pair(7, 7, "eagle"),
            setting(),
        ),
        same(
            "unusual_draft_size",
            Level.HINT,
            sizes.unusual_size,
            pair(7, 3),
            pair(7, 0.49),
            pair(7, 1.24),
            pair(1, 0.01),
        ),
        same("unusual_draft_size", Level.HINT, sizes.unusual_size, pair(13, 0.5), pair(13, 1), pair(13, 3)),
        same("unusual_draft_size", Level.HINT, sizes.unusual_size, pair(70, 13), pair(70, 7), pair(70, 0.5)),
        same(
            "small_target",
            Level.HINT,
            sizes.small_target,
            plain(files(tensors=parameters(1))),
            plain(files(tensors=parameters(7))),
            plain(),
        ),
        same(
            "other_family",
            Level.HINT,
            sizes.other_family,
            setting(draft=draft(model_type="qwen2")),
            setting(draft=draft()),
            setting(files(model_type="qwen3_moe"), draft(model_type="qwen3")),
            setting(draft=draft(model_type="qwen2"), method="eagle"),
        ),
    ]


def quantised_cases() -> list[Case]:
    awq: dict[str, Any] = {"quantization_config": {"quant_method": "awq"}}
    return [
        same("quantised_target", Level.HINT, quantised.target, plain(files(**awq)), plain()),
        same("quantised_target", Level.HINT, quantised.target, plain(args={"quantization": "fp8"})),
        same(
            "quantised_draft", Level.HINT, quantised.draft, setting(draft=draft(**awq)), setting(files(**awq), draft())
        ),
        same("quantised_draft", Level.HINT, quantised.draft, setting(draft=draft(), quantization="fp8"), setting()),
    ]
