"""What the files tell: tables for people, one JSON object for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from tuner.cli.memory_table import print_memory
from tuner.errors import EvalSetError, InputError
from tuner.preflight.inspection import Inspected
from tuner.preflight.memory import plans_as_json
from tuner.preflight.model_view import ModelFiles
from tuner.prepare import Prepared
from tuner.records.notice import Level, Notice

FORMAT = 1
"""Of the JSON; it changes when a key is renamed or removed."""
_STYLES = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.HINT: "blue"}
_HASH_DIGITS = 12


def error_notice(error: InputError) -> Notice:
    """Return an error that ended the checks as a notice beside the others."""
    prompts = isinstance(error, EvalSetError)
    code, subject = ("prompts_refused", "eval set") if prompts else ("model_refused", "models")
    return Notice(code, Level.ERROR, subject, error.message, error.next_step)


def document(notices: Sequence[Notice], found: Inspected | None, prepared: Prepared | None) -> dict[str, Any]:
    """Return it for scripts; what was not reached is empty.

    {"format", "notices": [{"code", "level", "subject", "what", "next_step", "evidence"}], "models": by name,
    "comparisons": of token maps by draft, "unavailable": reason by candidate, "prompts": by eval set, "memory": [...],
    "engine"}
    """
    models = found.models if found else None
    return {
        "format": FORMAT,
        "engine": {"version": prepared.engine.version, "build": prepared.engine.build} if prepared else None,
        "notices": [asdict(notice) for notice in notices],
        "models": {model.name: _facts(model) for model in (models.target, *models.drafts.values())} if models else {},
        "comparisons": {
            name: {**asdict(one), "same": one.same} for name, one in (models.comparisons if models else {}).items()
        },
        "unavailable": dict(prepared.manifest.unavailable) if prepared else {},
        "prompts": {name: asdict(lengths) for name, lengths in prepared.lengths.items()} if prepared else {},
        "memory": plans_as_json(found.plans) if found else [],
    }


def _facts(model: ModelFiles) -> dict[str, Any]:
    vocabulary = model.vocabulary
    return {
        "reference": model.reference,
        "architecture": model.architecture,
        "parameters": model.parameters,
        "context": model.context,
        "vocab_size": model.vocab_size,
        "embedding_rows": model.embedding_rows,
        "quantised": model.quantised,
        "tokens": len(vocabulary.tokens) if vocabulary else None,
        "tokens_sha256": vocabulary.sha256 if vocabulary else None,
        "added_tokens": len(vocabulary.added) if vocabulary else None,
        "special_ids": dict(vocabulary.special) if vocabulary else {},
    }


def preflight_table(
    notices: Sequence[Notice], found: Inspected | None, prepared: Prepared | None, width: int | None = None
) -> str:
    """Return it for people."""
    console = Console(width=width)
    with console.capture() as capture:
        if found and found.models:
            console.print(_models((found.models.target, *found.models.drafts.values())))
        if found and found.plans:
            print_memory(console, found.plans)
        if prepared:
            _print_inputs(console, prepared)
        for subject in dict.fromkeys(notice.subject for notice in notices):
            console.print(f"\n{subject}", style="bold", markup=False, highlight=False)
            for notice in (one for one in notices if one.subject == subject):
                console.print(
                    f"  {notice.level}: {notice.what}", style=_STYLES[notice.level], markup=False, highlight=False
                )
                if notice.next_step:
                    console.print(f"    {notice.next_step}", markup=False, highlight=False)
        console.print(f"\n{_closing(notices, prepared)}", style="bold", markup=False, highlight=False)
    return capture.get()


def _models(models: Sequence[ModelFiles]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    # Folded where it is narrow: a cut number is a wrong one.
    table.add_column("model", overflow="fold")
    table.add_column("type", overflow="fold")
    for column in ("size", "context", "vocab", "rows", "tokens"):
        table.add_column(column, justify="right", overflow="fold")
    table.add_column("token map", overflow="fold")
    for model in models:
        vocabulary = model.vocabulary
        table.add_row(
            model.name,
            model.model_type or "-",
            f"{model.parameters / 1e9:.3g}B" if model.parameters else "-",
            *(str(number) if number is not None else "-" for number in (model.context, model.vocab_size)),
            str(model.embedding_rows or "-"),
            str(len(vocabulary.tokens)) if vocabulary else "-",
            vocabulary.sha256[:_HASH_DIGITS] if vocabulary else "-",
        )
    return table


def _print_inputs(console: Console, prepared: Prepared) -> None:
    for name, lengths in prepared.lengths.items():
        limit = f" of {lengths.max_model_len}" if lengths.max_model_len else ""
        sentence = f"eval set {name}: {lengths.prompts} prompts of {lengths.shortest}-{lengths.longest} {lengths.unit}"
        console.print(f"{sentence}{limit}", markup=False, highlight=False)
    for label, reason in prepared.manifest.unavailable.items():
        console.print(f"not tried: {label}: {reason}", style="red", markup=False, highlight=False)


def _closing(notices: Sequence[Notice], prepared: Prepared | None) -> str:
    counts = {level: sum(notice.level is level for notice in notices) for level in Level}
    told = ", ".join(f"{count} {level}{'s' if count != 1 else ''}" for level, count in counts.items() if count)
    left = f"{len(prepared.candidates)} candidates can be started" if prepared else "no sweep can be started like this"
    return f"{told or 'nothing to say'}; {left}."
