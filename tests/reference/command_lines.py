"""Command lines of `tuner` as documents show them, held against click's own parser."""

from __future__ import annotations

import shlex

import click

from tests.cli.commands import every_command

COMMANDS = dict(every_command())


def words_of(line: str) -> list[str] | None:
    """Return the words of the first call of `tuner` in a line of shell, None where there is none."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    if "tuner" not in words[:4]:
        return None
    call = words[words.index("tuner") :]
    end = next((i for i, word in enumerate(call) if word and set(word) <= set("();<>|&")), len(call))
    return call[:end]


def mistake(words: list[str]) -> str:
    """Return what is wrong with a call of `tuner`, "" if nothing is. Files need not exist."""
    name = next((" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in COMMANDS), "")
    if not name:
        return f"no command {' '.join(words[:3])!r}"
    command = COMMANDS[name]
    context = click.Context(command, info_name=name)
    try:
        values, _, _ = command.make_parser(context).parse_args(words[len(name.split()) :])
        for param in command.params:
            value = values.get(param.name or "")
            if param.required and not (isinstance(value, str | list | tuple) and value):
                return f"{name} wants {param.make_metavar(context)}"
            if isinstance(value, str) and not isinstance(param.type, click.Path | click.File):
                param.type(value, param, context)
    except click.UsageError as error:
        return error.format_message()
    return ""
