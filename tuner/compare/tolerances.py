"""How much a figure may change without being called better or worse: a file of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tuner.compare.figures import FIGURES, FigureName
from tuner.errors import ToleranceError

Tolerance = Annotated[float, Field(ge=0.0, lt=1.0)]


class Tolerances(BaseModel):
    """Tolerances as fractions (0.05 is 5 %), and the figures that decide.

    ttft: twice that of TPOT. A TTFT is one prefill and a wait in the queue, a few milliseconds for a short prompt, so
    that a scheduler's millisecond is several per cent of it, and speculation has no part in it but by accident.
    decides: the figures that the overall verdict and the exit code rest on; the others are shown and explain.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    acceptance_length: Tolerance = 0.02
    speedup: Tolerance = 0.05
    tpot: Tolerance = 0.05
    ttft: Tolerance = 0.10
    decides: Annotated[tuple[FigureName, ...], Field(min_length=1)] = tuple(
        name for name, figure in FIGURES.items() if figure.decides
    )

    def of(self, name: FigureName) -> float:
        """Return the tolerance of a figure."""
        value = getattr(self, FIGURES[name].tolerance)
        assert isinstance(value, float)
        return value


def load_tolerances(path: Path) -> Tolerances:
    """Return the tolerances in a YAML file; what it does not name has its default.

    Raises ToleranceError for a file that cannot be read, a key that there is not, or a value out of range.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ToleranceError(f"{path} cannot be read: {error}", _WHAT_TO_WRITE) from error
    try:
        return Tolerances.model_validate({} if document is None else document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ToleranceError(f"{path}: {place}: {first['msg']}", _WHAT_TO_WRITE) from error


_WHAT_TO_WRITE = (
    f"Keys: {', '.join(name for name in Tolerances.model_fields if name != 'decides')} (fractions, 0.05 is 5 %) and "
    f"decides (a list of {', '.join(FIGURES)})."
)
