"""Reference answers are found as a reader would find them, and not because a number stands somewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.references import reference_found

EVAL_SETS = Path(__file__).parents[2] / "eval_sets"


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("Wellington", "The capital of New Zealand is **Wellington**."),
        ("the pancreas", "Insulin is made in your pancreas."),
        ("at noon", "Shadows are shortest around noon, local time."),
        ("four", "A quadrilateral has 4 sides."),
        ("four", "It has four sides, one more than a triangle."),
        ("red, green and blue", "They are Red, Green, and Blue."),
        ("12", "Most people have 12 pairs."),
        ("6.80 euros", "8 x 0.45 = 3.60, 3 x 3.20 = 9.60, 20 - 13.20: her change is €6.8."),
        ("44 metres", "That makes 44 metres. (Check: 4 x 11.)"),
        ("x = 12", "Therefore $x=12$"),
        ("1/17", "The probability is \\frac{1}{17}."),
        ("x = -3, -2, 2, 3", "So x = \N{MINUS SIGN}3, \N{MINUS SIGN}2, 2 and 3."),
        ("Lena is 36, her brother 12", "Her brother is 12? No: Lena 36, brother 12"),
        ("2310", "It is 2,310"),
        ("about 2,310 kilos", "It weighs 2310 kilos, that is 2.31 tonnes."),
        ("4 hours 7 minutes", "It was moving for 4 h 7 min."),
        ("Anna: 31, Ben: 45, Carla: 28", "- Anna: 31\n- Ben: 45\n- Carla: 28"),
        ('{"a": "x y", "n": 3}', '```json\n{\n  "a": "x y",\n  "n": 3\n}\n```'),
        ("图书馆将于7月1日闭馆。", "译文:图书馆将于7月1日闭馆"),
        ("Bonjour, où est la gare ?", "« Bonjour, où est la gare? »"),
    ],
)
def test_found(reference: str, text: str) -> None:
    assert reference_found(reference, text)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("Wellington", "It is Wellingtonia."),
        ("Wellington", ""),
        ("2", "First add 2 and 5, which gives 7."),
        ("6.80 euros", "Her change is 13.20 euros."),
        ("1/17", "It is 1/13"),
        ("x = 12", "x = 120"),
        ("x = -3, -2, 2, 3", "x = 3, 2, 2, 3"),
        ("four", "It has five sides."),
        ("Mi abuela solía decir", "My grandmother used to say"),
        ("?", "?"),
    ],
)
def test_not_found(reference: str, text: str) -> None:
    assert not reference_found(reference, text)


def shipped() -> list[str]:
    lines = [line for path in sorted(EVAL_SETS.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    return [reference for line in lines if (reference := json.loads(line).get("reference"))]


def test_every_shipped_reference_is_found_in_an_answer_that_gives_it_and_in_no_refusal() -> None:
    references = shipped()
    assert len(references) > 90
    for reference in references:
        assert reference_found(reference, f"Here you are:\n\n{reference}"), reference
        assert not reference_found(reference, "I am sorry, I cannot help with that."), reference


@given(st.text(), st.text())
def test_any_text_has_an_answer_and_case_and_space_do_not_count(reference: str, text: str) -> None:
    found = reference_found(reference, text)
    assert reference_found(f" {reference}\n", f"\n{text} ") is found
