"""The table of outputs says each thing once, and what its figures are of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tuner.analysis.findings import findings
from tuner.records import ChangedSettings, Findings, LoadPoint, Losslessness, SameOutput, Trial
from tuner.report_sections.changed_settings import changed_settings_section
from tuner.report_sections.sameness import sameness_section

LOAD = LoadPoint("chat", 1, 33)
COUNTED = "10 of 12 answers have the baseline's token ids (its own among themselves: 24 of 24)"
TIES = "the others part where its two best tokens are at most 0 nats apart"


def compared(make_trial: Callable[..., Trial], note: str) -> Findings:
    found = findings([make_trial(0, loads=[LOAD]), make_trial(1, k=2, loads=[LOAD])], [LOAD])
    same = Losslessness(SameOutput.NEAR_TIES, 10, 12, 24, 24, note=note)
    trials = tuple(
        replace(t, loads=tuple(replace(load, sameness=same) for load in t.loads)) if t.candidate.k else t
        for t in found.trials
    )
    return replace(found, trials=trials)


def test_evidence_is_what_the_columns_do_not_say(make_trial: Callable[..., Trial]) -> None:
    text = "\n".join(sameness_section(compared(make_trial, f"{COUNTED}; {TIES}"), ()))
    assert f"| 10 of 12 | 24 of 24 | {TIES} |" in text
    assert "have the baseline's token ids" not in text
    assert "0 nats is a tie" in text
    other = "\n".join(sameness_section(compared(make_trial, "9 of 12 answers have more; no more"), ()))
    assert "| 9 of 12 answers have more; no more |" in other


def test_fewer_scheduled_tokens_are_explained_where_the_engine_says_so() -> None:
    def section(line: str) -> str:
        return "\n".join(changed_settings_section([ChangedSettings(("good K=3",), (line,))], ["good K=3"]))

    assert "how many tokens of all requests one step" in section("max_num_scheduled_tokens is set to 2048 based on")
    assert "how many tokens" not in section("Async scheduling will be disabled.")
