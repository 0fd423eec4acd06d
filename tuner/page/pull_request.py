"""The answer as Markdown for a pull request: short, with what a reviewer asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tuner.export.artifact_recommended import files_of
from tuner.page.given import Given
from tuner.page.sections.answer import command
from tuner.records import Answer, LoadFigures
from tuner.words import milliseconds, plain, times, verdict_words

MOST_CAUSES = 3
MOST_LOADS = 12
"""Rows of a table; the page has all of them."""
_MARKS = re.compile(r"([\\`*_{}\[\]<>|~#&]|^[-+])")
_CALLS = re.compile(r"([@#])(?=\w)")
_APART = "\u200b"
"""A space of no width: what stands before it calls nobody and links to nothing."""


def pull_request_markdown(given: Given) -> str:
    """Return the comment.  Names and log lines are escaped: they format nothing, call nobody and close no block."""
    words = given.words
    lines = [f"### {markdown_text(words('page_title', target=given.manifest.target))}", ""]
    if not given.findings.finished:
        lines += [f"> {words('not_finished')}", ""]
    for answer in given.findings.answers:
        lines += _answer(given, answer)
    lines += _causes(given)
    lines += _folded(words("title_mind"), tuple(map(words.told, given.findings.warnings)))
    lines += ["", f"<sub>{markdown_text(words.told(given.subtitle))}. {words('pr_rest', report='report.html')}</sub>"]
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is, in one line."""
    return _CALLS.sub(rf"\1{_APART}", _MARKS.sub(r"\\\1", " ".join(text.split())))


def _answer(given: Given, answer: Answer) -> Iterator[str]:
    words = given.words
    at = words("at_temperature", temperature=f"{answer.temperature:g}")
    yield f"**{markdown_text(words.told(verdict_words(answer)))}** ({at})"
    yield ""
    yield markdown_text(words.told(answer.why))
    yield ""
    if answer.best.speculation is not None:
        yield from _table(given, answer.loads)
        yield ""
    yield "```sh"
    if given.manifest.engine_build == "cpu":
        yield f"# {words('pr_python')}"
    yield from command(given, files_of(given.findings, answer).serve, here=False).splitlines()
    yield "```"
    yield ""


def _table(given: Given, loads: Sequence[LoadFigures]) -> Iterator[str]:
    words = given.words
    head = [words(name) for name in ("col_load", "col_speedup", "col_tpot", "pr_ttft", "col_rate", "col_n")]
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for load in loads[:MOST_LOADS]:
        figures = load.figures
        ratio = figures.get(given.findings.goal.metric.speedup)
        ttft = figures.get("ttft_ratio")
        cells = [
            markdown_text(words.told(load.load_point.label)),
            times(ratio) if ratio else "",
            milliseconds(figures["tpot_s"]),
            times(ttft, interval=False) if ttft else "",
            plain(figures["acceptance_rate"]) if "acceptance_rate" in figures else "",
            str(figures["tpot_s"].n),
        ]
        yield f"| {' | '.join(cells)} |"
    if len(loads) > MOST_LOADS:
        yield ""
        yield words("pr_more_loads", n=len(loads) - MOST_LOADS)


def _causes(given: Given) -> Iterator[str]:
    words, found = given.words, given.findings.diagnoses
    if not found:
        return
    yield f"**{words('title_why')}**"
    yield ""
    for one in found[:MOST_CAUSES]:
        what, step = (markdown_text(words.told(text)) for text in (one.what, one.next_step))
        yield f"- {what} {words('next')}{words('gap')}{step}"
    if len(found) > MOST_CAUSES:
        yield f"- {words('pr_more_causes', n=len(found) - MOST_CAUSES)}"
    yield ""


def _folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"<details><summary>{title} ({len(lines)})</summary>"
    yield ""
    yield from (f"- {markdown_text(line)}" for line in lines)
    yield ""
    yield "</details>"
