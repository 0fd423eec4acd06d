"""The artifact's text."""

from __future__ import annotations

import yaml

from tuner.artifact.model import BestConfig


class _Plain(yaml.SafeDumper):
    """Writes equal values out each time: an alias (&id001) is one more thing that a reader has to know."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def dump_best_config(config: BestConfig) -> str:
    """Return the YAML text; keys in the model's order, so that equal artifacts have equal texts."""
    return yaml.dump(config.model_dump(mode="json"), Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
