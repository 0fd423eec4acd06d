"""`tuner preflight`: what the files tell of a sweep; no engine is started."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.options import json_option, space_options
from tuner.errors import EXIT_BAD_INPUT, EXIT_OK, EvalSetError, ModelError

if TYPE_CHECKING:
    from tuner.preflight.inspection import Inspected


@click.command(epilog="\b\nExample:\n  tuner preflight /models/Qwen3-14B --draft /models/Qwen3-0.6B --space quick")
@space_options
@click.option(
    "--device-memory",
    metavar="SIZE",
    help="Plan the memory for a GPU of this size, e.g. 80GiB [default: this machine's smallest GPU, or the host].",
)
@json_option
def preflight(device_memory: str | None, as_json: bool, **asked: Any) -> int:
    """Check TARGET, its drafts and its prompts from files alone: what cannot work, what to know, what fits.

    Vocabularies are compared token by token, the models' settings with each other and with the engine's rules, the
    memory with this machine's. The same is looked at before every sweep.

    Exit codes: 0 no errors (there may be warnings), 2 something cannot work.
    """
    from tuner.cli.preflight_table import document, error_notice, preflight_table
    from tuner.preflight.examine import RefusedByFiles
    from tuner.preflight.memory import parse_device_size
    from tuner.prepare import SweepRequest, prepare
    from tuner.records.notice import Level

    request = SweepRequest(**asked, device_memory=parse_device_size(device_memory) if device_memory else None)
    found: list[Inspected] = []
    prepared, error = None, None
    try:
        prepared = prepare(request, found.append)
    except (ModelError, EvalSetError) as refused:
        error = refused
    notices = list(prepared.manifest.notices if prepared else found[0].examined.notices if found else ())
    if error is not None and not isinstance(error, RefusedByFiles):  # whose reasons stand in the notices
        notices.insert(0, error_notice(error))
    failed = any(notice.level is Level.ERROR for notice in notices)
    if as_json:
        told = document(notices, found[0] if found else None, prepared)
        click.echo(json.dumps({"ok": not failed, **told}, ensure_ascii=False))
    else:
        click.echo(preflight_table(notices, found[0] if found else None, prepared), nl=False)
    return EXIT_BAD_INPUT if failed else EXIT_OK
