"""Colours can be told apart in both themes, by the contrast that WCAG 2 defines."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

CSS = (files("tuner.page") / "templates" / "page.css").read_text(encoding="utf-8")
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([a-z]+\d?): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", CSS)
}
SHADES = ("m5", "m4", "m3", "m2", "m1", "z0", "p1", "p2", "p3", "p4", "p5")
TEXT = [
    *((ink, ground) for ink in ("text", "quiet", "link") for ground in ("page", "card")),
    *((ink, "code") for ink in ("text", "quiet")),
    *((ink, "card") for ink in ("yes", "partly", "no", "open")),
    *(("heat", shade) for shade in SHADES),
    ("card", "text"),  # the tip
]
DRAWN = [(f"s{i}", "card") for i in range(7)] + [
    (name, "card") for name in ("axis", "plain", "draft", "verification", "rest")
]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_text_can_be_read(ink: str, ground: str, theme: int) -> None:
    assert contrast(COLOURS[ink][theme], COLOURS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), DRAWN)
def test_what_is_drawn_can_be_seen(ink: str, ground: str, theme: int) -> None:
    assert contrast(COLOURS[ink][theme], COLOURS[ground][theme]) >= 3.0


def test_no_text_has_a_colour_that_is_not_looked_at() -> None:
    inks = set(re.findall(r"[;{ ]color: var\(--([a-z]+\d?)\)", CSS))
    assert inks == {ink for ink, _ in TEXT}
    grounds = set(re.findall(r"background: var\(--([a-z]+\d?)\)", CSS)) - {"s1"}  # s1: the crossover, a line
    assert grounds <= {ground for _, ground in TEXT}
    assert not re.findall(r"[;{ ]color: (?!var|light)", CSS)


def test_the_measure_is_the_known_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
