"""Who may do what: tokens, their scopes, and the file or variable that they stand in."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tuner.errors import InputError

TOKEN_VARIABLE = "TUNER_SERVE_TOKEN"  # noqa: S105 - the name of a variable
LEAST_LENGTH = 24
_MADE = re.compile(r"[!-~]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_HOW = "One line a token: NAME SCOPES TOKEN, as in `deploy read 7d0f...` or `ci read,sweep 91ab...`."


class Scope(StrEnum):
    """What a token allows."""

    READ = "read"
    SWEEP = "sweep"


@dataclass(frozen=True)
class Token:
    """name: for the log.  digest: SHA-256 of the token, which itself is not kept."""

    name: str
    scopes: frozenset[Scope]
    digest: bytes


def digest(token: str) -> bytes:
    """Return what a token is compared by: digests are of one length, whatever was sent."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def read_tokens(file: Path | None, environ: Mapping[str, str]) -> tuple[Token, ...]:
    """Return the tokens of a file and of TUNER_SERVE_TOKEN, which has both scopes; () where neither is given.

    InputError: a file that others may read, a line that is none, a short token, a name that stands there twice.
    """
    found = [] if file is None else _of_file(file)
    if value := environ.get(TOKEN_VARIABLE, ""):
        found.append(_token(TOKEN_VARIABLE, "environment", "read,sweep", value))
    for one in ("name", "digest"):
        if len({getattr(token, one) for token in found}) < len(found):
            raise InputError(f"a token's {'name' if one == 'name' else 'text'} is there twice", "Give each its own.")
    return tuple(found)


def _of_file(file: Path) -> list[Token]:
    try:
        with file.open(encoding="utf-8") as stream:
            text, bits = stream.read(), stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the token file {file} cannot be read: {error}", _HOW) from error
    if bits & 0o077:
        raise InputError(f"the token file {file} can be read by others (mode {bits:o})", f"chmod 600 {file}")
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if not line.startswith("#")]
    filled = [(number, words) for number, words in lines if words]
    for number, words in filled:
        if len(words) != 3:
            raise InputError(f"{file}:{number}: not three words", _HOW)
    if not filled:
        raise InputError(f"the token file {file} has no token", _HOW)
    return [_token(f"{file}:{number}", *words) for number, words in filled]


def _token(where: str, name: str, scopes: str, token: str) -> Token:
    unknown = set(scopes.split(",")) - {*Scope}
    if not _NAME.fullmatch(name):
        raise InputError(f"{where}: the name may have letters, digits, dot, hyphen and underscore", _HOW)
    if unknown:
        raise InputError(f"{where}: there is no scope {min(unknown)!r}", "Scopes are read and sweep.")
    if len(token) < LEAST_LENGTH or not _MADE.fullmatch(token):
        step = 'Make one: python -c "import secrets; print(secrets.token_hex(32))"'
        raise InputError(f"{where}: a token has {LEAST_LENGTH} or more printable characters", step)
    return Token(name, frozenset(map(Scope, scopes.split(","))), digest(token))


def presented(authorization: str) -> tuple[str, str] | None:
    """Return scheme ("bearer", "basic") and token of an Authorization header, None where it has none.

    With Basic, which browsers ask people for, the token is the password; the user name is not looked at.
    """
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer" and value:
        return "bearer", value.strip()
    if scheme.lower() == "basic":
        try:
            decoded = base64.b64decode(value.strip(), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return None
        return "basic", decoded.partition(":")[2]
    return None


def find(tokens: tuple[Token, ...], given: str) -> Token | None:
    """Return the token that was given.  Every one is compared in full, so the time says nothing of any of them."""
    wanted, found = digest(given), None
    for token in tokens:
        if hmac.compare_digest(token.digest, wanted):
            found = token
    return found
