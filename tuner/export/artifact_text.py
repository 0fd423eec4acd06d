"""Free text for the artifact: no scratch path, no address or port, no trial's name, no test-only setting.

Engines, workers and warnings write such things into their messages. They mean something in the run directory and on the
machine that it was measured on, and nothing to whoever deploys.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuner.records import Role

_ROLES = "|".join(sorted((role.value for role in Role), key=len, reverse=True))
_TRIAL = re.compile(rf"(?:\S*\btrials/)?\b\d{{4,}}-(?:{_ROLES})-[A-Za-z0-9._-]+(?:/[\w./-]*)?")
_SCRATCH_ROOTS = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/var/folders")  # noqa: S108 - to be taken out
_ADDRESS = re.compile(
    r"(?:https?://|tcp://|ipc://)[^\s'\",)]+|\b(?:localhost|(?:\d{1,3}\.){3}\d{1,3}|\[[0-9a-fA-F:]+\]):\d{1,5}\b|"
    r"\bport[ =:]+\d{1,5}\b",
    re.IGNORECASE,
)
_TEST_ONLY = re.compile(r"\b(?:rejection_sample_method|acceptance_method)\W{1,4}synthetic\b|\bsynthetic_acceptance_\w+")


@dataclass(frozen=True)
class Cleaner:
    """names: trial -> what to call it.  given: models as the user wrote them, which stay wherever they lie."""

    names: Mapping[str, str]
    given: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """Return `text` without what means nothing to whoever deploys."""
        kept = {path: f"\0{i}\0" for i, path in enumerate(sorted(self.given, key=len, reverse=True)) if path}
        for path, mark in kept.items():
            text = text.replace(path, mark)
        text = _TRIAL.sub(self._name, text)
        text = _scratch().sub("a scratch path", text)
        text = _ADDRESS.sub("an address of the run", text)
        text = _TEST_ONLY.sub("a test-only setting", text)
        for path, mark in kept.items():
            text = text.replace(mark, path)
        return text

    def texts(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return each of `texts` cleaned."""
        return tuple(self.text(text) for text in texts)

    def _name(self, found: re.Match[str]) -> str:
        return next((label for name, label in self.names.items() if name in found[0]), "a trial")


def _scratch() -> re.Pattern[str]:
    roots = dict.fromkeys((*_SCRATCH_ROOTS, tempfile.gettempdir().rstrip("/")))
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, roots))})(?![\w.-])(?:/[^\s'\":;,)\]]*)?")
