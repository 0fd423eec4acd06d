"""Models and candidates for the cases of rules, as their files would show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules import Rule, Setting
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
