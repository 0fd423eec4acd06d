"""Where entries lie: a directory of this machine, or anything that fsspec has a file system for.

A local entry is made beside its place and renamed into it. An object store cannot rename a directory: there the entry
is claimed by a file that only one writer can create, and its entry.json, which makes it an entry, is written last.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tuner.errors import OutputError
from tuner.records.redaction import without_credentials
from tuner.registry.entry import ENTRY_FILE
from tuner.store.codec import Damaged
from tuner.store.files import sync_directory, write_atomic

_CLAIM = "claim"
_UNFINISHED = ".unfinished-"
_OLD_S = 24 * 3600.0
_PROBE = "may-i-write"
_PROBE_BYTES = 64 * 1024
"""As much as a small entry has: a full disk has no room for it."""

# What serves a scheme, where fsspec needs a package of its own for it.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "oci": "ocifs",
    "hf": "huggingface_hub",
    "sftp": "paramiko",
    "http": "aiohttp",
    "https": "aiohttp",
}
# What the stores' libraries raise beside OSError when they cannot be reached or do not let us in.
_LIBRARY_ERRORS = (
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("aiohttp", "ClientError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("gcsfs.retry", "HttpError"),
    ("azure.core.exceptions", "AzureError"),
)


class Shelf:
    """Files under one root.  Paths are relative to it, with slashes.  url: the root, fit for messages.

    Every method raises OutputError when the place cannot be reached.
    """

    def __init__(self, url: str) -> None:
        """url: a directory, or a URL that fsspec knows.  OutputError names the package that it needs."""
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        self._full_url = url.rstrip("/") or "/"
        self.url = without_credentials(self._full_url)
        try:
            self._fs, self._root = url_to_fs(self._full_url)
        except ImportError as error:
            scheme = url.partition("://")[0]
            package = _PACKAGES.get(scheme)
            next_step = f"pip install {package}" if package else str(error)
            raise OutputError(f"{self.url}: {scheme}:// needs a package that is not installed", next_step) from error
        except ValueError as error:
            raise OutputError(f"{self.url} cannot be used: {error}", _WHAT_TO_GIVE) from error
        self._local = Path(self._root) if isinstance(self._fs, LocalFileSystem) else None

    def where(self, path: str) -> str:
        """Return the URL of a path, fit for messages and for opening it again."""
        return f"{self.url}/{path}" if path else self.url

    def read(self, path: str) -> bytes:
        """Return a file.  FileNotFoundError if there is none, Damaged if a directory is in its place."""
        with self._reaching(missing_is_told=True):
            try:
                data: bytes = self._fs.cat_file(self._path(path))
            except IsADirectoryError as error:
                raise Damaged("it is a directory where a file belongs") from error
        return data

    def check(self, directory: str) -> None:
        """Find out by writing whether entries can be made in a directory, there already or not; nothing stays there."""
        self.names("")
        with self._reaching():
            if self._local is None:
                self._fs.pipe_file(self._path(_PROBE), b"")
                with suppress(*_errors()):  # some let nobody delete, which is no reason against keeping
                    self._fs.rm_file(self._path(_PROBE))
            else:
                place = self._local / directory
                there = next(parent for parent in (place, *place.parents) if parent.exists())
                with TemporaryDirectory(dir=there, prefix=_UNFINISHED) as made:
                    write_atomic(Path(made) / _PROBE, bytes(_PROBE_BYTES))

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names of the directories in a directory, sorted; () where there is none of that name."""
        with self._reaching():
            self._fs.invalidate_cache()
            try:
                found = self._fs.ls(self._path(path), detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return ()
        names = (_last(one["name"]) for one in found if one["type"] == "directory")
        return tuple(sorted(name for name in names if not name.startswith(_UNFINISHED)))

    def place(self, directory: str, files: Mapping[str, bytes]) -> bool:
        """Write a whole entry, its entry.json last; False if there is something of that name already."""
        with self._reaching():
            if self._local is not None:
                return _place_local(self._local / directory, files)
            return self._place_remote(directory, files)

    def put(self, path: str, data: bytes) -> None:
        """Write one file, or replace it."""
        with self._reaching():
            if self._local is not None:
                write_atomic(self._local / path, data)
            else:
                self._fs.pipe_file(self._path(path), data)

    def _place_remote(self, directory: str, files: Mapping[str, bytes]) -> bool:
        claim = self._path(f"{directory}/{_CLAIM}")
        self._fs.invalidate_cache()
        if self._fs.exists(claim):
            return False
        try:
            self._fs.pipe_file(claim, b"", mode="create")
        except FileExistsError:
            return False
        for name, data in sorted(files.items(), key=lambda item: item[0] == ENTRY_FILE):
            self._fs.pipe_file(self._path(f"{directory}/{name}"), data)
        return True

    def _path(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}" if path else str(self._root)

    @contextmanager
    def _reaching(self, *, missing_is_told: bool = False) -> Iterator[None]:
        try:
            yield
        except _errors() as error:
            if missing_is_told and isinstance(error, FileNotFoundError):
                raise
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            where = f" ({file})" if (file := getattr(error, "filename", None)) else ""
            raise OutputError(f"the registry {self.url} cannot be used: {reason}{where}", _WHAT_TO_GIVE) from error


_WHAT_TO_GIVE = "Give --registry a directory or a URL that may be written, or leave the registry out: --no-registry."


def _errors() -> tuple[type[Exception], ...]:
    """Return what a file system may raise; only libraries that are loaded can raise theirs."""
    loaded = ((sys.modules.get(module), name) for module, name in _LIBRARY_ERRORS)
    found: list[Any] = [getattr(module, name) for module, name in loaded if hasattr(module, name)]
    return (OSError, NotImplementedError, *found)


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _place_local(place: Path, files: Mapping[str, bytes]) -> bool:
    if place.exists():
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    _clear_unfinished(place.parent)
    made = place.parent / f"{_UNFINISHED}{place.name}-{os.getpid()}-{secrets.token_hex(4)}"
    made.mkdir()
    try:
        for name, data in files.items():
            file = made / name
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, data)
        # Not replace(): a directory is never empty here, and rename refuses to overwrite one that is not.
        os.rename(made, place)  # noqa: PTH104 - one name for the tests to fail at
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if place.exists():
            return False
        raise
    sync_directory(place.parent)
    return True


def _clear_unfinished(directory: Path) -> None:
    """Remove what a killed writer left; a day later no writer is at it any more."""
    for entry in directory.glob(f"{_UNFINISHED}*"):
        if entry.stat().st_mtime < time.time() - _OLD_S:
            shutil.rmtree(entry, ignore_errors=True)
