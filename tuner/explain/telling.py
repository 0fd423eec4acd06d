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
from tuner.explain.lines import Code, Language, Line, Quoted, Section, Table, line, said
from tuner.explain.load import concurrency_section, cost_section
from tuner.explain.wrapping import wrapped
from tuner.page.chinese import CHINESE
from tuner.records import Json
from tuner.report import REPORT
from tuner.words import engine_words

LANGUAGES: Mapping[str, Language] = {
    "en": Language(messages_en.MESSAGES),
    "zh": Language(messages_zh.MESSAGES, CHINESE.told),
}
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
        engine=Quoted(engine_words(manifest.engine_version, manifest.engine_build)),
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


def explained_text(found: Explained, name: str) -> str:
    """Return it, in the language of that name, as text for a terminal or a message."""
    language = LANGUAGES[name]
    lines = [said(found.heading, language)]
    before: float | None = None
    for part in found.parts:
        if part.temperature is not None and part.temperature != before:
            named = line("temperature", temperature=f"{part.temperature:g}")
            lines += ["", f"# {said(named, language)}"]
        before = part.temperature
        lines += ["", f"## {said(part.section.title, language)}", "", *_section(part.section, language)]
    return "\n".join([*lines, "", *_wrapped(said(found.closing, language))]) + "\n"


def explained_json(found: Explained, name: str) -> dict[str, Json]:
    """Return it for scripts: each line with its key, its values and its text."""
    language = LANGUAGES[name]
    sections: list[Json] = [
        {
            "name": part.section.name,
            "temperature": part.temperature,
            "title": said(part.section.title, language),
            "lines": [_part_json(one, language) for one in part.section.parts],
        }
        for part in found.parts
    ]
    return {"language": name, "heading": said(found.heading, language), "sections": sections}


def _part_json(part: Line | Table | Code, language: Language) -> Json:
    if isinstance(part, Code):
        return {"command": part.text}
    if isinstance(part, Table):
        columns: list[Json] = [said(line(column), language) for column in part.columns]
        rows: list[Json] = [[said(cell, language) for cell in row] for row in part.rows]
        return {"columns": columns, "rows": rows}
    values: dict[str, Json] = {name: said(value, language) for name, value in part.values.items()}
    return {"key": part.key, "text": said(part, language), "values": values}


def _section(section: Section, language: Language) -> Iterator[str]:
    for part in section.parts:
        if isinstance(part, Code):
            yield f"    {part.text}"
        elif isinstance(part, Table):
            yield from _table(part, language)
        elif part.key in _UNDER:
            yield from _wrapped(said(part, language), "  ")
        else:
            yield from _wrapped(f"- {said(part, language)}", "", "  ")


def _table(table: Table, language: Language) -> Iterator[str]:
    rows = [[said(line(column), language) for column in table.columns]]
    rows += [[said(cell, language) for cell in row] for row in table.rows]
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(table.columns))]
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield f"    {'  '.join(cells)}".rstrip()


def _wrapped(text: str, indent: str = "", hanging: str | None = None) -> list[str]:
    return wrapped(text, WIDTH, indent, indent if hanging is None else hanging)
