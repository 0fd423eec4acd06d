"""What is said of real sweeps on an H200 (tests/data), as one who knows these engines would, and what must not be.

docs/real-runs.md tells the same runs in words: at 7.5 B cost the draft's launches eat the gain although nearly every
token is accepted; at 14 B it pays; one life of each K is no curve; one life of K = 3 gave other answers.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tuner.records import Confidence, Diagnosis
from tuner.report import write_report

DATA = Path(__file__).parents[2] / "data"


@cache
def diagnosed(name: str) -> tuple[Diagnosis, ...]:
    with TemporaryDirectory() as folder:
        return write_report(shutil.copytree(DATA / name, Path(folder) / "run")).findings.diagnoses


def subjects(name: str, code: str) -> dict[str, Confidence]:
    return {one.subject: one.confidence for one in diagnosed(name) if one.code == code}


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("h200-14b", "outputs_fault", {"good K=3": Confidence.HIGH}),
        ("h200-14b", "draft_too_weak", {"weak": Confidence.MEDIUM}),
        ("h200-14b", "draft_too_slow", {"weak": Confidence.LOW}),
        ("h200-14b", "few_matches", {"ngram": Confidence.MEDIUM}),
        ("h200-14b", "saturated", {"concurrency 64": Confidence.LOW}),  # K = 5 was faster than K = 1 there
        ("h200-14b", "settings_changed", {"good, ngram, weak": Confidence.MEDIUM}),
        ("h200-7b", "engine_overhead", {"good": Confidence.HIGH}),
        ("h200-7b", "few_matches", {"ngram-gpu": Confidence.HIGH}),
        ("h200-7b", "noise_too_large", {"good K=2": Confidence.HIGH}),
        ("h200-7b-lives", "engine_overhead", {"good": Confidence.HIGH}),
        ("h200-7b-ngram-gpu", "few_matches", {"lookup-gpu": Confidence.HIGH}),
        ("h200-14b-grid", "engine_overhead", {"good": Confidence.MEDIUM}),
        ("h200-14b-grid", "lives_differ", {"good": Confidence.HIGH}),
    ],
)
def test_what_has_to_be_said(name: str, code: str, expected: dict[str, Confidence]) -> None:
    assert subjects(name, code) == expected


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("h200-14b", ("vocabulary_mismatch", "k_too_long", "noise_too_large", "target_too_small", "answers_too_short")),
        # 98 % accepted and the GPU half idle at concurrency 8: neither weak nor saturated; 63 % reads weights.
        (
            "h200-7b",
            ("draft_too_weak", "draft_too_slow", "saturated", "target_too_small", "outputs_fault", "k_too_long"),
        ),
        ("h200-7b-lives", ("draft_too_weak", "draft_too_slow", "saturated", "k_too_long", "outputs_fault")),
        ("h200-7b-ngram-gpu", ("draft_too_weak", "draft_too_slow", "saturated", "outputs_fault")),
        # K = 7 at concurrency 1 is one slow life: K is not to blame, and the winner is no weak or slow draft.
        ("h200-14b-grid", ("k_too_long", "draft_too_weak", "draft_too_slow", "saturated", "noise_too_large")),
    ],
)
def test_what_must_not_be_said(name: str, codes: tuple[str, ...]) -> None:
    assert {one.code for one in diagnosed(name)}.isdisjoint(codes)


def test_ngram_on_the_gpu_drafts_in_every_step_so_that_matches_are_not_what_is_missing() -> None:
    words = {
        name: next(one.what for one in diagnosed(name) if one.code == "few_matches")
        for name in ("h200-14b", "h200-7b-ngram-gpu")
    }
    assert "finds too little to copy" in words["h200-14b"]
    assert "copies what does not follow" in words["h200-7b-ngram-gpu"]


def test_the_first_causes_are_those_that_an_engineer_would_name_first() -> None:
    assert diagnosed("h200-14b")[0].code == "outputs_fault"
    assert diagnosed("h200-7b")[0].code == "engine_overhead"
    assert diagnosed("h200-14b-grid")[0].code == "engine_overhead"


def test_evidence_has_the_measured_figures() -> None:
    overhead = next(one for one in diagnosed("h200-7b") if one.code == "engine_overhead")
    assert "concurrency 1: 53 % with, 98 % without" in overhead.evidence[0]
    assert "grow with K and 0.00 are fixed (line through K = 2, 4" in overhead.evidence[1]
    assert "fewer layers" in overhead.next_step
    weak = next(one for one in diagnosed("h200-14b") if one.code == "draft_too_weak")
    assert "48 % (41-56) of its first 3 tokens" in weak.evidence[0] and "n = 12 prompts" in weak.evidence[0]
    assert "weak K=3 runs at 0.94x (0.83-1.07) of no speculation over its load points" in weak.evidence[1]
