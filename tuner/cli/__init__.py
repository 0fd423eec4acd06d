"""The `tuner` command. Each subcommand lives in a module of its own, imported only when it is called."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module

import click

from tuner.errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, TunerError

_COMMANDS = {
    "sweep": "tuner.cli.sweep:sweep",
    "plan": "tuner.cli.plan:plan",
    "preflight": "tuner.cli.preflight:preflight",
    "status": "tuner.cli.status:status",
    "report": "tuner.cli.report:report",
    "explain": "tuner.cli.explain:explain",
    "noise": "tuner.cli.noise:noise",
    "diagnose": "tuner.cli.diagnose:diagnose",
    "breakeven": "tuner.cli.breakeven:breakeven",
    "export": "tuner.cli.export:export",
    "check": "tuner.cli.check:check",
    "history": "tuner.cli.history:history",
    "compare": "tuner.cli.compare:compare",
    "serve": "tuner.cli.serve:serve",
    "doctor": "tuner.cli.doctor:doctor",
    "methods": "tuner.cli.methods:methods",
    "models": "tuner.cli.models:models",
    "eval-set": "tuner.cli.eval_set:eval_set",
    "completion": "tuner.cli.completion:completion",
}
_MEASURING = {
    "sweep": "Finished trials are kept.",
    "diagnose": "Finished trials are kept.",
    "noise": "Finished lives are kept.",
}
"""Commands that run for hours: they end in an orderly way when they are stopped, and do not end with their reader."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is named, so that --help starts fast (Click's documented recipe)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order in which a newcomer meets them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand, None if there is none of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        if "_TUNER_COMPLETE" in os.environ:
            from tuner.cli.completing import completed

            return completed(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: the help text lists them by what they are for, and importing them all takes a second."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand as click does; for an unknown one the nearest is named."""
        near = get_close_matches(args[0], _COMMANDS, n=1) if args and args[0] not in _COMMANDS else []
        if near and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and (option := _given_twice(command, rest)):
            ctx.fail(f"{option} is given twice, and it takes one value. Keep one of the two.")
        return name, command, rest


def _given_twice(command: click.Command, arguments: list[str]) -> str | None:
    """Return an option with one value that stands twice on the command line: click would take the last without a word.

    None where there is none, and where the command line is wrong in another way, which click will say.
    """
    try:
        order = command.make_parser(click.Context(command)).parse_args(list(arguments))[2]
    except click.UsageError:
        return None
    options = [one for one in order if isinstance(one, click.Option) and not (one.multiple or one.is_flag or one.count)]
    return next((one.opts[-1] for i, one in enumerate(options) if one in options[:i]), None)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="spec-tuner", prog_name="tuner")
def cli() -> None:
    """Find out whether speculative decoding pays for a model, with which draft and which K - by measuring.

    \b
    tuner sweep MODEL               measure and write best_config.yaml
    tuner plan MODEL                show what a sweep would start, start nothing
    tuner preflight MODEL           what files tell: what cannot work, what to know, what fits
    tuner status RUN                where a running sweep is, from another terminal
    tuner explain RUN               why this K and not the others, in plain words (--lang zh: Chinese)
    tuner report RUN                write plots and report of a run again
    tuner noise MODEL               how much the engine differs from itself
    tuner diagnose MODEL            a sweep that also says why
    tuner breakeven RUN             the acceptance that a draft would need to pay
    tuner export FORMAT ARTIFACT    the answer for Compose, Kubernetes, Ray Serve and others
    tuner check ARTIFACT            does a best_config.yaml still hold on this machine
    tuner history MODEL             the sweeps of a model, and what changed between them
    tuner compare OLD NEW           is a sweep better, the same or worse than an older one, and why
    tuner serve                     pages, an API for deployments, and a queue of sweeps
    tuner doctor                    what is in the way of a sweep on this machine
    tuner methods                   the methods of speculation, and which of them an engine can run
    tuner models, tuner eval-set    make demo models or padded drafts; check or import prompts
    tuner completion SHELL          completion for bash, zsh and fish

    Exit codes: 0 done, 1 stale (check) or worse (compare), 2 bad input, 3 nothing could be measured, 4 cannot tell
    (compare), 130 interrupted, 143 terminated, 129 terminal lost.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; every expected error becomes one message, its next step and its exit code."""
    if argv is None:
        from tuner.cli.encoding import in_utf8

        in_utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    kept = _MEASURING.get(arguments[0]) if arguments else None
    if kept is None:
        _run(arguments)
        return
    from tuner.cli.resuming import resume_command
    from tuner.cli.signals import ending_cleanly
    from tuner.cli.streams import outlast_readers

    outlast_readers()
    with ending_cleanly(kept, partial(resume_command, arguments), as_json="--json" in arguments):
        _run(arguments)


def _run(arguments: list[str]) -> None:
    try:
        code = cli.main(args=arguments, standalone_mode=False)
    except TunerError as error:
        _tell(error, as_json="--json" in arguments)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.ClickException as error:
        _stop_at_old_options(error, arguments)
        error.show()
        if "--json" in arguments:
            _tell_as_json(error.format_message(), "", EXIT_BAD_INPUT)
        sys.exit(EXIT_BAD_INPUT)
    except click.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except OSError as error:
        from tuner.cli.refused import output_refused, refused

        if (refusal := refused(error)) is None:
            raise
        _tell(refusal, as_json="--json" in arguments and not output_refused(error))
        sys.exit(refusal.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _stop_at_old_options(error: click.ClickException, arguments: Sequence[str]) -> None:
    """Exit with the right place where the option that nothing knows is one of vLLM's, or a key of search spaces."""
    if not isinstance(error, click.NoSuchOption):
        return
    from tuner.cli.old_options import old_options
    from tuner.cli.space_options import space_option

    old = old_options(arguments) or space_option(error.option_name, arguments)
    if old is not None:
        _tell(old, as_json="--json" in arguments)
        sys.exit(old.exit_code)


def _tell(error: TunerError, *, as_json: bool) -> None:
    # Click knows nothing of NO_COLOR (no-color.org): set and not empty, it asks for none.
    click.secho(f"error: {error.message}", fg="red", err=True, color=False if os.environ.get("NO_COLOR") else None)
    if error.next_step:
        click.echo(error.next_step, err=True)
    if as_json:
        _tell_as_json(error.message, error.next_step, error.exit_code)


def _tell_as_json(message: str, next_step: str, exit_code: int) -> None:
    click.echo(json.dumps({"error": message, "next_step": next_step, "exit_code": exit_code}))
