"""The languages that pages are written in."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.page.chinese import CHINESE
from tuner.page.english import ENGLISH
from tuner.page.words import Words

LANGUAGES: Mapping[str, Words] = {"en": ENGLISH, "zh": CHINESE}
