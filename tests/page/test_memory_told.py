"""What was planned of memory before an engine started, on the page in both languages."""

from __future__ import annotations

from dataclasses import replace

from tests.page.page_building import given, trials
from tests.page.test_chinese import english_left
from tuner.page.chinese import CHINESE
from tuner.page.english import ENGLISH
from tuner.page.sections.basis import memory_blocks
from tuner.page.view import Points
from tuner.records import Level, Notice


def test_what_preflight_planned_of_memory_is_told_whole() -> None:
    what = (
        "good K=5 is tight in the 20.0 GiB that it may use of NVIDIA L4: only 0.31 GiB are spare, and 1.20 GiB of the "
        "plan are estimates; 8 requests of 300 or more tokens need 2400 tokens of KV cache and 1200 are left: requests "
        "will wait or be preempted"
    )
    step = "max_model_len 2048 or less fits, or gpu_memory_utilization 0.95 is enough, the other settings as they are."
    noticed = (
        Notice("memory_tight", Level.WARNING, "good", what, step),
        Notice("memory_unknown", Level.HINT, "weak", "its memory cannot be planned: it has no num_hidden_layers"),
    )
    of = given(trials(), notices=noticed)
    english, chinese = (
        next(block for block in memory_blocks(replace(of, words=words)) if isinstance(block, Points)).items
        for words in (ENGLISH, CHINESE)
    )
    assert english[0] == f"Planned from the models' files: {what}. What to change: {step}"
    assert english[1] == f"Planned from the models' files, weak: {noticed[1].what}."
    names = {"NVIDIA", "good", "weak"}
    assert [word for text in chinese for word in english_left(text) if word not in names] == []
