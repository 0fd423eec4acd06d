"""A temporary directory for each engine, that goes with it.

vLLM leaves sockets in the temporary directory even when it ends well, and more when it is killed. A socket's path has
at most 107 bytes, of which vLLM's names take 37. Where the directory is does not enter the name of an entry in vLLM's
compile cache: of its variables only VLLM_RPC_BASE_PATH follows it, which every release leaves out there.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "tuner-engine-"
_LONGEST_PARENT = 107 - 37 - len(f"/{_PREFIX}12345678")


@dataclass(frozen=True)
class Held:
    """A directory in use.  lock: an open descriptor; whoever inherits it holds the directory too."""

    path: Path
    lock: int


@contextmanager
def held_directory(prefix: str, parent: Path) -> Iterator[Held]:
    """Yield a new directory, and close its lock at the end; what others left there and nobody holds is removed first.

    The kernel gives a lock back when its last descriptor is closed, so a directory cannot be left for ever.  Raises
    OSError if none can be made.
    """
    for left in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            _remove_unless_held(left)
    held = _new(prefix, parent)
    try:
        yield held
    finally:
        os.close(held.lock)


@contextmanager
def engine_directory(env: Mapping[str, str]) -> Iterator[Held]:
    """Yield a directory for an engine with these variables; its supervisor is to inherit the lock and to remove it."""
    usual = _usual(env)
    with held_directory(_PREFIX, usual if len(os.fsencode(usual)) <= _LONGEST_PARENT else _fallback()) as held:
        yield held


def with_directory(env: Mapping[str, str], path: Path) -> dict[str, str]:
    """Return the variables that lead an engine to its directory, and to what libraries cache in the usual one.

    Without those each engine would compile (PyTorch) or fetch (the vocabularies of tiktoken and gpt-oss) anew.
    """
    usual = _usual(env)
    caches = {
        "TORCHINDUCTOR_CACHE_DIR": f"torchinductor_{_user()}",
        "TIKTOKEN_RS_CACHE_DIR": "tiktoken-rs-cache",
        **({} if "DATA_GYM_CACHE_DIR" in env else {"TIKTOKEN_CACHE_DIR": "data-gym-cache"}),
    }
    return {**{name: str(usual / cache) for name, cache in caches.items()}, **env, "TMPDIR": str(path)}


def _usual(env: Mapping[str, str]) -> Path:
    """Return the temporary directory that Python takes with these variables."""
    named = [Path(env[name]).absolute() for name in ("TMPDIR", "TEMP", "TMP") if env.get(name)]
    return next((path for path in named if path.is_dir() and os.access(path, os.W_OK | os.X_OK)), _fallback())


def _fallback() -> Path:
    return Path("/tmp")  # noqa: S108 - its directories are of mkdtemp


def _user() -> str:
    """Return the user as PyTorch has it in the name of its cache."""
    try:
        return re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (KeyError, OSError):  # a container's user without a name
        return f"uid_{os.getuid()}"


def _new(prefix: str, parent: Path) -> Held:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a file system without locks: nobody can take it for left, then
                fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return Held(path, lock)
            os.close(lock)  # somebody took it for left before we held it


def _remove_unless_held(path: Path) -> None:
    """Remove a directory of this user's that nobody holds; OSError where it is none, or held."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
