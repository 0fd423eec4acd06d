"""`tuner compare`: did an upgrade make it better, worse, or neither?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.cli.options import json_option, language_option, registry_option
from tuner.errors import EXIT_CANNOT_TELL, EXIT_OK, EXIT_WORSE, OutputError

if TYPE_CHECKING:
    from tuner.compare import Comparison, Outcome
    from tuner.page.words import Words

_WIDTH = 160


@click.command(
    epilog="""\b
Examples:
  tuner compare runs/before runs/after
  tuner compare Qwen/Qwen3-14B@20261103T011000Z Qwen/Qwen3-14B --markdown comment.md
  tuner compare old/best_config.yaml new/best_config.yaml --tolerances tolerances.yaml --json
  tuner compare runs/before runs/after --html compared.html

\b
Exit codes: 0 the same or better, 1 worse, 2 unreadable or nothing in common, 4 cannot tell.
"""
)
@click.argument("old")
@click.argument("new")
@click.option(
    "--tolerances",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="How much may change: YAML with acceptance_length, speedup, tpot, ttft (fractions) and decides (a list).",
)
@click.option(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE|-",
    help="Write it as Markdown too, for a pull request; - for standard output.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE|-",
    help="Write it as one HTML page too, that loads nothing: both curves over each other, every figure with its "
    "interval; - for standard output.",
)
@language_option
@registry_option
@json_option
def compare(
    old: str,
    new: str,
    tolerances: Path | None,
    markdown: Path | None,
    html: Path | None,
    lang: str,
    registry: str,
    as_json: bool,
) -> int:
    """Say whether NEW is better, the same or worse than OLD, and whether speculation or the engine changed.

    OLD and NEW are each a best_config.yaml, the directory of a run or of a registry entry, a URL of these, or a target
    that the registry has (TARGET, or TARGET@STAMP for another than its latest). Nothing is started. Only load points
    that both have are compared.
    """
    from tuner.compare import Tolerances, load_tolerances, read_side
    from tuner.compare import compare as hold_against
    from tuner.compare.document import document
    from tuner.compare.markdown import markdown as as_markdown
    from tuner.page.compared.build import comparison_html
    from tuner.page.languages import LANGUAGES

    allowed = load_tolerances(tolerances) if tolerances else Tolerances()
    before, after = read_side(old, registry), read_side(new, registry)
    found = hold_against(before.side, after.side, allowed)
    on_page = as_json or "-" in (str(markdown), str(html))
    words = LANGUAGES[lang]
    click.echo(_text(found, words), nl=False, err=on_page)
    for broken in (*before.broken, *after.broken):
        click.echo(f"left out: {broken}", err=on_page)
    if markdown is not None:
        _write(words.told_document(as_markdown(found)), markdown, "--markdown")
    if html is not None:
        _write(comparison_html(found, before, after, words), html, "--html")
    code = exit_code(found.outcome)
    if as_json:
        click.echo(json.dumps(document(found, code)))
    return code


def exit_code(outcome: Outcome) -> int:
    """Return what the command ends with."""
    from tuner.compare import Outcome

    return {Outcome.WORSE: EXIT_WORSE, Outcome.CANNOT_TELL: EXIT_CANNOT_TELL}.get(outcome, EXIT_OK)


def _write(text: str, path: Path, option: str) -> None:
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise OutputError(message, f"Give {option} another place.") from error


def _text(found: Comparison, words: Words) -> str:
    from rich.console import Console

    from tuner.compare.words import confidence_words, headline, notes, open_words, sentence, taken_apart

    console = Console(width=_WIDTH)
    changed = [change.words for change in found.attribution.changes]
    with console.capture() as capture:
        for line in (f"{headline(found)}: {found.old} -> {found.new}", sentence(found), found.attribution.words):
            console.print(words.told(line), markup=False, highlight=False)
        for sweep in found.attribution.sweeps:
            console.print(f"  {words.told('what would tell')}: {sweep}", markup=False, highlight=False, soft_wrap=True)
        for best in found.best:
            change = f"{best.old} -> {best.new}" if best.changed else f"{best.new}, as before"
            told = words.told(f"recommended at T={best.temperature:g}: {change}")
            console.print(told, markup=False, highlight=False)
        console.print(_table(found, words))
        lines = [
            *(f"taken apart: {each}" for each in taken_apart(found)),
            *open_words(found),
            *(f"changed: {change}" for change in changed),
            *(f"not compared: {each}" for each in found.not_compared),
            *(f"note: {note}" for note in notes(found)),
            confidence_words(found),
        ]
        for line in lines:
            console.print(words.told(line), markup=False, highlight=False)
    return capture.get()


def _table(found: Comparison, words: Words) -> object:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from tuner.compare.words import COLUMNS, cells

    table = Table(box=box.SIMPLE_HEAD)
    for column in COLUMNS:
        table.add_column(words.told(column), overflow="fold")
    before = ""
    for row in found.rows:
        first, *others = (escape(words.told(cell)) for cell in cells(row))
        table.add_row("" if first == before else first, *others)
        before = first
    return table
