"""The published JSON Schema of best_config.yaml, made from the model: python -m tuner.artifact.schema > FILE."""

from __future__ import annotations

import json
import sys
from importlib.resources import files

from tuner.artifact.model import SCHEMA_VERSION, BestConfig

SCHEMA_FILE = "best_config.schema.json"
"""In this package."""
_ID = f"urn:spec-tuner:best_config:{SCHEMA_VERSION}"


def schema_text() -> str:
    """Return the schema that follows from the model."""
    schema = BestConfig.model_json_schema(mode="validation")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": _ID}
    return json.dumps({**head, **schema}, indent=2, ensure_ascii=False) + "\n"


def published_schema() -> str:
    """Return the schema as it is in the package."""
    return files("tuner.artifact").joinpath(SCHEMA_FILE).read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.stdout.write(schema_text())
