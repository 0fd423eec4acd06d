"""`tuner check`: does an artifact still hold on this machine?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.cli.options import json_option, registry_option

if TYPE_CHECKING:
    from tuner.freshness import Freshness
    from tuner.identity import Difference
    from tuner.records import Json
    from tuner.registry import Located

EXIT_FRESH, EXIT_STALE = 0, 1
_UNFINISHED = "the sweep behind it did not end, so this is the state so far and no answer yet"
_SHORTHANDS = ("driver", "memory", "count", "cores", "device", "engine")


@click.command(
    epilog="""\b
Examples:
  tuner check best_config.yaml
  tuner check Qwen/Qwen3-14B --registry s3://bucket/tuner     (the latest of that target)
  tuner check best_config.yaml --target-path /srv/models/target --draft-path /srv/models/draft --ignore driver

\b
Exit codes: 0 it holds, 1 it is stale, 2 it cannot be read or checked.
"""
)
@click.argument("artifact")
@click.option(
    "--engine",
    metavar="PATH|sim[:PROFILE]",
    help="The Python or virtual environment that will serve [default: this one].",
)
@click.option("--target-path", metavar="MODEL", help="Where the target lies here [default: where it was measured].")
@click.option(
    "--draft-path",
    "draft_paths",
    multiple=True,
    metavar="[NAME=]MODEL",
    help="Where a draft lies here; NAME where the artifact has several. May be repeated.",
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="FIELD",
    help="Make a difference a note: driver, memory, device, engine.version, target, env.NAME ... May be repeated.",
)
@registry_option
@json_option
def check(
    artifact: str,
    engine: str | None,
    target_path: str | None,
    draft_paths: tuple[str, ...],
    ignored: tuple[str, ...],
    registry: str,
    as_json: bool,
) -> int:
    """Say whether this machine has what ARTIFACT was measured with: engine, device, driver, models, environment.

    ARTIFACT is a best_config.yaml, the directory of a run or of a registry entry, a URL of these, or a target that the
    registry has (TARGET, or TARGET@STAMP for another than its latest). No engine is started.
    """
    from tuner.freshness import Deployed, freshness
    from tuner.registry import locate

    _check_fields(ignored)
    located = locate(artifact, registry)
    deployed = Deployed(engine, target_path, _by_name(draft_paths, located))
    found = freshness(located.config, deployed, ignored)
    for line in _lines(located, found):
        click.echo(line, err=as_json)
    if as_json:
        click.echo(json.dumps(_document(located, found)))
    return EXIT_FRESH if found.fresh else EXIT_STALE


def _check_fields(ignored: tuple[str, ...]) -> None:
    from tuner.identity.differences import FIELDS

    for name in ignored:
        beginning = name.partition(".")[0]
        if name not in (*FIELDS, *_SHORTHANDS) and beginning not in ("target", "draft", "env"):
            known = ", ".join((*_SHORTHANDS, "engine.version", "target", "draft.NAME", "env.NAME"))
            raise click.UsageError(f"--ignore {name}: there is no such field. Fields: {known}.")


def _by_name(draft_paths: tuple[str, ...], located: Located) -> dict[str, str]:
    from tuner.identity import artifact_setup

    setup = artifact_setup(located.config)
    only = [*(setup.deployed or setup.drafts)]
    named = {}
    for given in draft_paths:
        name, equals, path = given.partition("=")
        if equals and (name in setup.drafts or not _may_be_a_path(name, given)):
            named[name] = path
        elif len(only) == 1:
            named[only[0]] = given
        else:
            names = ", ".join(setup.drafts) or "none"
            raise click.UsageError(f"--draft-path {given}: say which draft, NAME=MODEL. The artifact has: {names}.")
    return named


def _may_be_a_path(name: str, given: str) -> bool:
    return "/" in name or Path(given).exists()


def _lines(located: Located, found: Freshness) -> list[str]:
    stale = [difference for difference in found.differences if difference.stale]
    notes = [difference for difference in found.differences if not difference.stale]
    lines = [
        f"{'fresh' if found.fresh else 'stale'}: {located.where}",
        *(() if found.finished else (f"  not finished: {_UNFINISHED}",)),
        *(line for difference in stale for line in (f"  {_change(difference)}", f"      {difference.why}")),
        *(f"  note: {_change(difference)} ({difference.why})" for difference in notes),
    ]
    if stale:
        lines.append(f"Measure again: tuner sweep {located.config.target}")
    elif not found.finished:
        lines.append("Finish it: call the same tuner sweep again, it goes on where it stopped.")
    return lines


def _change(difference: Difference) -> str:
    return f"{difference.field}: {_shown(difference.measured)} -> {_shown(difference.now)}"


def _shown(value: Json) -> str:
    return "none" if value is None else str(value)


def _document(located: Located, found: Freshness) -> dict[str, Json]:
    return {
        "artifact": located.where,
        "fresh": found.fresh,
        "target": located.config.target,
        "verdict": located.config.verdict.value,
        "finished": located.config.finished,
        "differences": [asdict(difference) for difference in found.differences],
    }
