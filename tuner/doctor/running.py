"""Runs the checks side by side, so that one that fails or hangs hides none of the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from tuner.doctor.check import Check, State
from tuner.doctor.examined import Examined
from tuner.doctor.table import Row
from tuner.errors import TunerError


@dataclass(frozen=True)
class Answer:
    """What one row said.  group: the heading under which it stands."""

    group: str
    checks: tuple[Check, ...]


class _Look(threading.Thread):
    """One row in a thread that nobody has to wait for: a hanging disk or driver can hold it for ever.

    An error that nobody expected ends the thread with its traceback on standard error, and leaves no checks.
    """

    def __init__(self, row: Row, examined: Examined) -> None:
        super().__init__(name=f"doctor {row.name}", daemon=True)
        self.row = row
        self.checks: tuple[Check, ...] | None = None
        self._examined = examined

    def run(self) -> None:
        try:
            self.checks = self.row.look(self._examined)
        except TunerError as error:
            self.checks = (Check(self.row.name, State.FAIL, error.message, error.next_step),)
        except (OSError, ValueError, LookupError, RuntimeError, ImportError, psutil.Error) as error:
            self.checks = (_not_told(self.row, f"{type(error).__name__}: {error}"),)


def examine(examined: Examined, rows: Sequence[Row]) -> tuple[Answer, ...]:
    """Return what the rows say, in their order; of one that hangs, that it does.

    It ends when the last row has answered or has had its time, whichever comes first.
    """
    looks = [_Look(row, examined) for row in rows if examined.deep or not row.only_deep]
    began_s = time.monotonic()
    for look in looks:
        look.start()
    answers = []
    for look in looks:
        look.join(max(began_s + look.row.limit_s(deep=examined.deep) - time.monotonic(), 0.0))
        answers.append(Answer(look.row.group, _said(look, examined)))
    return tuple(answers)


def _said(look: _Look, examined: Examined) -> tuple[Check, ...]:
    if look.checks is not None:
        return look.checks
    if look.is_alive():
        return (_not_told(look.row, f"no answer within {look.row.limit_s(deep=examined.deep):g} s"),)
    return (_not_told(look.row, "the check itself failed; its traceback is on standard error"),)


def _not_told(row: Row, why: str) -> Check:
    step = "The other checks are not affected. A hanging disk, driver or name server?" if "within" in why else ""
    return Check(row.name, State.WARN, f"not known: {why}", step)
