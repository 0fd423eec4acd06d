"""The pages in Chinese: their own sentences, and a phrasebook of what is said outside of them."""

from tuner.page.chinese.comparison import COMPARISON
from tuner.page.chinese.history import HISTORY
from tuner.page.chinese.of_answers import OF_ANSWERS
from tuner.page.chinese.of_causes import OF_CAUSES
from tuner.page.chinese.of_comparisons import OF_COMPARISONS
from tuner.page.chinese.of_failures import OF_FAILURES
from tuner.page.chinese.of_inputs import OF_INPUTS
from tuner.page.chinese.of_memory import OF_MEMORY
from tuner.page.chinese.of_reports import OF_REPORTS
from tuner.page.chinese.of_schedules import OF_SCHEDULES
from tuner.page.chinese.of_step_costs import OF_STEP_COSTS
from tuner.page.chinese.of_tables import OF_TABLES
from tuner.page.chinese.of_warnings import OF_WARNINGS
from tuner.page.chinese.report import REPORT
from tuner.page.phrases import Phrasebook
from tuner.page.words import Words

SAID = (
    OF_TABLES,
    OF_REPORTS,
    OF_ANSWERS,
    OF_CAUSES,
    OF_STEP_COSTS,
    OF_WARNINGS,
    OF_SCHEDULES,
    OF_COMPARISONS,
    OF_FAILURES,
    OF_INPUTS,
    OF_MEMORY,
)
PHRASES = {source: text for said in SAID for source, text in said.items()}
CHINESE = Words("zh-CN", {**REPORT, **COMPARISON, **HISTORY}, Phrasebook(PHRASES))
