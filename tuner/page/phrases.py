"""From a text that was made outside of the pages, in English, to another language.

Analysis, reports and records of earlier sweeps write English sentences. A phrasebook has each of them as it stands in
the source, with names for what is filled in, beside its translation. What fills a place is itself told by the
phrasebook: a sentence may hold another. A name, a figure or a line of a log is in no phrasebook and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import Formatter

_NUMBER = r"([-+]?\d(?:[\d.,]*\d)?(?:e-?\d+)?[x%]?)"
KINDS = {
    "": "(.+?)",
    "s": "(.+?)",
    "l": "(.+?)",
    "d": _NUMBER,
    "i": r"(\d+(?:, \d+)*)",
    "w": r"([^\s,;:()]+)",
    "o": "(.*?)",
    "u": "(.+?)",
}
"""What a place may hold, by what follows its name.

Nothing: anything within a sentence.  s: sentences.  l: a list.  d: a number.  i: whole numbers.  w: a word.
o: anything, or nothing.  u: the user's own words, which are told as a whole or not at all.
"""
_LIST_MARK = "\u3001"
_SENTENCES = re.compile(r"(?<=[.?!])\s+(?=[A-Z(\d]|\S+ K=\d)")
_SEPARATORS = (("; ", "；"), (": ", "："), (", ", "，"), (" and ", "和"))
_LISTED = re.compile(", | and ")
_BRACKETS = re.compile(r"([^()]*?) ?\(((?:[^()]|\([^()]*\))*)\)([^()]*)")
"""Brackets may hold brackets."""
_LATIN_WORD = re.compile(r"[A-Za-z]{2}")
_LATIN_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
_HAN = re.compile("[\u3000-\u9fff\uff00-\uffef]")
_SPACE_BETWEEN = re.compile("(?<=[\u3000-\u9fff\uff00-\uffef]) +(?=[\u3000-\u9fff\uff00-\uffef])")
_MOST_KEPT = 20_000


@dataclass(frozen=True)
class Phrase:
    """One text of the source and its translation.

    lists, open, users: names of places that hold lists, sentences, and the user's own words.  literal: what surely
    stands in the text, to look for it quickly.  ends: whether it has a full stop.
    """

    pattern: re.Pattern[str]
    names: tuple[str, ...]
    translation: str
    lists: frozenset[str]
    open: frozenset[str]
    users: frozenset[str]
    literal: str
    ends: bool


class Phrasebook:
    """Phrases of one language.  Longer ones are tried first: they say more exactly what they are of."""

    def __init__(self, phrases: Mapping[str, str]) -> None:
        ordered = sorted(phrases.items(), key=lambda item: -sum(len(text) for text, *_ in Formatter().parse(item[0])))
        self._exact = {source: text for source, text in phrases.items() if "{" not in source}
        self._phrases = [_phrase(source, text) for source, text in ordered if "{" in source]
        self.told = lru_cache(_MOST_KEPT)(self._told)

    def _told(self, text: str) -> str:
        """Return the text in the phrasebook's language, as far as it has phrases for it."""
        core = text.strip()
        if not _LATIN_WORD.search(core):
            return text
        found = self._as_it_is(core) or self._as_it_is(core[:1].lower() + core[1:]) or self._in_parts(core)
        if found is None:
            return text
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return _SPACE_BETWEEN.sub("", f"{before}{found}{after}")

    def _as_it_is(self, text: str) -> str | None:
        """Return a text that is a phrase, also one whose full stop was left out."""
        if not text.endswith(".") and (stopped := self._whole(f"{text}.")) is not None:
            return stopped.rstrip("。")
        return self._whole(text)

    def _whole(self, text: str) -> str | None:
        if text in self._exact:
            return self._exact[text]
        for phrase in self._phrases:
            # A sentence's full stop belongs to a phrase that has one, and not into a place.
            if (
                phrase.literal in text
                and phrase.ends == text.endswith(".")
                and (match := phrase.pattern.fullmatch(text))
            ):
                values = dict(zip(phrase.names, match.groups(), strict=True))
                if all(_fits(value, name in phrase.open | phrase.users) for name, value in values.items()):
                    told = {name: self._filled(value, phrase, name) for name, value in values.items()}
                    return phrase.translation.format(**told)
        return None

    def _filled(self, value: str, phrase: Phrase, name: str) -> str:
        if name in phrase.users:
            return self._wholly(value)
        return _LIST_MARK.join(map(self.told, _LISTED.split(value))) if name in phrase.lists else self.told(value)

    def _wholly(self, text: str) -> str:
        """Return the text told where each of its clauses is a phrase with nothing left over, else the text as it is."""
        clauses = [text] if self._as_it_is(text) else text.split("; ")
        told = [self._as_it_is(clause) for clause in clauses]
        known = [one for one in told if one is not None and not _LATIN_WORDS.search(one)]
        return "；".join(known) if len(known) == len(told) else text

    def _in_parts(self, text: str) -> str | None:
        """Return several sentences, or parts that are listed, each by itself; None where no part is known."""
        if text.endswith(".") and (stopless := self._as_it_is(text[:-1])) is not None:
            return f"{stopless.rstrip('。')}。"
        sentences = _SENTENCES.split(text)
        if len(sentences) > 1:
            told = [self.told(sentence) for sentence in sentences]
            return "".join(_spaced(told)) if told != sentences else None
        if text.endswith(".") and (bare := self.told(text[:-1])) != text[:-1]:
            return f"{bare}。"
        for separator, mark in _SEPARATORS:
            parts = _split(text, separator)
            if len(parts) > 1:
                told = [self.told(part) for part in parts]
                if told != parts:
                    return mark.join(told) if any(map(_HAN.search, told)) else separator.join(told)
        return self._around_brackets(text)

    def _around_brackets(self, text: str) -> str | None:
        """Return "what (more)" with both told; None where neither is known."""
        found = _BRACKETS.fullmatch(text)
        if found is None:
            return None
        what, more, rest = (self.told(part) for part in found.groups())
        if (what, more, rest) == found.groups():
            return None
        return f"{what}（{more}）{rest}" if _HAN.search(what + more) else f"{what} ({more}){rest}"


