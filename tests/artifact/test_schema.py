"""The published JSON Schema is the model's."""

from __future__ import annotations

from tuner.artifact.schema import published_schema, schema_text


def test_the_published_schema_is_the_models() -> None:
    regenerate = "python -m tuner.artifact.schema > tuner/artifact/best_config.schema.json"
    assert published_schema() == schema_text(), regenerate
