"""`tuner methods`: the methods of speculative decoding, and which of them an engine can run."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tuner.cli.options import json_option

if TYPE_CHECKING:
    from tuner.engine.ability import Ability
    from tuner.records import Json


@click.command(epilog="\b\nExample:\n  tuner methods --engine /opt/vllm-0.24/.venv")
@click.option(
    "--engine", metavar="PATH|sim", help="A Python or virtual environment with vLLM [default: this one], or `sim`."
)
@json_option
def methods(engine: str | None, as_json: bool) -> None:
    """Show each method: what it drafts from, what it needs, and whether this engine can run it.

    No engine is started. One that is newer than the tuner knows is asked for its own --help, which takes seconds and
    is kept.
    """
    from tuner.engine.ability import whole_ability
    from tuner.engine.resolve import resolve_engine

    found = whole_ability(resolve_engine(engine))
    if as_json:
        click.echo(json.dumps(_document(found), ensure_ascii=False))
        return
    _show(found)


def _document(found: Ability) -> dict[str, Json]:
    from tuner.space.methods import METHODS
    from tuner.space.versions import version_row

    engine = found.engine
    rows: dict[str, Json] = {}
    for name, row in METHODS.items():
        reason = found.method_refusal(name)
        rows[name] = {
            "runs": reason is None,
            "reason": reason,
            "summary": row.summary,
            "model": row.model.value,
            "model_is": row.model_words if row.model.value != "none" else None,
            "package": asdict(row.package) if row.package else None,
            "first": row.first,
            "last": row.last,
            "gap": [*row.gap] if row.gap else None,
            "cpu_gap": [*row.cpu_gap] if row.cpu_gap else None,
            "builds": [*sorted(row.builds)],
            "smaller_k_predicted": row.chain_drafter,
            "schedules": row.schedules,
            "async_first": row.async_first,
            "options": [*sorted(row.options)],
        }
    known = version_row(engine.version).known
    about: dict[str, Json] = {"version": engine.version, "build": engine.build, "known": known, "note": found.note}
    return {"engine": about, "methods": rows}


def _show(found: Ability) -> None:
    from rich.console import Console
    from rich.table import Table

    from tuner.space.method_tables import needs
    from tuner.space.methods import METHODS

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("method", "runs", "drafts from", "needs, or why not"):
        table.add_column(head, overflow="fold", no_wrap=head == "method")
    for name, row in METHODS.items():
        reason = found.method_refusal(name)
        table.add_row(name, "no" if reason else "yes", row.summary, reason or needs(row))
    click.echo(f"vLLM {found.engine.version} ({found.engine.build}), {found.engine.python}")
    console = Console(highlight=False, markup=False)
    console.print(table)
    if found.note:
        click.echo(f"warning: {found.note}", err=True)
    click.echo("Options of each, and releases: docs/methods.md. Also: tuner methods --json")
