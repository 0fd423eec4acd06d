"""For each rule a candidate on which it speaks and one on which it is silent."""

from __future__ import annotations

from collections.abc import Callable

from tests.preflight import rule_cases_heads as heads
from tests.preflight import rule_cases_pairs as pairs
from tests.preflight.rule_building import Case

_THEMES: tuple[Callable[[], list[Case]], ...] = (
    pairs.vocabulary_cases,
    pairs.context_cases,
    pairs.media_cases,
    pairs.parallel_cases,
    pairs.size_cases,
    pairs.quantised_cases,
    heads.trained_k_cases,
    heads.head_cases,
    heads.speculators_cases,
)
CASES = tuple(case for theme in _THEMES for case in theme())
