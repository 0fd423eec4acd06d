"""Free text for the artifact: no scratch path, no address or port, no trial's name, no test-only setting.

Engines, workers and warnings write such things into their messages. They mean something in the run directory and on the
machine that it was measured on, and nothing to whoever deploys.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tuner.records import Json, Role

_ROLES = "|".join(sorted((role.value for role in Role), key=len, reverse=True))
_TRIAL = re.compile(rf"(?:\S*\btrials/)?\b\d{{4,}}-(?:{_ROLES})-[A-Za-z0-9._-]+(?:/[\w./-]*)?")
_SCRATCH_ROOTS = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/var/folders")  # noqa: S108 - to be taken out
_ADDRESS = re.compile(
    r"(?:https?://|tcp://|ipc://)[^\s'\",)]+|\b(?:localhost|(?:\d{1,3}\.){3}\d{1,3}|\[[0-9a-fA-F:]+\]):\d{1,5}\b|"
    r"\bport[ =:]+\d{1,5}\b",
    re.IGNORECASE,
)
_TEST_ONLY = re.compile(r"\b(?:rejection_sample_method|acceptance_method)\W{1,4}synthetic\b|\bsynthetic_acceptance_\w+")

_PRIVATE_USE = 0xE000
"""First of the characters that no text has a meaning for."""
_AS_GIVEN = frozenset({"environment", "env", "fingerprint", "identity", "target", "engine_args", "speculation"})


@dataclass(frozen=True)
class Cleaner:
    """names: trial -> what to call it.  given: models and eval sets as the user wrote them, which stay as they are."""

    names: Mapping[str, str]
    given: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """Return `text` without what means nothing to whoever deploys."""
        for mark, given in self._kept.items():
            text = text.replace(given, mark)
        text = self._without(text)
        for mark, given in self._kept.items():
            text = text.replace(mark, given)
        return text

    @cached_property
    def _kept(self) -> Mapping[str, str]:
        """What was given and would go, by the character that stands for it meanwhile."""
        would_go = [given for given in self.given if self._without(given) != given]
        return {chr(_PRIVATE_USE + i): given for i, given in enumerate(sorted(would_go, key=len, reverse=True))}

    def document(self, value: Json) -> Json:
        """Return a document with all its texts cleaned, except what is as the user gave it."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: one if key in _AS_GIVEN else self.document(one) for key, one in value.items()}
        return [self.document(one) for one in value] if isinstance(value, list) else value

    def _without(self, text: str) -> str:
        text = _TRIAL.sub(self._name, text)
        text = _scratch().sub("a scratch path", text)
        text = _ADDRESS.sub("an address of the run", text)
        return _TEST_ONLY.sub("a test-only setting", text)

    def _name(self, found: re.Match[str]) -> str:
        return next((label for name, label in self.names.items() if name in found[0]), "a trial")


def _scratch() -> re.Pattern[str]:
    roots = dict.fromkeys((*_SCRATCH_ROOTS, tempfile.gettempdir().rstrip("/")))
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, roots))})(?![\w.-])(?:/[^\s'\":;,)\]]*)?")
