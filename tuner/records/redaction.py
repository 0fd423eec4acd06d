"""What must not be written down or shown: secrets, which their names tell, and characters that act on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tuner.records.candidate import Json

REDACTED = "***"
SHORTEST = 8
"""Characters of a secret that is looked for in texts: a shorter one would be found in innocent words."""
_WORDS = r"TOKEN(?!IZ|S)|KEY|SECRET|PASSW|CREDENTIAL|SIGNATURE"
_SECRET_NAME = re.compile(_WORDS, re.IGNORECASE)
_WITH_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]*@")
_TOKEN_ALONE = re.compile(r"((?:https?|git|ssh|s3|gs)\S{0,9}://)[^:/@\s]+@", re.IGNORECASE)
_IN_QUERY = re.compile(rf"([?&;][\w.-]*(?:{_WORDS}|sig)[\w.-]*=)[^&;\s#'\"]+", re.IGNORECASE)
_CONTROLS = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
"""Sequences as a whole: what a terminal would have done with their text says nothing."""
_IN_JSON = re.compile(rf"(\"[^\"]*(?:{_WORDS})[^\"]*\"\s*:\s*)\"(?:[^\"\\]|\\.)*\"", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a variable, flag or key of that name holds a secret, as far as a name can tell."""
    return bool(_SECRET_NAME.search(name))


def without_credentials(text: str) -> str:
    """Return a text with the passwords and tokens of its URLs hidden, in front of the host and in the query."""
    if "://" not in text:
        return text
    return _IN_QUERY.sub(rf"\1{REDACTED}", _TOKEN_ALONE.sub(rf"\1{REDACTED}@", hidden_passwords(text)))


def without_credentials_json(value: Json) -> Json:
    """Return JSON whose every text is without the credentials of its URLs."""
    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, list):
        return [without_credentials_json(one) for one in value]
    if isinstance(value, dict):
        return {name: without_credentials_json(one) for name, one in value.items()}
    return value


def without_controls(text: str) -> str:
    """Return a text without the characters that act on a terminal: all controls but line ends and tabs."""
    return _CONTROLS.sub("", text)


def hidden_passwords(text: str) -> str:
    """Return a text with `user:password@` of its URLs as `user:***@`."""
    return _WITH_PASSWORD.sub(rf"\1:{REDACTED}@", text)


def without_json_secrets(text: str) -> str:
    """Return a text with the JSON strings hidden whose key is a secret's name."""
    return _IN_JSON.sub(rf'\1"{REDACTED}"', text)


def secrets_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of an environment's secrets that are long enough to be told from other text."""
    return tuple(value for name, value in env.items() if is_secret_name(name) and len(value) >= SHORTEST)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Return a text without these secrets and without the credentials of its URLs."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return without_credentials(text)
