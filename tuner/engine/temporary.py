"""A temporary directory for each engine, that goes with it.

vLLM leaves sockets in the temporary directory even when it ends well, and more when it is killed. A socket's path has
at most 107 bytes, of which vLLM's names take 37. Where the directory is does not enter the name of an entry in vLLM's
compile cache: of its variables only VLLM_RPC_BASE_PATH follows it, which every release leaves out there.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tuner.held_directory import Held, held_directory

_PREFIX = "tuner-engine-"
_LONGEST_PARENT = 107 - 37 - len(f"/{_PREFIX}12345678")


def engine_directory(env: Mapping[str, str]) -> AbstractContextManager[Held]:
    """Hold a new directory for an engine with these variables; its supervisor is to inherit the lock and remove it."""
    usual = _usual(env)
    return held_directory(_PREFIX, usual if len(os.fsencode(usual)) <= _LONGEST_PARENT else _fallback())


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
