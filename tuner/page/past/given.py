"""What the history page is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.artifact import recommended_candidate
from tuner.artifact.figures import MeasuredFigure
from tuner.artifact.measured import LoadResult
from tuner.artifact.model import Answer
from tuner.page.words import Words
from tuner.records import Candidate, Verdict
from tuner.registry import History, Past
from tuner.words import engine_words

_APART = 0.55
"""Least distance of two sweeps along x, where the whole axis is one less than there are sweeps."""


@dataclass(frozen=True)
class Over:
    """The sweeps of a target, oldest first.  words: in the page's language."""

    found: History
    words: Words

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Every temperature that a sweep has an answer at."""
        return tuple(sorted({answer.temperature for past in self.found.past for answer in past.config.answers}))

    def named(self, temperature: float) -> str:
        """Return the words that tell a temperature from others; nothing where there is one alone."""
        several = len(self.temperatures) > 1
        return self.words("at_temperature", temperature=f"{temperature:g}") if several else ""

    def at(self, temperature: float) -> str:
        """Return the same to follow other words."""
        named = self.named(temperature)
        return self.words("over_at", at=named) if named else ""

    def sweeps(self, temperature: float) -> list[Sweep]:
        """Return the sweeps that have an answer at a temperature."""
        places = along([past.entry.kept_at.timestamp() for past in self.found.past])
        of_a_day = Counter(past.entry.kept_at.date() for past in self.found.past)
        found: list[Sweep] = []
        for past, x in zip(self.found.past, places, strict=True):
            for answer in past.config.answers:
                if answer.temperature == temperature:
                    before = found[-1].answer.verdict if found else answer.verdict
                    found.append(Sweep(past, answer, x, before, of_a_day[past.entry.kept_at.date()] > 1))
        return found


@dataclass(frozen=True)
class Sweep:
    """One sweep's answer at one temperature.

    x: its place along the axis.  before: the verdict of the one before.  day_is_shared: with another sweep.
    """

    past: Past
    answer: Answer
    x: float
    before: Verdict
    day_is_shared: bool

    @property
    def changed(self) -> bool:
        """Whether the verdict is another than before."""
        return self.answer.verdict is not self.before

    @property
    def when(self) -> str:
        """The date, UTC, with the time where the date alone does not tell it from another."""
        return f"{self.past.entry.kept_at:{'%Y-%m-%d %H:%M' if self.day_is_shared else '%Y-%m-%d'}}"

    @property
    def when_in_short(self) -> str:
        """The same for an axis, which has no room for the year beside the time."""
        return f"{self.past.entry.kept_at:%m-%d %H:%M}" if self.day_is_shared else self.when

    @property
    def engine(self) -> str:
        """The engine in words."""
        engine = self.past.config.measured_on.engine
        return engine_words(engine.version, engine.build)

    @property
    def version(self) -> str:
        """The engine's release."""
        return self.past.config.measured_on.engine.version

    @property
    def setting(self) -> Candidate:
        """What was judged best, up to a limit where there is one."""
        recommended = self.answer.recommended
        return recommended_candidate(self.past.config, recommended.limit or recommended)

    @property
    def same_thing(self) -> tuple[object, ...]:
        """What has to be equal for two sweeps' figures to be joined by a line: draft, method and device."""
        spec = self.setting.speculation
        return (spec.draft_name, spec.method) if spec else (), self.past.config.measured_on.devices

    def figure(self, load: str, name: str, *, plain: bool = False) -> MeasuredFigure | None:
        """Return a figure at a load point by its label, of the engine without speculation where `plain`."""
        measured = self.answer.measured
        of_plain = measured.baseline_load_points if self.setting.k else measured.load_points
        results: Sequence[LoadResult] = of_plain if plain else measured.load_points
        found = next((result.figures.get(name) for result in results if result.label == load), None)
        return found if found is not None and found.value is not None else None


def along(times: Sequence[float]) -> list[float]:
    """Return where sweeps stand along an axis from 0 to n - 1: by time, those too close moved aside.

    times: ascending, in seconds.
    """
    count = len(times)
    if count < 2 or times[-1] == times[0]:
        return [float(i) for i in range(count)]
    scale = (count - 1) / (times[-1] - times[0])
    places: list[float] = []
    for time in times:
        wanted = (time - times[0]) * scale
        places.append(wanted if not places else max(wanted, places[-1] + _APART))
    return [place * (count - 1) / places[-1] for place in places]
