"""A finished sweep held against the one that it began with."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.artifact import BestConfig
from tuner.compare import Comparison, compare
from tuner.compare.from_artifact import side_of
from tuner.compare.from_records import with_records
from tuner.compare.markdown import markdown
from tuner.compare.reading import read_trials
from tuner.compare.sides import Side
from tuner.errors import InputError, OutputError
from tuner.records import Trial
from tuner.registry.shelf import Shelf
from tuner.upgrade.last import LastSweep

TITLE = "## Against the last sweep"
_BEFORE_THE_SENTENCE = 3


def against_last(last: LastSweep, where: str, config: BestConfig, trials: Sequence[Trial]) -> Comparison | None:
    """Return how a sweep differs from the last one; None where the two have nothing in common.

    where: the new artifact.  trials: of the new sweep.  The records of the last one are read from where it was found;
    where that is out of reach by now, the figures of its artifact stand for them.
    """
    new = with_records(side_of(where, config), trials)
    try:
        return compare(_side(last), new)
    except InputError:
        return None


def _side(last: LastSweep) -> Side:
    side = side_of(last.where, last.config)
    try:
        return with_records(side, read_trials(Shelf(last.where.rpartition("/")[0] or "."))[0])
    except OutputError:
        return side


def against_section(found: Comparison | None) -> list[str]:
    """Return the lines of the report; none where nothing was compared."""
    if found is None:
        return []
    _, title, *rest = markdown(found).rstrip().splitlines()
    return [TITLE, "", f"**{title.removeprefix('## ')}.**", *rest, ""]
