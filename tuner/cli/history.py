"""`tuner history`: what was measured of a target over time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import click

from tuner.cli.options import json_option, language_option, registry_option

if TYPE_CHECKING:
    from rich.table import Table

    from tuner.artifact.model import Answer
    from tuner.page.words import Words
    from tuner.records import Json
    from tuner.registry import History, Past

_WIDTH = 120


@click.command(
    epilog="""\b
Examples:
  tuner history Qwen/Qwen3-14B
  tuner history Qwen/Qwen3-14B --registry s3://bucket/tuner --json
  tuner history Qwen/Qwen3-14B --format html > history.html
"""
)
@click.argument("target")
@click.option(
    "--format",
    "printed",
    type=click.Choice(["table", "html"]),
    default="table",
    show_default=True,
    help="What to print: a table, or one HTML page that loads nothing, with charts over time.",
)
@language_option
@registry_option
@json_option
def history(target: str, printed: Literal["table", "html"], lang: str, registry: str, as_json: bool) -> None:
    """List the sweeps of TARGET that the registry has, oldest first, and what changed from one to the next.

    TARGET is what the sweep was given; the last part of a path or hub id will do where it names one target alone.
    """
    from tuner.page.languages import LANGUAGES
    from tuner.page.past.build import history_html
    from tuner.registry import Registry, find_target
    from tuner.registry import history as read
    from tuner.registry.document import past_json

    place = Registry(registry)
    found = read(place, find_target(place, target))
    words = LANGUAGES[lang]
    click.echo(history_html(found, words) if printed == "html" else _text(found, words), nl=False, err=as_json)
    if as_json:
        document = {"target": found.target, "sweeps": [*map(past_json, found.past)], "broken": list(found.broken)}
        click.echo(json.dumps(document))


def _text(found: History, words: Words) -> str:
    from rich.console import Console

    console = Console(width=_WIDTH)
    with console.capture() as capture:
        console.print(_table(found, words))
        for broken in found.broken:
            console.print(words.told(f"left out: {broken}"), style="red", markup=False, highlight=False, soft_wrap=True)
    return capture.get()


def _table(found: History, words: Words) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=escape(found.target))
    for column in ("when (UTC)", "engine", "device", "answer", "speedup (95 %)", "length", "changed"):
        table.add_column(words.told(column), overflow="fold")
    for past in found.past:
        on = past.config.measured_on
        engine = f"{on.engine.version} {on.engine.build}"
        before = (f"{past.entry.kept_at:%Y-%m-%d %H:%M}", engine, ", ".join(on.devices))
        after = _changed_words(past, words)
        for answer in past.config.answers:
            cells = (*before, words.told(_answer_words(answer)), _speedup_words(answer), _length_words(answer), after)
            table.add_row(*map(escape, cells))
            before, after = ("", "", ""), ""
    return table


def _answer_words(answer: Answer) -> str:
    from tuner.registry.document import chosen

    at = "" if answer.temperature == 0 else f" at T={answer.temperature:g}"
    draft, k = chosen(answer)
    up_to = answer.recommended.limit.up_to_concurrency if answer.recommended.limit else None
    below = f" up to {up_to}" if up_to is not None else ""
    return f"{answer.verdict.value}{f': {draft} K={k}' if k else ''}{below}{at}"


def _speedup_words(answer: Answer) -> str:
    speedup = answer.measured.expected_speedup
    if speedup.value is None:
        return ""
    interval = (
        f" ({speedup.low:.2f}-{speedup.high:.2f})" if speedup.low is not None and speedup.high is not None else ""
    )
    return f"{speedup.value:.2f}x{interval}"


def _length_words(answer: Answer) -> str:
    from tuner.registry.document import acceptance_lengths, chosen

    values = [value for one in acceptance_lengths(answer) if isinstance(value := one["value"], int | float)]
    if not chosen(answer)[1] or not values:
        return ""
    least, most = f"{min(values):.2f}", f"{max(values):.2f}"
    return least if least == most else f"{least}-{most}"


def _changed_words(past: Past, words: Words) -> str:
    if past.changed is None:
        return words("sweeps_first")
    changes = (f"{one.field} {_brief(one.measured)} -> {_brief(one.now)}" for one in past.changed)
    return ", ".join(changes) or words("sweeps_nothing")


def _brief(value: Json) -> str:
    if isinstance(value, list):
        return f"{len(value)} of them"
    text = "none" if value is None else str(value)
    return text if len(text) <= 24 else f"{text[:10]}..."
