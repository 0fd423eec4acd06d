"""`tuner noise`: how much an engine differs from itself."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import click

from tuner.cli.options import SessionArguments, json_option, session_options, space_options
from tuner.cli.signals import work_is_done
from tuner.cli.views import open_view


@click.command(
    epilog="""\b
Examples:
  tuner noise /models/Qwen3-14B --space quick
  tuner noise /models/Qwen3-14B --space quick --draft /models/Qwen3-0.6B --k 4 --lives 8
  tuner noise any-name --space tiny --engine sim --lives 2     (simulated engine)
"""
)
@partial(space_options, draft_help="With --k: measure this draft too, named as in SPACE or as a model.")
@click.option(
    "--lives", type=click.IntRange(min=2), default=5, show_default=True, help="Engine lives of each arm, in all."
)
@click.option("--k", type=click.IntRange(min=1), help="With --draft: the K to measure that draft at.")
@session_options
@json_option
def noise(
    target: str | None,
    space: str,
    eval_set: str | None,
    drafts: tuple[str, ...],
    engine: str | None,
    download: bool,
    distribution_samples: int | None,
    lives: int,
    k: int | None,
    as_json: bool,
    **session: Any,
) -> None:
    """Measure the engine without speculation against itself, in several engine lives.

    Tells how repeats differ within a life, how lives differ, and how small a speedup a sweep of SPACE could tell from
    none. With --draft and --k (a draft's name in SPACE, or a model) it does so for that setting too: an engine that
    speculates can differ far more from life to life than a plain one.

    The lives are kept in the run directory of a sweep of SPACE: a sweep with the same drafts uses them, and lives of a
    sweep count here.
    """
    from tuner.cli.noise_table import noise_table
    from tuner.noise import noise_arm, run_noise, unnamed_drafts
    from tuner.prepare import SweepRequest, prepare

    if len(drafts) > 1 or bool(drafts) != (k is not None):
        raise click.UsageError("--draft and --k go together: one draft, at one K.")
    arguments = SessionArguments(**session)
    added = unnamed_drafts(space, drafts)
    prepared = prepare(
        SweepRequest(target, space, eval_set, added, engine, download, (), distribution_samples, draft_k=k)
    )
    candidate = noise_arm(prepared, drafts[0], k) if drafts and k else None
    with open_view(quiet=arguments.quiet) as view:
        for note in prepared.notes:
            view.message(note)
        result = run_noise(prepared, candidate, lives, arguments.options(prepared), view)
    work_is_done()
    click.echo(noise_table(result.arms, prepared.space.protocol), err=as_json)
    click.echo(f"written: {result.run / 'noise.json'}", err=as_json)
    if as_json:
        click.echo(json.dumps(result.document))
