"""The database under a study: opening it, noticing damage, and moving a damaged file out of the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from tuner.errors import OutputError
from tuner.records.redaction import without_credentials

if TYPE_CHECKING:
    from optuna.storages import RDBStorage

_SQLITE = "sqlite:///"
_SIDE_FILES = ("", "-journal", "-wal", "-shm")
_REFUSALS = tuple(f"SQLITE_{name}" for name in ("FULL", "IOERR", "CANTOPEN", "READONLY", "BUSY", "PERM", "NOMEM"))
P = ParamSpec("P")
T = TypeVar("T")


class HasStorage(Protocol):
    """What knows its database's URL."""

    @property
    def storage_url(self) -> str:
        """Optuna's URL of it."""


Stored = TypeVar("Stored", bound=HasStorage)


def database_errors() -> tuple[type[Exception], ...]:
    """Return what Optuna lets through when a database cannot be reached, or holds what it did not write."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    # RuntimeError: the tables are of another release of Optuna.
    return (ImportError, OSError, SQLAlchemyError, StorageInternalError, ValueError, KeyError, RuntimeError)


def is_refusal(error: BaseException) -> bool:
    """Whether the machine refused a database (full disk, no permission, locked): that says nothing of its content."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, sqlite3.OperationalError):
        seen = seen.__cause__ or seen.__context__
    return seen is not None and getattr(seen, "sqlite_errorname", "").startswith(_REFUSALS)


def naming(method: Callable[Concatenate[Stored, P], T]) -> Callable[Concatenate[Stored, P], T]:
    """Let a method turn a refusal of the machine into an OutputError that names the database; all else propagates."""

    @wraps(method)
    def call(self: Stored, /, *args: P.args, **kwargs: P.kwargs) -> T:
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import SQLAlchemyError

        try:
            return method(self, *args, **kwargs)
        except (SQLAlchemyError, StorageInternalError) as error:
            if not is_refusal(error):
                raise
            raise refused(self.storage_url, error) from error

    return call


def refused(url: str, error: BaseException) -> OutputError:
    """Return what to tell where the machine refused a database."""
    reason = str(error.__cause__ or error).partition("\n")[0]
    hint = "Free space or fix permissions, then call the same command again: what is measured is kept."
    return OutputError(f"{_sqlite_file(url) or without_credentials(url)} cannot be used: {reason}", hint)


def open_storage(url: str) -> RDBStorage:
    """Open an Optuna storage, creating its tables if need be.  One of `database_errors` if it cannot be used."""
    from optuna.storages import RDBStorage

    path = _sqlite_file(url)
    return RDBStorage(url, engine_kwargs={"creator": partial(_connect, path)} if path else None)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
    # No waiting for the disk at each of a trial's dozen commits: a killed process loses nothing by that, and what a
    # power cut may damage is rebuilt from the records, which do wait.
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def check_sqlite(url: str) -> None:
    """Check the pages of an SQLite file; nothing for another storage or a file that is not there yet.

    ValueError if the file is damaged.
    """
    path = _sqlite_file(url)
    if path is None or not path.exists():
        return
    try:
        # Opened for writing, so that SQLite itself rolls back what a killed process left half done.
        with closing(sqlite3.connect(path)) as connection:
            found = connection.execute("PRAGMA quick_check").fetchall()
    except sqlite3.OperationalError:
        return  # locked or not permitted, which is no damage; whoever opens it next says so
    except sqlite3.DatabaseError as error:
        raise ValueError(str(error)) from error
    if found != [("ok",)]:
        raise ValueError(str(found[0][0]))


def set_aside_sqlite(url: str) -> Path | None:
    """Move an SQLite file and its journals to "quarantine/" beside it; None if the storage is not such a file."""
    path = _sqlite_file(url)
    if path is None or not path.exists():
        return None
    quarantine = path.parent / "quarantine"
    quarantine.mkdir(exist_ok=True)
    target, count = quarantine / path.name, 1
    while target.exists():
        count += 1
        target = quarantine / f"{path.name}.{count}"
    for suffix in _SIDE_FILES:
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(target.with_name(target.name + suffix))
    return target


def _sqlite_file(url: str) -> Path | None:
    name = url.removeprefix(_SQLITE).partition("?")[0]
    return Path(name) if url.startswith(_SQLITE) and name and name != ":memory:" else None
