"""The artifact's text."""

from __future__ import annotations

import yaml

from tuner.artifact.model import BestConfig


class _Plain(yaml.SafeDumper):
    """Writes equal values out each time: an alias (&id001) is one more thing that a reader has to know.

    And text that is read back as it was: PyYAML writes U+0085 as it stands, which a reader takes for a line break.
    """

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "\x85" in text else None)


_Plain.add_representer(str, _text)


def dump_best_config(config: BestConfig) -> str:
    """Return the YAML text; keys in the model's order, so that equal artifacts have equal texts."""
    return yaml.dump(config.model_dump(mode="json"), Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
