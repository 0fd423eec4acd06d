"""An explanation from its facts, and as text or JSON in one of the languages. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.cells import cell_len

from tuner.explain import messages_en, messages_zh
from tuner.explain.answer import answer_section, deploy_section
from tuner.explain.doubts import causes_section, certainty_section, missing_section
from tuner.explain.facts import Facts, at_temperatures
from tuner.explain.ks import inflection_section, steps_section, why_section
from tuner.explain.lines import Code, Line, Messages, Section, Table, line, said
from tuner.explain.load import concurrency_section, cost_section
from tuner.explain.wrapping import wrapped
from tuner.records import Json
from tuner.report import REPORT
from tuner.words import engine_words

LANGUAGES: Mapping[str, Messages] = {"en": messages_en.MESSAGES, "zh": messages_zh.MESSAGES}
WIDTH = 100
_OF_ONE_ANSWER = (
    answer_section,
    steps_section,
    why_section,
    inflection_section,
    concurrency_section,
    cost_section,
    certainty_section,
    deploy_section,
)
_UNDER = frozenset({"cause.report", "cause.evidence", "cause.next"})
"""Lines that belong to the one before them."""


@dataclass(frozen=True)
class Part:
    """A section with the temperature that it is of, None where it is of the whole run or there is only one."""

    section: Section
    temperature: float | None = None


@dataclass(frozen=True)
class Explained:
    """An explanation before it is in any language."""

    heading: Line
    parts: tuple[Part, ...]
    closing: Line


def explained(facts: Facts) -> Explained:
    """Return why the answer of a run is what it is."""
    manifest = facts.analysed.manifest
    devices = dict.fromkeys(trial.record.worker.device for trial in facts.analysed.trials)
    heading = line(
        "heading",
        target=manifest.target,
        engine=engine_words(manifest.engine_version, manifest.engine_build),
        devices=", ".join(devices),
    )
    answers = at_temperatures(facts)
    parts = []
    for at in answers:
        temperature = at.answer.temperature if len(answers) > 1 else None
        parts += [Part(make(at), temperature) for make in _OF_ONE_ANSWER]
    of_run = [Part(missing_section(facts)), Part(causes_section(facts))]
    ordered = [*parts[:-1], *of_run, parts[-1]] if len(answers) == 1 else [*parts, *of_run]
    return Explained(heading, tuple(ordered), line("deploy.more", report=str(facts.run / REPORT)))


def explained_text(found: Explained, language: str) -> str:
    """Return it as text for a terminal or a message."""
    messages = LANGUAGES[language]
    lines = [said(found.heading, messages)]
    before: float | None = None
    for part in found.parts:
        if part.temperature is not None and part.temperature != before:
            named = line("temperature", temperature=f"{part.temperature:g}")
            lines += ["", f"# {said(named, messages)}"]
        before = part.temperature
        lines += ["", f"## {said(part.section.title, messages)}", "", *_section(part.section, messages)]
    return "\n".join([*lines, "", *_wrapped(said(found.closing, messages))]) + "\n"


def explained_json(found: Explained, language: str) -> dict[str, Json]:
    """Return it for scripts: each line with its key, its values and its text."""
    messages = LANGUAGES[language]
    sections: list[Json] = [
        {
            "name": part.section.name,
            "temperature": part.temperature,
            "title": said(part.section.title, messages),
            "lines": [_part_json(one, messages) for one in part.section.parts],
        }
        for part in found.parts
    ]
    return {"language": language, "heading": said(found.heading, messages), "sections": sections}


def _part_json(part: Line | Table | Code, messages: Messages) -> Json:
    if isinstance(part, Code):
        return {"command": part.text}
    if isinstance(part, Table):
        columns: list[Json] = [said(line(column), messages) for column in part.columns]
        rows: list[Json] = [[said(cell, messages) for cell in row] for row in part.rows]
        return {"columns": columns, "rows": rows}
    values: dict[str, Json] = {name: said(value, messages) for name, value in part.values.items()}
    return {"key": part.key, "text": said(part, messages), "values": values}


def _section(section: Section, messages: Messages) -> Iterator[str]:
    for part in section.parts:
        if isinstance(part, Code):
            yield f"    {part.text}"
        elif isinstance(part, Table):
            yield from _table(part, messages)
        elif part.key in _UNDER:
            yield from _wrapped(said(part, messages), "  ")
        else:
            yield from _wrapped(f"- {said(part, messages)}", "", "  ")


def _table(table: Table, messages: Messages) -> Iterator[str]:
    rows = [[said(line(column), messages) for column in table.columns]]
    rows += [[said(cell, messages) for cell in row] for row in table.rows]
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(table.columns))]
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield f"    {'  '.join(cells)}".rstrip()


def _wrapped(text: str, indent: str = "", hanging: str | None = None) -> list[str]:
    return wrapped(text, WIDTH, indent, indent if hanging is None else hanging)
