"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

DISTRIBUTION_SAMPLES = 64

Command = TypeVar("Command", bound=Callable[..., object])


def space_options(command: Command) -> Command:
    """Add what names a sweep: target, space, eval set, drafts, engine."""
    for option in reversed(
        (
            click.argument("target", required=False),
            click.option("--space", default="default", show_default=True, metavar="NAME|FILE", help="Search space."),
            click.option("--eval-set", metavar="NAME|FILE", help="Use this eval set at every load point."),
            click.option(
                "--draft", "drafts", multiple=True, metavar="MODEL", help="Also try this draft model; may be repeated."
            ),
            click.option(
                "--engine",
                metavar="PATH|sim[:PROFILE]",
                help="A Python or virtual environment with vLLM [default: this one], or the simulated engine.",
            ),
            click.option("--download", is_flag=True, help="Allow hub ids to be downloaded."),
            click.option(
                "--check-distribution",
                "distribution_samples",
                type=click.IntRange(min=2),
                is_flag=False,
                flag_value=DISTRIBUTION_SAMPLES,
                metavar="[N]",
                help="Above temperature 0, compare sampled first tokens with the baseline's: N short answers to each "
                f"of up to 16 prompts, in every engine [N: {DISTRIBUTION_SAMPLES}].",
            ),
        )
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="End with one line of JSON on standard output.")
