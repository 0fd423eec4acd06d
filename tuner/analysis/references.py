"""Whether an answer has what the prompt's reference says: cheap, literal, and the same for both arms.

It is no grader. A long reference (a translation, a summary) is rarely met word for word; what counts is that an engine
does not meet clearly fewer of them than the same engine without speculation.
"""

from __future__ import annotations

import re
import unicodedata

_CJK = r"\u3040-\u30ff\u3400-\u9fff"
# A minus between two numbers or words is no sign: 2024-03-01, K-7781.
_NUMBER = re.compile(r"(?:(?<![\w)}])-)?\d+(?:,\d{3}(?!\d))*(?:\.\d+)?")
_TOKEN = re.compile(rf"{_NUMBER.pattern}|[{_CJK}]|[^\W\d{_CJK}]+")
_LEADING = frozenset({"the", "a", "an", "at", "about"})
_COUNTING = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
LONGEST_NUMERIC = 6
"""Tokens of the longest reference that is compared by its numbers: "Lena is 36, her brother 12"."""


def reference_found(reference: str, text: str) -> bool:
    """Whether the reference answer is in the text.

    Found: its words and numbers in their order, next to each other, whatever the case, spacing and punctuation. A short
    reference with numbers is found too where the last numbers of the text are its own: answers to sums end with their
    result. A bare number is found only so: any text on a sum has a 2 somewhere.
    """
    wanted = _tokens(reference)
    if len(wanted) > 1 and wanted[0] in _LEADING:
        wanted = wanted[1:]
    if not wanted:
        return False
    short, numbers = len(wanted) <= LONGEST_NUMERIC, _numbers(reference)
    if wanted[0] in _COUNTING and len(wanted) == 1:
        numbers = [float(_COUNTING.index(wanted[0]))]
    if short and numbers and _numbers(text)[-len(numbers) :] == numbers:
        return True
    if short and len(numbers) == len(wanted) and wanted[0] not in _COUNTING:
        return False
    return f" {' '.join(wanted)} " in f" {' '.join(_tokens(text))} "


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").casefold()


def _tokens(text: str) -> list[str]:
    """Return words and numbers; Chinese and Japanese have no spaces, there each character is one."""
    return [token.replace(",", "") for token in _TOKEN.findall(_plain(text))]


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(_plain(text))]
