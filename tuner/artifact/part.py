"""What every part of the artifact is: frozen, and without a key that this version does not know."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Part(BaseModel):
    """Base of all parts."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SparsePart(Part):
    """A part that is written without the keys that it has nothing for (null, "", empty), except those in `always`."""

    always: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in handler(self).items() if name in self.always or _says_something(value)}


def _says_something(value: object) -> bool:
    return value is not None and value not in ("", [], ())
