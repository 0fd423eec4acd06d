"""`tuner doctor`: what is in the way of a sweep on this machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.errors import EXIT_BAD_INPUT, EXIT_OK

if TYPE_CHECKING:
    from tuner.doctor import Answer

FORMAT = 1
"""Of the JSON; it changes when a key is renamed or removed."""
STYLES = {"ok": "green", "info": "blue", "warn": "yellow", "fail": "red"}


@click.command(epilog="\b\nExample:\n  tuner doctor --engine /envs/vllm-0.32 --json")
@click.option(
    "--engine",
    metavar="PATH|sim[:PROFILE]",
    help="A Python or virtual environment with vLLM [default: this one], or the simulated engine.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Run directory, or one that holds some: its disk, its locks [default: runs].",
)
@click.option("--deep", is_flag=True, help="Also start a Ray here and import vLLM: up to two minutes.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON instead of a table.")
def doctor(engine: str | None, out: Path | None, deep: bool, as_json: bool) -> int:
    """Say whether sweeps can run on this machine, and what is in their way. Nothing is changed or ended.

    Looked at: versions, GPUs and their driver, processor, memory and container limits, disks, ports, limits,
    environment variables, Ray, what earlier sweeps left behind, and which methods the engine can run.

    Exit codes: 0 nothing is in the way (there may be warnings), 2 something is.
    """
    from tuner.doctor import ROWS, examine, this_machine

    told = document(examine(this_machine(engine, out, deep=deep), ROWS))
    if as_json:
        click.echo(json.dumps(told, ensure_ascii=False))
    else:
        _show(told)
    return EXIT_OK if told["ok"] else EXIT_BAD_INPUT


def document(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the answer for scripts.

    {"format", "ok": whether nothing failed, "counts": by state, "checks": [{"group", "name", "state", "what",
    "next_step", "values"}]}
    """
    checks = [{"group": answer.group, **asdict(check)} for answer in answers for check in answer.checks]
    counts = Counter(str(check["state"]) for check in checks)
    return {
        "format": FORMAT,
        "ok": not counts["fail"],
        "counts": {state: counts[state] for state in STYLES},
        "checks": checks,
    }


def _show(told: Mapping[str, Any]) -> None:
    """Print it for people. Lines are not wrapped here, so that commands can be copied."""
    from rich.console import Console
    from rich.text import Text

    console, group = Console(highlight=False), None
    for check in told["checks"]:
        if check["group"] != group:
            group = check["group"]
            console.print(Text(f"\n{group}", style="bold"), soft_wrap=True)
        mark = (f"  {check['state']:<5}", STYLES[check["state"]])
        name = (f"{check['name']}: ", "dim")
        console.print(Text.assemble(mark, name, check["what"]), soft_wrap=True)
        if check["next_step"]:
            console.print(Text(f"       {check['next_step']}", style="cyan"), soft_wrap=True)
    counts = ", ".join(f"{count} {state}" for state, count in told["counts"].items())
    verdict = "Nothing is in the way of a sweep" if told["ok"] else "A sweep will not work here as things are"
    console.print(Text(f"\n{verdict}: {counts}.", style="bold"), soft_wrap=True)
