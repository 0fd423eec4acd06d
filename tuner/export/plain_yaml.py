"""YAML that every reader takes for what it is, whatever is in it."""

from __future__ import annotations

import re

import yaml

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})


class _Dumper(yaml.SafeDumper):
    """Writes equal values out each time, and quotes all text that some reader could take for something else.

    Readers differ: `1e3` is text for PyYAML and a number for the parsers of Go, `on` the other way round.
    """

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    quote = "'" if '"' in text and text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else quote)


_Dumper.add_representer(str, _text)


def yaml_text(*documents: object) -> str:
    """Return YAML documents, separated by --- where there are several."""
    return "---\n".join(
        yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10**6, allow_unicode=True) for document in documents
    )
