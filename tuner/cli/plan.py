"""`tuner plan`: what a sweep would do; no engine is started."""

from __future__ import annotations

import json
import shlex

import click

from tuner.cli.options import json_option, space_options


@click.command(epilog="\b\nExample:\n  tuner plan /models/Qwen3-14B --draft /models/Qwen3-0.6B --space quick")
@space_options
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Engines side by side.")
@json_option
def plan(
    target: str | None,
    space: str,
    eval_set: str | None,
    drafts: tuple[str, ...],
    engine: str | None,
    download: bool,
    distribution_samples: int | None,
    workers: int,
    as_json: bool,
) -> None:
    """Show every engine start of a sweep of SPACE for TARGET, with its exact command line."""
    from tuner.analysis.distribution import MAX_PROMPTS
    from tuner.engine.plan import plan as plan_of
    from tuner.prepare import SweepRequest, prepare
    from tuner.words import ROLE_WORDS

    request = SweepRequest(target, space, eval_set, drafts, engine, download, distribution_samples=distribution_samples)
    prepared = prepare(request)
    protocol = prepared.space.protocol
    planned = plan_of(prepared.space, prepared.engine, prepared.target, workers)
    starts = [
        {"role": start.role.value, "candidate": start.candidate.label, "command": list(start.command)}
        for start in planned.starts
    ]
    if as_json:
        document = {
            "target": planned.target,
            "space": planned.space,
            "engine": {"version": prepared.engine.version, "build": prepared.engine.build},
            "engine_starts": planned.engine_starts,
            "final_rounds": list(planned.final_rounds) if planned.final_rounds else None,
            "env": dict(planned.env),
            "load_points": [point.label for point in planned.load_points],
            "starts": starts,
            "unavailable": {candidate.label: reason for candidate, reason in planned.unavailable},
        }
        click.echo(json.dumps(document, ensure_ascii=False))
        return
    click.echo(f"{planned.target}, space {planned.space}, vLLM {prepared.engine.version} ({prepared.engine.build})")
    click.echo(f"{planned.engine_starts} engine starts on {workers} worker(s); at each:")
    for point in planned.load_points:
        click.echo(f"  {point.label}, {_between(protocol.repeats, protocol.max_repeats)} repeats")
    if samples := protocol.distribution_samples:
        click.echo(f"  {samples} short answers to each of up to {MAX_PROMPTS} prompts at each temperature above 0")
    if planned.final_rounds:
        click.echo(
            f"then {_between(*planned.final_rounds)} rounds of fresh lives: the winner, its closest rival and their "
            f"baselines, 2 or more engine starts each"
        )
    for name, lengths in prepared.lengths.items():
        click.echo(f"eval set {name}: {lengths.prompts} prompts of {lengths.shortest}-{lengths.longest} {lengths.unit}")
    for name, value in planned.env.items():
        click.echo(f"environment: {name}={value}")
    for start in planned.starts:
        click.echo(f"\n{start.candidate.label} ({ROLE_WORDS[start.role]})\n  {shlex.join(start.command)}")
    for candidate, reason in planned.unavailable:
        click.echo(f"\nnot tried: {candidate.label}: {reason}")
    if planned.limited:
        click.echo("\nThe limits of the space end the sweep before all of these have run.")


def _between(least: int, most: int) -> str:
    return f"{least}" if most <= least else f"{least} to {most}"
