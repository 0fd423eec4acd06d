"""Token maps: which text each token id stands for in a model, and how two models differ in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from tuner.preflight.engine_python import ScriptFailed, run_script

ROLES = ("bos_token", "eos_token", "pad_token", "unk_token")


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer's token map.

    tokens: id by token text, added tokens included.  added: texts of the added ones.  special: id by role (see ROLES),
    of the roles that the tokenizer's files name.
    """

    tokens: Mapping[str, int]
    added: frozenset[str] = frozenset()
    special: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Token text by id."""
        return {number: text for text, number in self.tokens.items()}

    @cached_property
    def sha256(self) -> str:
        """Hash of the map: equal where each id stands for the same text."""
        lines = sorted((number, text) for text, number in self.tokens.items())
        return hashlib.sha256(json.dumps(lines, ensure_ascii=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        """The smallest integer vocab_size that has room for every token: the largest id plus one."""
        return max(self.tokens.values(), default=-1) + 1


@dataclass(frozen=True)
class Comparison:
    """Target's token map against a draft's.

    conflicting: ids that stand for one text there and for another here.  only_target, only_draft: ids that only one of
    both has.  first: the smallest id that is not the same in both, with target's text and the draft's (None: no token).
    shared: texts that both have, at whatever id and with whatever sign for a leading space.
    """

    target_tokens: int
    draft_tokens: int
    conflicting: int
    only_target: int
    only_draft: int
    first: tuple[int, str | None, str | None] | None
    shared: int

    @property
    def differing(self) -> int:
        """Ids that are not the same in both."""
        return self.conflicting + self.only_target + self.only_draft

    @property
    def same(self) -> bool:
        """Whether each id stands for the same text in both."""
        return self.differing == 0

    @property
    def conflicting_share(self) -> float:
        """Share of the ids with a token in both that stand for different texts; 1 where no id has."""
        both = self.target_tokens - self.only_target
        return self.conflicting / both if both > 0 else 1.0


def compare(target: Vocabulary, draft: Vocabulary) -> Comparison:
    """Return how two token maps differ."""
    if target.tokens == draft.tokens:  # the usual case, and the quick one
        size = len(target.texts)
        return Comparison(size, size, 0, 0, 0, None, len({_plain(text) for text in target.tokens}))
    conflicting = only_target = only_draft = 0
    first: tuple[int, str | None, str | None] | None = None
    for number in sorted(target.texts.keys() | draft.texts.keys()):
        one, other = target.texts.get(number), draft.texts.get(number)
        if one == other:
            continue
        first = first or (number, one, other)
        conflicting += one is not None and other is not None
        only_target += other is None
        only_draft += one is None
    shared = len({_plain(text) for text in target.tokens} & {_plain(text) for text in draft.tokens})
    sizes = len(target.texts), len(draft.texts)
    return Comparison(*sizes, conflicting, only_target, only_draft, first, shared)


def _plain(text: str) -> str:
    """Byte-level tokenizers write a leading space as one sign, sentencepiece as another."""
    return " " + text[1:] if text[:1] in ("Ġ", "▁") else text


def read_vocabulary(directory: Path, *, python: str, trust_remote_code: bool = False) -> Vocabulary | None:
    """Return the token map in `directory`; None where there is none, or none that can be read.

    tokenizer.json is read here; any other tokenizer (sentencepiece, tiktoken) by a script in the engine's Python.
    """
    path = directory / "tokenizer.json"
    try:
        if path.is_file():
            return _parsed(path.read_bytes(), tuple(_special_tokens(directory).items()))
        request = {"tokenizer": str(directory), "trust_remote_code": trust_remote_code}
        answer = run_script(python, "token_map.py", request, timeout_s=120.0)
    except (ScriptFailed, OSError, ValueError, KeyError, TypeError):
        return None
    return Vocabulary(answer["tokens"], frozenset(answer["added"]), answer["special"])


@lru_cache(maxsize=4)
def _parsed(data: bytes, roles: tuple[tuple[str, str], ...]) -> Vocabulary:
    """Drafts of one family have the very same file, and it is megabytes."""
    document = json.loads(data)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    return parse_tokenizer(document, dict(roles))


def parse_tokenizer(document: Mapping[str, Any], roles: Mapping[str, str] | None = None) -> Vocabulary:
    """Return the token map of a tokenizer.json.

    roles: token text by role.  Raises KeyError, TypeError or ValueError for what is no tokenizer.
    """
    added = {str(token["content"]): int(token["id"]) for token in document.get("added_tokens") or ()}
    tokens = {**dict(_model_tokens(document["model"]["vocab"])), **added}
    special = {role: tokens[text] for role, text in (roles or {}).items() if text in tokens}
    return Vocabulary(tokens, frozenset(added), special)


def _model_tokens(vocab: Mapping[str, int] | Iterable[tuple[str, float]]) -> Iterable[tuple[str, int]]:
    """Return the model's own tokens: a map in BPE, WordPiece and WordLevel, a list of pieces with scores in Unigram."""
    if isinstance(vocab, Mapping):
        return vocab.items()
    return ((piece, number) for number, (piece, _) in enumerate(vocab))


def _special_tokens(directory: Path) -> dict[str, str]:
    """Return token text by role, from either of the two files that may say so."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        path = directory / name
        stored = _json(path) if path.is_file() else {}
        for role in ROLES:
            value = stored.get(role)
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str):
                found[role] = text
    return found


def _json(path: Path) -> dict[str, Any]:
    stored = json.loads(path.read_bytes())
    if not isinstance(stored, dict):
        raise ValueError(f"{path} is not a JSON object")
    return stored
