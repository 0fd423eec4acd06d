"""The pages' own sentences in English."""

from tuner.page.english.comparison import COMPARISON
from tuner.page.english.history import HISTORY
from tuner.page.english.report import REPORT
from tuner.page.words import Words

ENGLISH = Words("en", {**REPORT, **COMPARISON, **HISTORY})
