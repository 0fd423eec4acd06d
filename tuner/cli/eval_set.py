"""`tuner eval-set`: look at eval sets, and make one from a file that is there already."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(name="eval-set")
def eval_set() -> None:
    """Check an eval set, or import one from another format."""


@eval_set.command(epilog="\b\nExamples:\n  tuner eval-set check chat\n  tuner eval-set check eval_sets/mine.jsonl")
@click.argument("name_or_path", metavar="NAME|FILE")
def check(name_or_path: str) -> None:
    """Read the eval set NAME|FILE, a shipped one or a file of yours, and say what is in it: prompts by category."""
    from collections import Counter

    from tuner.space.eval_sets import load_eval_set

    loaded, notes = load_eval_set(name_or_path)
    categories = Counter(prompt.category for prompt in loaded.prompts)
    click.echo(f"{loaded.name}: {len(loaded.prompts)} prompts, sha256 {loaded.sha256[:16]}")
    for category, count in sorted(categories.items()):
        click.echo(f"  {category}: {count}")
    for sentence in notes.sentences:
        click.echo(f"  {sentence}")


@eval_set.command(
    name="import", epilog="\b\nExample:\n  tuner eval-set import sharegpt.json --limit 100 --out eval_sets/mine.jsonl"
)
@click.argument("source", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--format",
    "fmt",
    type=click.Choice(["auto", "vllm-custom", "sharegpt", "mt-bench", "openai-batch"]),
    default="auto",
    show_default=True,
    help="What SOURCE is written in; auto goes by its first record.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write [default: ./NAME.jsonl].")
@click.option("--name", help="Name of the new set [default: the source's].")
@click.option("--limit", type=click.IntRange(min=1), help="Take so many prompts at most.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def import_(source: Path, fmt: str, out: Path | None, name: str | None, limit: int | None, force: bool) -> None:
    """Make an eval set of SOURCE: vLLM custom JSONL, ShareGPT JSON, MT-bench questions or an OpenAI batch file."""
    from typing import cast

    from tuner.errors import OutputError
    from tuner.space.eval_sets import dump_eval_set
    from tuner.space.importers import Format, import_eval_set

    imported = import_eval_set(source, cast(Format, fmt), name, limit=limit)
    destination = out or Path(f"{imported.eval_set.name}.jsonl")
    if destination.exists() and not force:
        raise OutputError(f"{destination} exists already.", "Give another --out, or --force to overwrite it.")
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_text(dump_eval_set(imported.eval_set), encoding="utf-8")
    click.echo(f"{destination}: {len(imported.eval_set.prompts)} prompts from {imported.format}")
    for sentence in imported.sentences:
        click.echo(f"  {sentence}")