def _fits(value: str, is_open: bool) -> bool:
    """Whether a place can hold this: no half of something in brackets, and no second sentence unless it is open."""
    return _balanced(value) and (is_open or not _SENTENCES.search(value))


def _split(text: str, separator: str) -> list[str]:
    """Return the parts between separators that stand in no brackets."""
    parts: list[str] = []
    for part in text.split(separator):
        if parts and not _balanced(parts[-1]):
            parts[-1] += separator + part
        else:
            parts.append(part)
    return parts


def _balanced(text: str) -> bool:
    """Whether every bracket that is opened is closed, and none else; so the marks of bold text and code."""
    if text.count("**") % 2 or text.count("`") % 2:
        return False
    depth = 0
    for character in text:
        depth += (character in "(（") - (character in ")）")
        if depth < 0:
            return False
    return depth == 0


def _spaced(sentences: Sequence[str]) -> Iterator[str]:
    """Yield sentences with a space between two of which one is not Chinese."""
    for i, sentence in enumerate(sentences):
        joined = i == 0 or _HAN.match(sentences[i - 1][-1:]) is not None
        yield sentence if joined else f" {sentence}"


def _phrase(source: str, translation: str) -> Phrase:
    parts = [(text, name, kind or "") for text, name, kind, _ in Formatter().parse(source)]
    pattern = "".join(re.escape(text) + (KINDS[kind] if name is not None else "") for text, name, kind in parts)
    names = tuple(name for _, name, _ in parts if name is not None)
    literal = max((text for text, _, _ in parts), key=len)
    lists, open_, users = (
        frozenset(name for _, name, own in parts if name is not None and own == kind) for kind in "lsu"
    )
    return Phrase(
        re.compile(pattern, re.DOTALL), names, translation, lists, open_, users, literal.strip(), source.endswith(".")
    )
