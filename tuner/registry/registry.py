"""The registry: ROOT/TARGET SLUG/STAMP/ with the files of one finished sweep, and ROOT/TARGET SLUG/latest."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from tuner.errors import ArtifactError, OutputError
from tuner.registry.entry import ENTRY_FILE, Entry, decode_entry, encode_entry, is_stamp, new_stamp, parse_stamp
from tuner.registry.shelf import Shelf
from tuner.registry.slugs import target_slug
from tuner.store.codec import Damaged, sha256

LATEST = "latest"
"""A file with the stamp of the newest entry, for scripts: an object store has no links."""
_MOST_IN_A_SECOND = 1000
_RESTORE = "Restore it, or use another entry: tuner history."


@dataclass(frozen=True)
class Listing:
    """Entries, oldest first.  broken: those that could not be read, each with the reason."""

    entries: tuple[Entry, ...]
    broken: tuple[str, ...] = ()


@dataclass(frozen=True)
class Survey:
    """names: of all targets that have an entry, sorted.  broken: entries of those of which none can be read."""

    names: tuple[str, ...]
    broken: tuple[str, ...] = ()


class Registry:
    """What was measured of each target.  Nothing in it is ever overwritten, but for the `latest` files.

    Every method raises OutputError when the place cannot be reached.
    """

    def __init__(self, url: str) -> None:
        """url: a directory, or a URL that fsspec knows.  OutputError names the package that a URL needs."""
        self._shelf = Shelf(url)

    @property
    def url(self) -> str:
        """Where it is, without passwords."""
        return self._shelf.url

    def check(self, target: str) -> None:
        """Find out before anything is measured whether an entry of a target can be written."""
        self._shelf.check(target_slug(target))

    def keep(self, target: str, files: Mapping[str, bytes], measurements: str, now: datetime) -> tuple[Entry, bool]:
        """Write an entry, whole or not at all; return it, and whether it is new.

        target: see tuner.identity.target_name.  files: by name with slashes.  measurements: see tuner.registry.keeping:
        where a whole entry of the same measurements is there already, that is returned.  now: of any time zone; where
        the clock went back since the last entry, the new one has the time of that, so that it is the newest.
        """
        kept = next((one for one in self.entries(target).entries if one.measurements == measurements), None)
        if kept is not None and self._is_whole(kept):
            return kept, False
        slug = target_slug(target)
        last = [parse_stamp(stamp)[0] for stamp in self._stamps(slug)[-1:]]
        for suffix in range(1, _MOST_IN_A_SECOND):
            stamp = new_stamp(max([now, *last]), suffix)
            text = encode_entry(target, stamp, measurements, files)
            if self._shelf.place(f"{slug}/{stamp}", {**files, ENTRY_FILE: text}):
                self._point_at(slug, stamp)
                return decode_entry(text, self._shelf.where(f"{slug}/{stamp}")), True
        raise OutputError(f"{self.url} has {_MOST_IN_A_SECOND} entries of one second", "Look what writes there.")

    def _is_whole(self, entry: Entry) -> bool:
        try:
            for name in entry.files:
                self.read(entry, name)
        except ArtifactError:
            return False
        return True

    def _point_at(self, slug: str, stamp: str) -> None:
        """Make `latest` name an entry, unless another writer's newer one is there already."""
        path, current = f"{slug}/{LATEST}", ""
        with suppress(FileNotFoundError, Damaged):
            current = self._shelf.read(path).decode("ascii", "replace").strip()
        if not is_stamp(current) or parse_stamp(current) < parse_stamp(stamp):
            self._shelf.put(path, f"{stamp}\n".encode())

    def targets(self) -> tuple[str, ...]:
        """Return the names of all targets that have an entry, sorted."""
        return self.survey().names

    def survey(self) -> Survey:
        """Return the targets, and the entries of which nobody can tell what they are of."""
        names: list[str] = []
        broken: list[str] = []
        for slug in self._shelf.names(""):
            entry, damage = self._newest(slug)
            if entry is None:
                broken += damage
            else:
                names.append(entry.target)
        return Survey(tuple(sorted(names)), tuple(broken))

    def _newest(self, slug: str) -> tuple[Entry | None, list[str]]:
        """Return the newest entry that can be read, and what is wrong with those after it."""
        damage: list[str] = []
        for stamp in reversed(self._stamps(slug)):
            try:
                return self._entry(slug, stamp), damage
            except FileNotFoundError:
                continue
            except Damaged as error:
                damage.append(self._damaged(slug, stamp, error))
        return None, damage

    def _damaged(self, slug: str, stamp: str, error: Damaged) -> str:
        return f"{self._shelf.where(f'{slug}/{stamp}')}/{ENTRY_FILE}: {error}"

    def entries(self, target: str) -> Listing:
        """Return the entries of a target; none where it has none. A half entry of a killed writer is none."""
        slug = target_slug(target)
        entries: list[Entry] = []
        broken: list[str] = []
        for stamp in self._stamps(slug):
            try:
                entries.append(self._entry(slug, stamp))
            except FileNotFoundError:
                continue
            except Damaged as error:
                broken.append(self._damaged(slug, stamp, error))
        return Listing(tuple(entries), tuple(broken))

    def _stamps(self, slug: str) -> list[str]:
        return sorted(filter(is_stamp, self._shelf.names(slug)), key=parse_stamp)

    def _entry(self, slug: str, stamp: str) -> Entry:
        path = f"{slug}/{stamp}"
        entry = decode_entry(self._shelf.read(f"{path}/{ENTRY_FILE}"), self._shelf.where(path))
        if (target_slug(entry.target), entry.stamp) != (slug, stamp):
            raise Damaged(f"it belongs to {target_slug(entry.target)}/{entry.stamp}")
        return entry

    def read(self, entry: Entry, name: str) -> bytes:
        """Return a file of an entry.  ArtifactError if it is missing or is not what was written."""
        path = f"{target_slug(entry.target)}/{entry.stamp}/{name}"
        where = self._shelf.where(path)
        try:
            data = self._shelf.read(path)
        except FileNotFoundError as error:
            raise ArtifactError(f"{where} is missing", _RESTORE) from error
        except Damaged as error:
            raise ArtifactError(f"{where}: {error}", _RESTORE) from error
        if sha256(data) != entry.files.get(name):
            raise ArtifactError(f"{where} is not what was written", _RESTORE)
        return data
