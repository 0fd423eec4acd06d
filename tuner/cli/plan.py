"""`tuner plan`: what a sweep would do; no engine is started."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.options import json_option, space_options

if TYPE_CHECKING:
    from tuner.engine.plan import Plan
    from tuner.prepare import Prepared


@click.command(epilog="\b\nExample:\n  tuner plan /models/Qwen3-14B --draft /models/Qwen3-0.6B --space quick")
@space_options
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Engines side by side.")
@json_option
def plan(workers: int, as_json: bool, **asked: Any) -> None:
    """Show every engine start of a sweep of SPACE for TARGET, with its exact command line."""
    from tuner.engine.plan import plan as plan_of
    from tuner.prepare import SweepRequest, prepare
    from tuner.session import sampler_of

    prepared = prepare(SweepRequest(**asked))
    planned = plan_of(prepared.space, prepared.engine, prepared.target, workers, prepared.refused)
    starts = [
        {"role": start.role.value, "candidate": start.candidate.label, "command": list(start.command)}
        for start in planned.starts
    ]
    if as_json:
        document = {
            "target": planned.target,
            "space": planned.space,
            "engine": {"version": prepared.engine.version, "build": prepared.engine.build},
            "sampler": sampler_of(prepared),
            "engine_starts": planned.engine_starts,
            "final_rounds": list(planned.final_rounds) if planned.final_rounds else None,
            "env": dict(planned.env),
            "load_points": [point.label for point in planned.load_points],
            "starts": starts,
            "unavailable": {candidate.label: reason for candidate, reason in planned.unavailable},
        }
        click.echo(json.dumps(document, ensure_ascii=False))
        return
    for line in _lines(prepared, planned, workers):
        click.echo(line)


def _lines(prepared: Prepared, planned: Plan, workers: int) -> Iterator[str]:
    """Yield the plan for people."""
    from tuner.analysis.distribution import MAX_PROMPTS
    from tuner.session import sampler_of
    from tuner.space.search_space import GUIDED
    from tuner.words import ROLE_WORDS

    protocol, guided = prepared.space.protocol, sampler_of(prepared) == GUIDED
    yield f"{planned.target}, space {planned.space}, vLLM {prepared.engine.version} ({prepared.engine.build})"
    most = "at most " if guided else ""
    yield f"{most}{planned.engine_starts} engine starts on {workers} worker(s); at each:"
    for point in planned.load_points:
        yield f"  {point.label}, {_between(protocol.repeats, protocol.max_repeats)} repeats"
    if samples := protocol.distribution_samples:
        yield f"  {samples} short answers to each of up to {MAX_PROMPTS} prompts at each temperature above 0"
    if planned.final_rounds:
        yield (
            f"then {_between(*planned.final_rounds)} rounds of fresh lives: the winner, its closest rival and their "
            f"baselines, 2 or more engine starts each"
        )
    for name, lengths in prepared.lengths.items():
        yield f"eval set {name}: {lengths.prompts} prompts of {lengths.shortest}-{lengths.longest} {lengths.unit}"
    for name, value in planned.env.items():
        yield f"environment: {name}={value}"
    if guided:
        yield (
            "The guided search starts the baseline, of each draft the largest K, and then what it cannot predict well "
            "enough: usually fewer than all of these, in an order of its own."
        )
    for start in planned.starts:
        yield f"\n{start.candidate.label} ({ROLE_WORDS[start.role]})\n  {shlex.join(start.command)}"
    for candidate, reason in planned.unavailable:
        yield f"\nnot tried: {candidate.label}: {reason}"
    if planned.limited:
        yield "\nThe limits of the space end the sweep before all of these have run."


def _between(least: int, most: int) -> str:
    return f"{least}" if most <= least else f"{least} to {most}"
