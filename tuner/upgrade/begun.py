"""What starting from the last sweep brought, in words and as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.records import Json
from tuner.search.known import Held
from tuner.upgrade.last import LastSweep
from tuner.words import engine_words


@dataclass(frozen=True)
class Begun:
    """How a search that knew the last sweep went.

    why_not: why it gave no start, "" where it did.  first: labels of what was measured first.
    held: whether that confirmed it, None as long as that is open, or where every candidate is measured anyway.
    starts: candidates that the search has started.  left_out: candidates that were not measured because it held.
    """

    last: LastSweep
    why_not: str = ""
    first: tuple[str, ...] = ()
    held: Held | None = None
    starts: int = 0
    left_out: int = 0

    @property
    def engine(self) -> str:
        """The engine of the last sweep, in words."""
        engine = self.last.config.measured_on.engine
        return engine_words(engine.version, engine.build)

    @property
    def lines(self) -> tuple[str, ...]:
        """Sentences for a person."""
        if self.why_not:
            return (f"The last sweep, {self.last.where} ({self.engine}), gives no start: {self.why_not}.",)
        began = f"The search started from the last sweep, {self.last.where} ({self.engine}): {', '.join(self.first)}."
        return (began, *self._outcome())

    def _outcome(self) -> tuple[str, ...]:
        if self.held is None:
            return ()
        if not self.held.holds:
            return (f"The whole search followed: {self.held.why}.",)
        return (
            f"It holds: {self.held.why}. So {_counted(self.left_out)} not measured; --fresh-search searches all.",
            f"The search started {_counted(self.starts, '')}, that of the last sweep {self.last.starts}.",
        )

    @property
    def document(self) -> dict[str, Json]:
        """The same for scripts."""
        return {
            "artifact": self.last.where,
            "engine_version": self.last.config.measured_on.engine.version,
            "engine_build": self.last.config.measured_on.engine.build,
            "why_not": self.why_not or None,
            "first": list(self.first),
            "held": self.held.holds if self.held else None,
            "why": self.held.why if self.held else None,
            "candidate_starts": {"last": self.last.starts, "now": self.starts},
            "left_out": self.left_out,
        }


def begun_section(begun: Begun | None) -> list[str]:
    """Return the lines of the report; none where there was no last sweep."""
    return ["## Started from the last sweep", "", *(f"- {line}" for line in begun.lines), ""] if begun else []


def _counted(n: int, verb: str = "was were") -> str:
    one, _, many = verb.partition(" ")
    return f"{n} candidate{'' if n == 1 else 's'} {one if n == 1 else many}".rstrip()
