"""Where an engine has its sockets: a directory of its own, that goes with it.

vLLM leaves sockets behind even when it ends well, in the temporary directory if it is not told otherwise. Moving that
one instead would take caches along that libraries keep there (PyTorch, CUTLASS, tiktoken): each engine would compile
anew. VLLM_RPC_BASE_PATH is in no release a part of what names an entry in vLLM's compile cache.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tuner.held_directory import Held, held_directory

PREFIX = "tuner-engine-"
_VARIABLE = "VLLM_RPC_BASE_PATH"
_LONGEST_PARENT = 107 - len("/01234567-89ab-cdef-0123-456789abcdef") - len(f"/{PREFIX}12345678")
"""A socket's path has 107 bytes at most; vLLM's have UUIDs as names."""


def socket_directory(env: Mapping[str, str]) -> AbstractContextManager[Held]:
    """Hold a new directory for an engine with these variables; its supervisor is to inherit the lock and remove it."""
    return held_directory(PREFIX, _parent(env))


def with_sockets_in(path: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an engine that has its sockets there."""
    return {**env, _VARIABLE: str(path)}


def _parent(env: Mapping[str, str]) -> Path:
    """Return where the engine would have them, /tmp if that path is too long or cannot be written."""
    asked = [Path(env[name]).absolute() for name in (_VARIABLE, "TMPDIR") if env.get(name)]
    return next((path for path in asked if _is_usable(path)), Path("/tmp"))  # noqa: S108 - mkdtemp makes what is in it


def _is_usable(path: Path) -> bool:
    return len(os.fsencode(path)) <= _LONGEST_PARENT and path.is_dir() and os.access(path, os.W_OK | os.X_OK)
