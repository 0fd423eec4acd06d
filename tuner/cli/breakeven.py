"""`tuner breakeven`: what a draft would need to pay, from what a run measured."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.cli.options import json_option
from tuner.errors import InputError, NothingMeasured, OutputError

if TYPE_CHECKING:
    from tuner.analysis.breakeven import Breakeven
    from tuner.records import RunManifest, Trial, TrialFigures

PICTURES = (".png", ".svg")


@click.command(
    epilog="""\b
Examples:
  tuner breakeven runs/Qwen3-14B/default
  tuner breakeven runs/Qwen3-14B/default --concurrency 8 --up-to 8 --plot breakeven.png
  tuner breakeven runs/Qwen3-14B/default --draft-speed 4      (a draft four times as fast)
"""
)
@click.argument("run", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--draft", "drafts", multiple=True, metavar="NAME", help="Only this draft of the run; may be repeated.")
@click.option(
    "--concurrency", "concurrencies", multiple=True, type=click.IntRange(min=1), help="Only this one; may be repeated."
)
@click.option("--up-to", type=click.IntRange(min=1), help="Largest K to tell of [default: the largest measured].")
@click.option(
    "--draft-speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="FACTOR",
    help="As if the draft were FACTOR times as fast as the measured one. Needs a run with --drafts-alone, or n-gram.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw it too, into FILE.png or FILE.svg.",
)
@json_option
def breakeven(
    run: Path,
    drafts: tuple[str, ...],
    concurrencies: tuple[int, ...],
    up_to: int | None,
    draft_speed: float | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Tell what a draft would need: the acceptance at which speculation pays, and at which it reaches 1.5x and 2x.

    RUN is the directory of a sweep with a baseline and at least one draft, good or bad: how long a step takes does not
    depend on what is accepted. Nothing is started, and RUN is left as it is.
    """
    from tuner.cli.breakeven_table import breakeven_json, breakeven_table

    if plot is not None and plot.suffix not in PICTURES:
        raise click.UsageError(f"--plot takes a name that ends in {' or '.join(PICTURES)}.")
    where, found = read_breakeven(run, drafts, concurrencies, up_to, draft_speed)
    click.echo(breakeven_table(where, found), err=as_json)
    if plot is not None:
        _draw(where, found, plot)
        click.echo(f"written: {plot}", err=as_json)
    if as_json:
        click.echo(json.dumps({"run": str(run), **breakeven_json(where, found)}))


def read_breakeven(
    run: Path,
    drafts: tuple[str, ...] = (),
    concurrencies: tuple[int, ...] = (),
    up_to: int | None = None,
    draft_speed: float | None = None,
) -> tuple[str, tuple[Breakeven, ...]]:
    """Return where a run was measured, in words, and what its drafts would need.

    Without names, n-gram and the like are taken only where there is nothing else.

    Raises OutputError when `run` is no run, InputError when what is asked for is not in it or the draft's own time is
    needed and not known, NothingMeasured when no baseline or no speculating candidate succeeded.
    """
    from tuner.analysis.apart import apart
    from tuner.analysis.breakeven import breakeven as analyse
    from tuner.evidence import evidence
    from tuner.report import run_manifest, subtitle
    from tuner.store import read_run

    stored, kept = read_run(run)
    manifest = run_manifest(stored)
    with stored.naming_broken():
        trials = evidence(kept, manifest).trials
        loads = [load for load in manifest.load_points if not concurrencies or load.concurrency in concurrencies]
        if not loads:
            measured = ", ".join(str(c) for c in sorted({load.concurrency for load in manifest.load_points}))
            raise InputError("the run has no load point of that concurrency", f"It measured concurrency {measured}.")
        figures = _wanted(manifest, trials, drafts)
        timed_apart = apart(kept, loads)
        found = analyse(figures, loads, timed_apart, up_to=up_to)
        if not found:
            raise _nothing_speculated(trials)
        if draft_speed is not None:
            found = analyse(figures, loads, timed_apart, up_to=up_to, draft_speed=draft_speed)
        if not found:
            raise _not_told_apart(manifest)
    return subtitle(manifest, trials), found


def _wanted(manifest: RunManifest, trials: tuple[Trial, ...], drafts: tuple[str, ...]) -> list[TrialFigures]:
    """Return the figures of baselines and of the drafts that are asked for, over fresh lives first."""
    from tuner.analysis.findings import findings
    from tuner.space.methods import METHODS, ModelNeed

    found = findings(trials, manifest.load_points, protocol=manifest.protocol)
    figures = [*(trial for trial in found.finals if trial.lives > 1 and trial.candidate.k), *found.trials]
    specs = [spec for trial in figures if (spec := trial.candidate.speculation) is not None]
    if not specs:
        raise _nothing_speculated(trials)
    names = list(dict.fromkeys(spec.draft_name for spec in specs))
    unknown = [draft for draft in drafts if draft not in names]
    if unknown:
        raise InputError(f"the run has no figures of a draft named {unknown[0]!r}", f"It has: {', '.join(names)}.")
    trained = {spec.draft_name for spec in specs if METHODS[spec.method].model is not ModelNeed.NONE}
    shown = set(drafts) or trained or set(names)
    return [trial for trial in figures if not trial.candidate.k or trial.candidate.draft_name in shown]


def _nothing_speculated(trials: tuple[Trial, ...]) -> NothingMeasured:
    failed = [trial.record for trial in trials if trial.record.candidate.k and trial.record.failure]
    why = (
        f": {failed[-1].candidate.label} failed ({failed[-1].failure.message})" if failed and failed[-1].failure else ""
    )
    return NothingMeasured(
        f"Nothing in this run tells how long a step takes that has a draft each time{why}",
        "It takes a baseline and a draft at one K or more, and the draft need not be good: tuner sweep MODEL --draft "
        "DRAFT. N-gram serves only where it finds a match in nearly every step.",
    )


def _not_told_apart(manifest: RunManifest) -> InputError:

    again = (
        shlex.join(manifest.repeat_with) if manifest.repeat_with[:2] == ("tuner", "sweep") else "tuner sweep MODEL ..."
    )
    return InputError(
        "--draft-speed needs the time that the draft takes, and nothing in this run tells it from verification",
        f"Serve the draft alone in the same run, one more engine start: {again} --drafts-alone. Heads (EAGLE, MTP) "
        "cannot be served alone: for those measure ngram_gpu at one of their K.",
    )


def _draw(where: str, found: tuple[Breakeven, ...], path: Path) -> None:
    from tuner.plots import save_breakeven

    try:
        save_breakeven(found, path, subtitle=where)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}", "Give --plot another place."
        ) from error
