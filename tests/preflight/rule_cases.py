"""For each rule a candidate on which it speaks and one on which it is silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules import (
    Rule,
    Setting,
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
from tuner.preflight.tensors import Tensor
from tuner.preflight.vocabulary import Vocabulary, compare
from tuner.records import Json, Speculation
from tuner.records.notice import Level

TOKENS = {"<s>": 0, "</s>": 1, "a": 2, "b": 3}
CONFIG: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 4,
    "hidden_size": 64,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
SPECULATORS: Mapping[str, Any] = {
    "speculators_model_type": "eagle3",
    "speculators_config": {"verifier": {"name_or_path": "org/target"}, "proposal_methods": [{"speculative_tokens": 3}]},
    "transformer_layer_config": {**CONFIG},
}


def words(tokens: Mapping[str, int] = TOKENS, eos: str = "</s>") -> Vocabulary:
    return Vocabulary(tokens, frozenset(), {"eos_token": tokens[eos]})


def parameters(billions: float) -> dict[str, Tensor]:
    """One matrix of a model of that size; no name that a rule knows."""
    rows = round(billions * 1000)
    return {"model.layers.0.mlp.down_proj.weight": Tensor("BF16", (rows, 10**6), 2 * rows * 10**6)}


def rows(number: int, name: str = "model.embed_tokens.weight") -> dict[str, Tensor]:
    return {name: Tensor("BF16", (number, 64), 128 * number)}


def files(
    name: str = "target",
    *,
    tokens: Vocabulary | None = None,
    tensors: Mapping[str, Tensor] | None = None,
    plain: bool = True,
    **config: Any,
) -> ModelFiles:
    """A model.  plain: with the usual config; entries of `config` replace its own, None removes one."""
    merged = {**(CONFIG if plain else {}), **config}
    kept = {key: value for key, value in merged.items() if value is not None}
    return ModelFiles(name, f"org/{name}", kept, tensors or {}, tokens)


def setting(
    target: ModelFiles | None = None,
    draft: ModelFiles | None = None,
    *,
    method: str = "draft_model",
    k: int = 3,
    args: Mapping[str, Json] | None = None,
    version: str = "0.32.0",
    build: str = "cpu",
    env: Mapping[str, str] | None = None,
    **options: Json,
) -> Setting:
    """A candidate with speculation."""
    one = target or files()
    comparison = None
    if draft and one.vocabulary and draft.vocabulary:
        comparison = compare(one.vocabulary, draft.vocabulary)
    spec = Speculation(method, k, "draft", draft.reference if draft else None, options)
    return Setting(one, args or {}, version, build, spec, draft, comparison, env or {})


def plain(target: ModelFiles | None = None, args: Mapping[str, Json] | None = None, **env: str) -> Setting:
    """A candidate without."""
    return Setting(target or files(), args or {}, "0.32.0", "cpu", env=env)


def draft(**what: Any) -> ModelFiles:
    return files("draft", **what)


def with_tokens(**config: Any) -> ModelFiles:
    return files(tokens=words(), **config)


SHUFFLED = {"<s>": 0, "</s>": 1, "b": 2, "a": 3}
LONG = {f"t{number}": number for number in range(1000)}
ALMOST = {**LONG, "t999": 1000}  # one id less, one id more
EAGLE3 = ["LlamaForCausalLMEagle3"]
MROPE: Mapping[str, Any] = {"rope_scaling": {"rope_type": "default", "mrope_section": [16, 24, 24]}}
FC = {"fc.weight": Tensor("BF16", (64, 128), 2 * 64 * 128)}


@dataclass(frozen=True)
class Case:
    """fires: the rule has to say `code` at `level` of it.  silent: it has nothing to say, one or several."""

    rule: Rule
    code: str
    level: Level
    fires: Setting
    silent: tuple[Setting, ...]


def same(code: str, level: Level, rule: Rule, fires: Setting, *silent: Setting) -> Case:
    return Case(rule, code, level, fires, silent)


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
    eagle = setting(with_tokens(vocab_size=8), draft(tokens=words()), method="eagle")
    base = draft(tokens=words(eos="<s>"))
    foreign: dict[str, Any] = {"use_heterogeneous_vocab": True}
    little = setting(with_tokens(), draft(tokens=Vocabulary({"x": 0, "y": 1, "a": 2})), **foreign)
    much = setting(with_tokens(), draft(tokens=words(SHUFFLED)), **foreign)
    wrong = draft(tensors=rows(5))
    output = draft(tensors={**rows(4), **rows(5, "lm_head.weight")})
    return [
        same("padded_vocab_size", Level.ERROR, vocabulary.padded_size, padded, alike, other, bridged, eagle),
        same("different_vocabulary", Level.ERROR, vocabulary.different, other, alike, padded, unlike, bridged),
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
            setting(draft=draft(), method="eagle"),  # weights in another format: nothing is known
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


_THEMES: tuple[Callable[[], list[Case]], ...] = (
    vocabulary_cases,
    context_cases,
    media_cases,
    parallel_cases,
    trained_k_cases,
    head_cases,
    speculators_cases,
    size_cases,
    quantised_cases,
)
CASES = tuple(case for theme in _THEMES for case in theme())
