"""best_config.yaml as data: its model, its reader, older versions, its JSON Schema (see docs/artifact.md)."""

from tuner.artifact.candidates import recommended_candidate
from tuner.artifact.model import BestConfig
from tuner.artifact.reading import load_best_config, parse_best_config
from tuner.artifact.writing import dump_best_config

__all__ = ["BestConfig", "dump_best_config", "load_best_config", "parse_best_config", "recommended_candidate"]
