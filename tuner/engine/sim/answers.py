"""What the simulated engine says: a made-up vocabulary, and answers that depend on the prompt alone."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.engine.sim.draws import generator
from tuner.engine.sim.profile import Answers

EOS = 2
_FIRST_WORD_ID = 1000
_SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "ze", "fo", "gi", "hu", "ya")
# No word needs an escape in JSON, so that chunks can be put together from ready pieces.
WORDS = tuple(" " + a + b + c for a, b, c in itertools.product(_SYLLABLES, _SYLLABLES, ("", "n", "s", "r")))
# Ids that carry no text, such as the end of the answer, are not in here.
TEXTS = {_FIRST_WORD_ID + i: word for i, word in enumerate(WORDS)}
_WORD_IDS = range(_FIRST_WORD_ID, _FIRST_WORD_ID + len(WORDS))
_ALTERNATIVES = 4


@dataclass(frozen=True)
class Answer:
    """Token ids of a whole answer.  finish_reason: "stop" (the last id is the end token) or "length"."""

    token_ids: tuple[int, ...]
    finish_reason: str


def text_of(token_ids: Sequence[int]) -> str:
    """Return the text of token ids."""
    return "".join([TEXTS.get(token_id, "") for token_id in token_ids])


def prompt_token_ids(prompt: str) -> list[int]:
    """Return one id per white-space separated word of a prompt (at least one)."""
    words = prompt.split() or [""]
    return [_WORD_IDS[zlib.crc32(word.encode()) % len(WORDS)] for word in words]


def count_prompt_tokens(prompt: str) -> int:
    """Return the length of a prompt in tokens: its words, at least 1."""
    return len(prompt.split()) or 1


def _answer_length(lengths: Answers, key: Sequence[object]) -> int:
    spread = lengths.spread * generator("length", *key).gauss(0.0, 1.0)
    return max(1, round(lengths.median_tokens * math.exp(spread)))


def _words(key: Sequence[object], alternative: int, size: int) -> list[int]:
    return generator("answer", *key, alternative).choices(_WORD_IDS, k=size)


def _finish(words: list[int], own_length: int, limit: int, ignore_eos: bool) -> Answer:
    if ignore_eos or own_length > limit:
        return Answer(tuple(words), "length")
    return Answer((*words[:-1], EOS), "stop")


def greedy_answer(lengths: Answers, key: Sequence[object], limit: int, ignore_eos: bool) -> Answer:
    """Return the answer that `key` (target and prompt) has at temperature 0, of at most `limit` tokens.

    A shorter limit gives the beginning of the same answer.
    """
    length = _answer_length(lengths, key)
    size = limit if ignore_eos else min(length, limit)
    return _finish(_words(key, 0, size), length, limit, ignore_eos)


def sampled_answer(
    lengths: Answers, key: Sequence[object], limit: int, ignore_eos: bool, temperature: float, draw: Sequence[object]
) -> Answer:
    """Return one sample of the answer that `key` has above temperature 0; equal `draw` gives an equal sample.

    Every token is one of four alternatives, the greedy one first, with chances softmax(-i / temperature).
    """
    length = _answer_length(lengths, draw)
    size = limit if ignore_eos else min(length, limit)
    alternatives = [_words(key, i, size) for i in range(_ALTERNATIVES)]
    weights = [math.exp(-i / temperature) for i in range(_ALTERNATIVES)]
    chosen = generator("sample", *draw).choices(alternatives, weights, k=size)
    return _finish([words[i] for i, words in enumerate(chosen)], length, limit, ignore_eos)
