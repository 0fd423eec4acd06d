"""`tuner completion`: what a shell has to read to complete this command line."""

from __future__ import annotations

import click

VARIABLE = "_TUNER_COMPLETE"
"""Set by the shell's function while it asks; click's name for it."""


@click.command(
    epilog="""\b
Examples:
  eval "$(tuner completion bash)"                                    (in ~/.bashrc)
  eval "$(tuner completion zsh)"                                     (in ~/.zshrc, after compinit)
  tuner completion fish > ~/.config/fish/completions/tuner.fish      (once)
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, options, spaces, eval sets, demo models and run directories."""
    from click.shell_completion import get_completion_class

    from tuner.cli import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "tuner", VARIABLE).source())
