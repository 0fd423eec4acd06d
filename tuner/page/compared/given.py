"""What the comparison page is made of."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.compare import Comparison, Read
from tuner.page.words import Words
from tuner.records import LoadPoint


@dataclass(frozen=True)
class Compared:
    """A comparison with the two sweeps that it is of.  words: in the page's language."""

    found: Comparison
    old: Read
    new: Read
    words: Words

    @property
    def named(self) -> tuple[tuple[str, Read], ...]:
        """Each sweep with what the page calls it."""
        return (self.words("col_old"), self.old), (self.words("col_new"), self.new)

    @property
    def loads(self) -> tuple[LoadPoint, ...]:
        """The load points that both have."""
        return tuple({row.load_point.key: row.load_point for row in self.found.rows}.values())
