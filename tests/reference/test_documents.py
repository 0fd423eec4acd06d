"""What documents show works: links lead somewhere, command lines parse."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.reference.command_lines import mistake, words_of
from tests.reference.documents import ROOT, anchors, links, notebooks, pages, shown_lines, text_of

ELSEWHERE = ("http:", "https:", "mailto:")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def _anchors(path: Path) -> set[str]:
    return anchors(text_of(path))


def broken(path: Path) -> list[str]:
    """Return the links of a page that lead nowhere in this checkout."""
    found = []
    for link in links(text_of(path)):
        if link.startswith(ELSEWHERE):
            continue
        place, _, anchor = unquote(link).partition("#")
        target = (path.parent / place).resolve() if place else path
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("path", [*pages(), *notebooks()], ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    assert broken(path) == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# One `two`: three_four\n\n## One\n\n## One\n", encoding="utf-8")
    page = tmp_path / "a.md"
    good = "[x](b.md) [x](b.md#one-two-three_four) [x](b.md#one-1) [x](https://example.com/none) `[x](no.md)`"
    page.write_text(f"{good}\n\n[x](none.md) [x](b.md#two) [x](#here) ![x](none.png)\n", encoding="utf-8")
    assert broken(page) == ["none.md", "b.md#two", "#here", "none.png"]


SHOWN = [(name(path), line) for path in pages() for line in shown_lines(text_of(path)) if "tuner " in line]


@pytest.mark.parametrize("page", dict.fromkeys(page for page, _ in SHOWN))
def test_command_lines_parse(page: str) -> None:
    calls = [words for of, line in SHOWN if of == page and (words := words_of(line)) is not None]
    assert [(" ".join(words), said) for words in calls if (said := mistake(words))] == []


def test_each_how_to_shows_commands() -> None:
    how_tos = {name(path) for path in pages() if path.parent.name == "how-to"}
    assert len(how_tos) >= 8
    assert how_tos <= {page for page, line in SHOWN if words_of(line)}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tuner sweep MODEL --space tiny > out.json  # nightly", ""),
        ("watch -n 2 tuner status runs/x", ""),
        ("tuner sweep MODEL --no-such", "No such option"),
        ("tuner sweeep MODEL", "no command"),
        ("tuner compare runs/old", "tuner compare wants NEW"),
        ("tuner sweep MODEL --sampler best", "'best' is not one of"),
        ("tuner explain RUN --lang fr | less", "'fr' is not one of"),
    ],
)
def test_a_wrong_line_is_seen(line: str, said: str) -> None:
    words = words_of(line)
    assert words is not None
    found = mistake(words)
    assert said in found
    assert bool(said) is bool(found)


@pytest.mark.parametrize("chinese", sorted((ROOT / "docs" / "how-to").glob("*.zh-CN.md")), ids=name)
def test_both_languages_show_the_same_commands(chinese: Path) -> None:
    """A Chinese page may ask for Chinese, and show what writes a page in Chinese besides."""

    def calls(path: Path) -> list[list[str]]:
        return [words for line in shown_lines(text_of(path)) if (words := words_of(line)) is not None]

    shown, rest = calls(chinese), calls(chinese.with_name(chinese.name.replace(".zh-CN", "")))
    for words in shown:
        in_chinese = words[-2:] == ["--lang", "zh"]
        if rest and (words[:-2] if in_chinese else words) == rest[0]:
            rest.pop(0)
        else:
            assert in_chinese, f"shown in Chinese alone: {words}"
    assert not rest
