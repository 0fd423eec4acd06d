"""Causes and changed settings as a reader sees them."""

from __future__ import annotations

from tuner.records import ChangedSettings, Confidence, Diagnosis
from tuner.report_sections.changed_settings import changed_settings_section
from tuner.report_sections.diagnoses import diagnoses_section, diagnosis_json, diagnosis_lines

ONE = Diagnosis("draft_too_weak", "good", "It guesses too little.", ("30 % (n = 6)",), Confidence.MEDIUM, "Another.")
OTHER = Diagnosis("saturated", "concurrency 16", "It is full.", ("0.7x", "2 steps"), Confidence.HIGH, "Route.")


def test_each_cause_has_its_evidence_its_confidence_and_its_next_step() -> None:
    assert list(diagnoses_section((ONE, OTHER))) == [
        "## Why",
        "",
        "- **It guesses too little.** (likely; `draft_too_weak`: good)",
        "  - 30 % (n = 6)",
        "  - next: Another.",
        "- **It is full.** (clear; `saturated`: concurrency 16)",
        "  - 0.7x",
        "  - 2 steps",
        "  - next: Route.",
        "",
    ]
    assert list(diagnoses_section(())) == []


def test_a_closing_table_has_room_for_the_first_few() -> None:
    assert list(diagnosis_lines((ONE, OTHER), 3)) == ["It guesses too little. (likely)", "It is full. (clear)"]
    assert list(diagnosis_lines((ONE, OTHER), 1)) == [
        "It guesses too little. (likely)",
        "1 more in the report, with evidence and next steps",
    ]
    assert list(diagnosis_lines((), 3)) == []


def test_scripts_read_the_same() -> None:
    assert diagnosis_json(OTHER) == {
        "code": "saturated",
        "subject": "concurrency 16",
        "what": "It is full.",
        "evidence": ["0.7x", "2 steps"],
        "confidence": "high",
        "next_step": "Route.",
    }


def test_changed_settings_say_each_line_once_and_who_said_it() -> None:
    changed = (
        ChangedSettings(("a K=1", "a K=2"), ("Disabling A", "Overriding B")),
        ChangedSettings(("a K=2",), ("Truncating C",)),
        ChangedSettings((), ("D instead",), everywhere=True),
    )
    assert list(changed_settings_section(changed, ["a K=1", "a K=2"])) == [
        "## What the engine changed by itself",
        "",
        "- with every draft:",
        "  - `Disabling A`",
        "  - `Overriding B`",
        "- a K=2:",
        "  - `Truncating C`",
        "- without speculation too:",
        "  - `D instead`",
        "",
    ]
    assert list(changed_settings_section((), ["a K=1"])) == []
