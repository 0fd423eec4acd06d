"""An answer that is open ends with one step, whose command can be typed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.explain.examples import ROOT
from tuner.cli.closing import closing_table
from tuner.page.chinese import CHINESE
from tuner.records import Findings, Limit, Resolution, RunManifest, Verdict
from tuner.report import Report, analysed
from tuner.report_sections.next_step import NextStep, next_step, next_steps, next_words

FOUND = analysed(ROOT / "tests" / "data" / "h200-7b-lives")
FINDINGS = replace(FOUND.findings, finished=True)
RUN = Path("runs/Qwen/default")
CALLED = ("tuner", "sweep", "Qwen", "--draft", "/models/a b")


def given(limit: Limit, needed: int | None, *called: str, **manifest: object) -> NextStep:
    """Return the step of a run that this limits; it has 3 lives, 3 repeats and the first 8 of 24 prompts."""
    (answer,) = FINDINGS.answers
    assert answer.verdict is Verdict.INCONCLUSIVE
    answer = replace(answer, resolution=Resolution(limit, 0.05, 0.03, needed))
    protocol = replace(FOUND.manifest.protocol, lives=3, max_lives=3, repeats=3, max_repeats=3)
    points = tuple(replace(point, num_prompts=8) for point in FOUND.manifest.load_points)
    prompts = {point.eval_set: 24 for point in points}
    about: RunManifest = replace(
        FOUND.manifest,
        **{  # type: ignore[arg-type]
            "protocol": protocol,
            "load_points": points,
            "prompts": prompts,
            "space": "default",
            "repeat_with": (*CALLED, *called),
            **manifest,
        },
    )
    step = next_step(answer, FINDINGS, about, RUN)
    assert step is not None
    assert CHINESE.told(next_words(step)).count("run directory") == 0
    return step


def test_after_drift_the_same_is_measured_in_another_directory() -> None:
    step = given(Limit.DRIFT, None)
    assert step.what == "Measure again in a new run directory when the machine is quiet"
    assert step.command == "tuner sweep Qwen --draft '/models/a b' --out runs/Qwen/default-2"


@pytest.mark.parametrize("called", [("--out", "old"), ("--out=old",), ("--out", "x", "--out", "old/")])
def test_an_out_that_was_given_is_replaced(called: tuple[str, ...]) -> None:
    assert given(Limit.DRIFT, None, *called).command == "tuner sweep Qwen --draft '/models/a b' --out old-2"


def test_with_two_engines_the_directory_above_both_is_another() -> None:
    assert given(Limit.DRIFT, None, "--engine", "a", "--engine", "b").command.endswith("--out runs/Qwen-2")


def test_lives_are_added_to_the_run_that_lacks_them() -> None:
    step = given(Limit.LIVES, 9, "--space", "mine.yaml")
    assert step.what == "Set protocol.max_lives: 9 in mine.yaml and sweep again"
    assert step.command.endswith("--space mine.yaml --out runs/Qwen/default")


def test_a_space_that_comes_with_the_tuner_is_copied_first() -> None:
    step = given(Limit.REPEATS, 7, "--space", "default")
    assert step.what.startswith("Copy the search space default from report.html to more.yaml")
    assert "protocol.max_repeats: 7" in step.what
    assert step.command.endswith("'/models/a b' --space more.yaml --out runs/Qwen/default-2")


@pytest.mark.parametrize(("limit", "words"), [(Limit.LIVES, "max_lives: 4"), (Limit.REPEATS, "max_repeats: 4")])
def test_never_fewer_than_were_measured(limit: Limit, words: str) -> None:
    assert words in given(limit, 2).what


def test_more_prompts_come_from_the_eval_set_while_it_has_them() -> None:
    assert "num_prompts: 20" in given(Limit.PROMPTS, 20).what
    step = given(Limit.PROMPTS, 40)
    assert "about 40 prompts" in step.what
    assert step.command.endswith("--eval-set more.jsonl --out runs/Qwen/default-2")


@pytest.mark.parametrize("limit", [Limit.LIVES, Limit.REPEATS, Limit.PROMPTS])
def test_what_would_take_forever_is_not_asked_for(limit: Limit) -> None:
    assert given(limit, 10_000) == given(Limit.DRIFT, None)


def test_a_run_that_does_not_know_its_command_gets_words_alone() -> None:
    assert given(Limit.DRIFT, None, repeat_with=()).command == ""


def test_an_unfinished_sweep_is_finished_first_and_a_decided_one_needs_nothing() -> None:
    unfinished = replace(FINDINGS, finished=False)
    (step,) = next_steps(unfinished, replace(FOUND.manifest, repeat_with=CALLED), RUN)
    assert step.command == "tuner sweep Qwen --draft '/models/a b'"
    answers = tuple(replace(answer, verdict=Verdict.DO_NOT) for answer in unfinished.answers)
    assert next_steps(replace(unfinished, answers=answers), FOUND.manifest, RUN) == ()


def test_candidates_that_all_failed_are_tried_again() -> None:
    answers = tuple(replace(answer, resolution=None, runner_up=None) for answer in FINDINGS.answers)
    failed: Findings = replace(FINDINGS, answers=answers, failed={"x": "no memory"})
    (step,) = next_steps(failed, replace(FOUND.manifest, repeat_with=CALLED), RUN)
    assert step.command.endswith("--retry-failed")


@pytest.mark.parametrize(("words", "label"), [(None, "next: "), (CHINESE, "下一步：")])
def test_the_closing_text_ends_with_it(words: object, label: str) -> None:
    manifest = replace(FOUND.manifest, repeat_with=CALLED)
    report = Report(RUN, manifest, FINDINGS, frozenset(), FOUND.explanation, FOUND.records)
    text = closing_table(report, 80, **({"words": words} if words else {}))  # type: ignore[arg-type]
    assert label in text
    assert "  tuner sweep Qwen --draft '/models/a b'" in text.split(label)[-1]
