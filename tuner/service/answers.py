"""The registry as the service tells it.

A client names a target by its slug, which is looked up among those that are there: no path is ever made of what a
client sent.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import yaml

from tuner.artifact import BestConfig, parse_best_config
from tuner.artifact.model import BEST_CONFIG
from tuner.errors import ArtifactError
from tuner.page.pages import PAGE
from tuner.registry import Entry, History, Registry, Survey, history, target_slug
from tuner.registry.document import past_json
from tuner.service.documents import BestConfigAnswer, Freshness, PastSweep, Target, TargetHistory, Targets
from tuner.service.holding import Holding
from tuner.service.problems import Refused, not_found

LISTED_S = 5.0
"""How long the list of targets is remembered: making it reads the registry once a target."""
_MOST_READ = 256


@dataclass(frozen=True)
class Newest:
    """The newest artifact of a target.  text: as it was kept.  sweeps: how many the registry has."""

    slug: str
    entry: Entry
    text: str
    config: BestConfig
    sweeps: int
    broken: tuple[str, ...]


class Answers:
    """Reads from any thread.  Every method raises OutputError where the registry cannot be reached."""

    def __init__(
        self,
        registry: Registry,
        holding: Holding,
        clock: Callable[[], float] = time.monotonic,
        sweeps_done: Callable[[], int] = lambda: 0,
    ) -> None:
        """sweeps_done: how many this server saw end; what one of them added is told at once, not after LISTED_S."""
        self._registry = registry
        self._holding = holding
        self._clock = clock
        self._sweeps_done = sweeps_done
        self._lock = Lock()
        self._found: tuple[float, int, Survey] | None = None
        self._read: OrderedDict[str, tuple[str, BestConfig]] = OrderedDict()

    @property
    def url(self) -> str:
        """Where the registry is, without passwords."""
        return self._registry.url

    def check(self) -> None:
        """Look whether the registry can be reached."""
        self._found = None
        self._survey()

    def targets(self) -> Targets:
        """Return every target with its newest answer."""
        found, broken = [], [*self._survey().broken]
        for slug in sorted(self._names()):
            try:
                newest = self.newest(slug)
            except Refused as refused:
                broken.append(refused.problem.detail)
                continue
            broken += newest.broken
            found.append(self._target(newest))
        return Targets(targets=tuple(found), broken=tuple(broken))

    def _target(self, newest: Newest) -> Target:
        config = newest.config
        return Target(
            slug=newest.slug,
            target=newest.entry.target,
            stamp=newest.entry.stamp,
            sweeps=newest.sweeps,
            verdict=config.verdict,
            why=config.why,
            finished=config.finished,
            freshness=self.freshness(newest),
        )

    def newest(self, slug: str) -> Newest:
        """Return the newest artifact that can be read.  Refused, 404, where there is none."""
        listing = self._registry.entries(self._name(slug))
        broken = [*listing.broken]
        for entry in reversed(listing.entries):
            try:
                text, config = self._config(entry)
            except ArtifactError as error:
                broken.append(error.message)
                continue
            return Newest(slug, entry, text, config, len(listing.entries), tuple(broken))
        raise Refused(404, "no-artifact", f"No artifact of {slug} can be read: {'; '.join(broken)}")

    def freshness(self, newest: Newest) -> Freshness:
        """Return whether it holds here."""
        return self._holding.of(newest.entry.url, newest.config)

    def past(self, slug: str) -> History:
        """Return all sweeps of a target.  Refused, 404, where there is no such target."""
        return history(self._registry, self._name(slug))

    def history(self, slug: str) -> TargetHistory:
        """Return the same to be sent."""
        found = self.past(slug)
        sweeps = tuple(PastSweep.model_validate(past_json(past)) for past in found.past)
        return TargetHistory(slug=slug, target=found.target, sweeps=sweeps, broken=found.broken)

    def reports(self, slug: str) -> tuple[str, ...]:
        """Return the stamps of the sweeps that have a report, newest first."""
        entries = self._registry.entries(self._name(slug)).entries
        return tuple(entry.stamp for entry in reversed(entries) if PAGE in entry.files)

    def report(self, slug: str, stamp: str) -> bytes:
        """Return the page of a sweep.  Refused, 404, where there is none."""
        entries = self._registry.entries(self._name(slug)).entries
        entry = next((one for one in entries if one.stamp == stamp and PAGE in one.files), None)
        if entry is None:
            raise not_found("report", f"/v1/targets/{slug}/history")
        try:
            return self._registry.read(entry, PAGE)
        except ArtifactError as error:
            raise Refused(404, "no-such-report", error.message, error.next_step) from error

    def _name(self, slug: str) -> str:
        names = self._names()
        if slug not in names:
            raise not_found("target", "/v1/targets")
        return names[slug]

    def _names(self) -> dict[str, str]:
        return {target_slug(name): name for name in self._survey().names}

    def _survey(self) -> Survey:
        with self._lock:
            now_s, done = self._clock(), self._sweeps_done()
            if self._found is None or now_s - self._found[0] > LISTED_S or self._found[1] != done:
                self._found = (now_s, done, self._registry.survey())
            return self._found[2]

    def _config(self, entry: Entry) -> tuple[str, BestConfig]:
        # An entry never changes, so what was read of it once holds.
        with self._lock:
            if entry.url in self._read:
                self._read.move_to_end(entry.url)
                return self._read[entry.url]
        text = self._registry.read(entry, BEST_CONFIG).decode("utf-8", "replace")
        found = text, parse_best_config(text, f"{entry.stamp}/{BEST_CONFIG}")
        with self._lock:
            self._read[entry.url] = found
            if len(self._read) > _MOST_READ:
                self._read.popitem(last=False)
        return found


def as_json(newest: Newest, freshness: Freshness) -> bytes:
    """Return the answer of best-config as JSON."""
    answer = BestConfigAnswer(
        slug=newest.slug,
        target=newest.entry.target,
        stamp=newest.entry.stamp,
        freshness=freshness,
        best_config=newest.config.model_dump(mode="json"),
    )
    return answer.model_dump_json().encode()


def as_yaml(newest: Newest, freshness: Freshness) -> bytes:
    """Return the artifact as it was kept, below comments that say whether it holds here."""
    about = {
        "target": newest.entry.target,
        "stamp": newest.entry.stamp,
        "freshness": freshness.state.value,
        **({"reason": freshness.reason} if freshness.reason else {}),
        **({"stale": [f"{one.field}: {one.measured} -> {one.now}" for one in freshness.differences if one.stale]}),
    }
    # ASCII in one line each: nothing in a name can end the comment.
    lines = yaml.safe_dump(about, sort_keys=False, width=float("inf"), allow_unicode=False).splitlines()
    return "".join(f"# {line}\n" for line in lines).encode("ascii") + newest.text.encode()
