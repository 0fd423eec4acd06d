"""docs/reference/cli.md from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from tests.cli.commands import every_command
from tests.reference.markdown import code, table
from tests.reference.variables import VARIABLES
from tuner import errors
from tuner.cli import cli

HEAD = """# Commands

Every command with its arguments, options and examples. `tuner COMMAND --help` says the same. Results go to standard
output, everything else to standard error; with `--json` the last line on standard output is one JSON object, after an
error `{"error": ..., "next_step": ..., "exit_code": ...}`.
"""


def cli_page() -> str:
    """Return the page."""
    commands = list(every_command())
    parts = [HEAD, _contents(commands), _exit_codes(), _variables()]
    parts += [_command(name, command) for name, command in commands]
    return "\n".join(parts)


def _contents(commands: list[tuple[str, click.Command]]) -> str:
    rows = ([f"[`{name}`](#{name.replace(' ', '-')})", _first_sentence(command)] for name, command in commands)
    return table(["command", "for"], rows)


def _first_sentence(command: click.Command) -> str:
    text = " ".join((command.help or "").split())
    return re.split(r"(?<=[.:]) ", text)[0].rstrip(".:")


def _exit_codes() -> str:
    said = " ".join((cli.help or "").split()).partition("Exit codes: ")[2].rstrip(".")
    rows = (one.split(" ", 1) for one in said.split(", "))
    of_errors = ([code(one.__name__), str(one.exit_code), (one.__doc__ or "").partition("\n")[0]] for one in _errors())
    return (
        "## Exit codes\n\n"
        + table(["code", "meaning"], rows)
        + "\nAn expected error ends the command with a sentence and its next step:\n\n"
        + table(["error", "code", "meaning"], of_errors)
    )


def _errors(of: type[errors.TunerError] = errors.TunerError) -> Iterator[type[errors.TunerError]]:
    """Yield the errors that end a command; an engine's own end one trial."""
    for one in of.__subclasses__():
        if one.__module__ == errors.__name__ and not issubclass(one, errors.EngineError):
            yield one
            yield from _errors(one)


def _variables() -> str:
    rows = ([code(name), meaning] for name, meaning in VARIABLES.items() if not name.startswith("_"))
    return "## Environment variables\n\n" + table(["variable", "meaning"], rows)


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    usage = " ".join(
        [name, *(["[OPTIONS]"] if _options(command) else []), *(p.make_metavar(context) for p in arguments)]
    )
    parts = [f"## {name}\n", f"`{usage}`\n", _paragraphs(command.help or "")]
    if rows := [_option(option, context) for option in _options(command)]:
        parts.append(table(["option", "default", "meaning"], rows))
    if command.epilog:
        parts.append(_epilog(command.epilog))
    return "\n".join(parts)


def _options(command: click.Command) -> list[click.Option]:
    return [p for p in command.params if isinstance(p, click.Option) and not p.hidden]


def _option(option: click.Option, context: click.Context) -> list[str]:
    names = ", ".join(code(name) for name in [*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {code(option.make_metavar(context))}"
    meaning, told = option.help or "", ""
    if found := re.search(r"\s*\[default: ([^\]]*)\]", meaning):
        meaning, told = meaning.replace(found.group(), ""), found.group(1)
    elif option.show_default and option.default not in (None, False, ()):
        told = "check" if option.default is True and option.secondary_opts else str(option.default)
        told = option.opts[0] if option.default is True else told
    variable = f" Variable: `{option.envvar}`." if option.envvar else ""
    again = " May be given several times." if option.multiple and "repeat" not in meaning.lower() else ""
    return [f"{names}{value}", code(told) if told and " " not in told else told, f"{meaning}{again}{variable}"]


def _paragraphs(text: str) -> str:
    return (
        "".join(f"{' '.join(part.split())}\n\n" for part in re.split(r"\n\s*\n", text.replace("\b", ""))).rstrip("\n")
        + "\n"
    )


def _epilog(text: str) -> str:
    """Return examples as a block of code, anything else as words."""
    blocks = re.split(r"\n\s*\n", text.strip().removeprefix("\b\n"))
    found = []
    for block in blocks:
        lines = block.replace("\b\n", "").splitlines()
        if lines[0].strip() in ("Example:", "Examples:"):
            found.append("```\n" + "".join(f"{line.strip()}\n" for line in lines[1:]) + "```\n")
        else:
            found.append(_paragraphs("\n".join(lines)))
    return "\n".join(found)
