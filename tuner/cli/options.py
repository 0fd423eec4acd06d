"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from tuner.space.search_space import SAMPLERS

if TYPE_CHECKING:
    from tuner.prepare import Prepared
    from tuner.session import SweepOptions

DISTRIBUTION_SAMPLES = 64

Command = TypeVar("Command", bound=Callable[..., object])


def space_options(
    command: Command,
    draft_help: str = "Also try this draft model; may be repeated.",
    *,
    several_engines: bool = False,
) -> Command:
    """Add what names a sweep: target, space, eval set, drafts, engine; the names are those of SweepRequest's fields.

    several_engines: the command takes `engines`, a tuple, in place of `engine`.
    """
    where = "A Python or virtual environment with vLLM [default: this one], or the simulated engine."
    for option in reversed(
        (
            click.argument("target", required=False),
            click.option("--space", default="default", show_default=True, metavar="NAME|FILE", help="Search space."),
            click.option("--eval-set", metavar="NAME|FILE", help="Use this eval set at every load point."),
            click.option("--draft", "drafts", multiple=True, metavar="MODEL", help=draft_help),
            click.option(
                "--engine",
                *(["engines"] if several_engines else []),
                multiple=several_engines,
                metavar="PATH|sim[:PROFILE]",
                help=f"{where} Given twice: one after the other, and compared." if several_engines else where,
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


def session_options(command: Command) -> Command:
    """Add how to run it, as opposed to what to measure; the command takes them as `**session`, see SessionArguments."""
    for option in reversed(
        (
            click.option(
                "--out",
                type=click.Path(path_type=Path, file_okay=False),
                help="Run directory [default: runs/TARGET/SPACE].",
            ),
            click.option(
                "--pool",
                type=click.Choice(["ray", "cluster", "local"]),
                help="Workers: Ray on this machine, the Ray cluster at RAY_ADDRESS, or threads of this process "
                "[default: ray; local for sim].",
            ),
            click.option(
                "--max-workers", type=click.IntRange(min=1), help="Use at most so many GPUs (or groups of them)."
            ),
            click.option("--storage", metavar="URL", help="Optuna storage [default: SQLite in the run directory]."),
            click.option("--retry-failed", is_flag=True, help="Run trials again that failed in an earlier session."),
            click.option("--quiet", is_flag=True, help="No progress, only what it ends with."),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class SessionArguments:
    """The values of session_options, and of those of the other options below that the command has."""

    out: Path | None
    pool: Literal["ray", "cluster", "local"] | None
    max_workers: int | None
    storage: str | None
    retry_failed: bool
    quiet: bool
    sampler: str | None = None
    auto_fix: bool = False
    registry: str | None = None
    no_registry: bool = False
    registry_samples: bool = False
    fresh_search: bool = False

    @classmethod
    def apart(cls, options: Mapping[str, Any]) -> tuple[SessionArguments, dict[str, Any]]:
        """Return those of a command's options that are of a session, and the others: of a SweepRequest, by name."""
        own = {field.name for field in fields(cls)}
        others = {name: value for name, value in options.items() if name not in own}
        return cls(**{name: value for name, value in options.items() if name in own}), others

    def options(self, prepared: Prepared) -> SweepOptions:
        """Return them with the defaults that depend on what is to be measured."""
        from tuner.session import SweepOptions

        return SweepOptions(
            out=self.out or prepared.default_out,
            pool=self.pool or ("local" if prepared.engine.kind == "sim" else "ray"),
            max_workers=self.max_workers,
            storage=self.storage,
            retry_failed=self.retry_failed,
            sampler=self.sampler,
            auto_fix=self.auto_fix,
            registry=None if self.no_registry else self.registry,
            registry_samples=self.registry_samples,
            fresh_search=self.fresh_search,
        )


sampler_option = click.option(
    "--sampler",
    type=click.Choice(SAMPLERS),
    help="How the next candidate is chosen [default: the space's, guided where it names none]. The guided search "
    "predicts what it does not measure; all others measure every candidate, in the space's order (grid) or another.",
)

auto_fix_option = click.option(
    "--auto-fix",
    is_flag=True,
    help="Try again what failed for want of another engine argument (memory share, lengths, batch sizes), with the "
    "value that its log asks for: at most twice, as a candidate of its own with a baseline of its own.",
)

fresh_search_option = click.option(
    "--fresh-search",
    is_flag=True,
    help="Search as if there were no earlier sweep of the target. Otherwise the best of the last one in the registry "
    "and the K next to it are measured first, and everything else only if they moved.",
)

same_runner_option = click.option(
    "--same-runner-baseline",
    "same_runner",
    is_flag=True,
    help="Measure the baseline also with the settings that speculation makes the engine change (model runner, "
    "scheduling, CUDA graphs), to see what they cost.",
)

DEFAULT_REGISTRY = "artifacts"

registry_option = click.option(
    "--registry",
    default=DEFAULT_REGISTRY,
    show_default=True,
    envvar="TUNER_REGISTRY",
    show_envvar=True,
    metavar="DIR|URL",
    help="Where finished sweeps are kept, by target: a directory, or a URL (s3://, gs://, abfs:// ...).",
)


def keeping_options(command: Command) -> Command:
    """Add where a finished sweep is kept; the command takes them as `**session`, see SessionArguments."""
    for option in reversed(
        (
            registry_option,
            click.option("--no-registry", is_flag=True, help="Keep the sweep in its run directory alone."),
            click.option(
                "--registry-samples",
                is_flag=True,
                help="Keep each request's samples in the registry too (30 to 800 KB a trial).",
            ),
        )
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="End with one line of JSON on standard output.")

language_option = click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of what people read."
)
