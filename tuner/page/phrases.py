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
KINDS = {"": "(.+?)", "l": "(.+?)", "d": _NUMBER, "i": r"(\d+(?:, \d+)*)", "w": r"([^\s,;:()]+)", "o": "(.*?)"}
"""What a place may hold, by what follows its name.

Nothing: anything.  l: a list.  d: a number.  i: whole numbers.  w: a word.  o: anything, or nothing.
"""
_LIST_MARK = "\u3001"
_SENTENCES = re.compile(r"(?<=[.?!])\s+(?=[A-Z(\d])")
_SEPARATORS = (("; ", "；"), (": ", "："), (", ", "，"), (" and ", "和"))
_LISTED = re.compile(", | and ")
_BRACKETS = re.compile(r"([^()]*?) ?\(([^()]*)\)([^()]*)")
_LATIN_WORD = re.compile(r"[A-Za-z]{2}")
_HAN = re.compile("[\u3000-\u9fff\uff00-\uffef]")
_SPACE_BETWEEN = re.compile("(?<=[\u3000-\u9fff\uff00-\uffef]) +(?=[\u3000-\u9fff\uff00-\uffef])")
_MOST_KEPT = 20_000


@dataclass(frozen=True)
class Phrase:
    """One text of the source and its translation.

    lists: names of places that hold lists.  literal: what surely stands in the text, to look for it quickly.
    """

    pattern: re.Pattern[str]
    names: tuple[str, ...]
    translation: str
    lists: frozenset[str]
    literal: str


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
        found = self._whole(core) or self._whole(core[:1].lower() + core[1:]) or self._in_parts(core)
        if found is None:
            return text
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return _SPACE_BETWEEN.sub("", f"{before}{found}{after}")

    def _whole(self, text: str) -> str | None:
        if text in self._exact:
            return self._exact[text]
        if f"{text}." in self._exact:
            return self._exact[f"{text}."].rstrip("。")
        for phrase in self._phrases:
            if phrase.literal in text and (match := phrase.pattern.fullmatch(text)):
                values = dict(zip(phrase.names, match.groups(), strict=True))
                if all(map(_balanced, values.values())):
                    told = {name: self._filled(value, name in phrase.lists) for name, value in values.items()}
                    return phrase.translation.format(**told)
        return None

    def _filled(self, value: str, is_list: bool) -> str:
        return _LIST_MARK.join(map(self.told, _LISTED.split(value))) if is_list else self.told(value)

    def _in_parts(self, text: str) -> str | None:
        """Return several sentences, or parts that are listed, each by itself; None where no part is known."""
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
    lists = frozenset(name for _, name, kind in parts if name is not None and kind == "l")
    return Phrase(re.compile(pattern, re.DOTALL), names, translation, lists, literal.strip())
