"""Directory names of targets: safe for any name, never shared by two."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.registry import target_slug

NAMES = st.one_of(
    st.text(),
    st.text(alphabet="aA./-_ é", max_size=6),
    st.text(alphabet=st.characters(codec=None), max_size=20),
    st.from_regex(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", fullmatch=True),
)


@given(NAMES)
def test_a_slug_is_one_safe_part_of_a_path(name: str) -> None:
    slug = target_slug(name)
    assert re.fullmatch(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?", slug)
    assert len(slug) <= 69
    assert ".." not in Path(slug).parts
    assert target_slug(name) == slug


@given(NAMES, NAMES)
def test_two_targets_share_no_slug_even_where_case_does_not_count(one: str, other: str) -> None:
    assert (target_slug(one).casefold() == target_slug(other).casefold()) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("org/model", "org-model"),
        ("Org/Model", "org/model"),
        ("/a/model", "/b/model"),
        ("x" * 300, "x" * 301),
        ("模型", "模形"),
        ("../a", "a"),
        ("/a/b/", "/a/b"),
        ("e\u0301", "\u00e9"),
        ("", "target"),
    ],
)
def test_names_that_look_alike_stay_apart(one: str, other: str) -> None:
    assert target_slug(one) != target_slug(other)


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("Qwen/Qwen3-14B", "qwen-qwen3-14b"),
        ("/models/Qwen3-14B", "qwen3-14b"),
        ("demo:target", "demo-target"),
        ("../../etc/passwd", "passwd"),
        ("模型", "target"),
    ],
)
def test_a_person_recognises_the_target(name: str, readable: str) -> None:
    assert target_slug(name).rpartition("-")[0] == readable
