"""A search that begins with what an earlier sweep found best. Pure: its answer follows from its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tuner.records import Candidate, LoadPoint, Outcome, Tried
from tuner.search.curves import History
from tuner.search.decision import Decision
from tuner.search.feasible import ruled_out
from tuner.search.known import Doubt, Held, Start, still_holds

if TYPE_CHECKING:
    from tuner.search.samplers import Policy


class KnownFirst:
    """Names the baseline, what was best and its neighbours; then nothing where that still holds, else all the rest.

    inner: what chooses the rest.  may_stop: False where every candidate is to be measured anyway.
    """

    def __init__(
        self,
        start: Start,
        inner: Policy,
        candidates: Sequence[Candidate],
        loads: Sequence[LoadPoint],
        doubt: Doubt,
        *,
        may_stop: bool,
    ) -> None:
        self._start = start
        self._inner = inner
        self._candidates = tuple(candidates)
        self._loads = tuple(loads)
        self._doubt = doubt
        self._may_stop = may_stop
        self.first = start.candidates(candidates)

    def next(self, tried: Sequence[Tried]) -> Decision:
        """Return the next candidate, or that there is none now or none any more."""
        if not self.first:
            return self._inner.next(tried)
        history = History(tuple(tried))
        plain = self.first[0].baseline
        if plain.key not in history.outcomes and plain in self._candidates:
            return Decision(plain, False, "the baseline comes first: everything is compared with it")
        waiting = self._waiting(history)
        if waiting:
            return Decision(waiting[0], False, f"{waiting[0].label}: {self._place(waiting[0])}")
        if not self._may_stop:
            return self._inner.next(tried)
        held = self.held(tried)
        if held is None:
            return Decision(None, False, "running: whether the last sweep still holds depends on what they show")
        if held.holds:
            return Decision(None, True, held.why)
        decision = self._inner.next(tried)
        if all(one.candidate.k == 0 or one.candidate in self.first for one in tried):
            decision = replace(decision, why=f"the whole search follows: {held.why}. {decision.why}".strip())
        return decision

    def held(self, tried: Sequence[Tried]) -> Held | None:
        """Return whether what was known still holds; None where that is not asked, or not known yet."""
        # Nothing else may turn this decision over later: what else is measured changes what is known of the noise.
        counting = {key for one in self.first for key in (one.key, one.baseline.key)}
        history = History(tuple(one for one in tried if one.candidate.key in counting))
        if not self._may_stop or not history.tried or history.running or self._waiting(history):
            return None
        return still_holds(self._start, self._candidates, history, self._loads, self._doubt)

    def _waiting(self, history: History) -> list[Candidate]:
        """Return what is to be measured first and may still be: not what failed, nor what must fail after that."""
        without = [one.candidate for one in history.tried if one.outcome is Outcome.MEMORY]
        return [
            one
            for one in self.first
            if one.key not in history.outcomes
            and history.outcomes.get(one.baseline.key) not in (Outcome.FAILED, Outcome.MEMORY)
            and ruled_out(one, without) is None
        ]

    def _place(self, candidate: Candidate) -> str:
        if any(candidate.key == best.candidate.key for best in self._start.best):
            return "the best of the last sweep"
        return "next to the best of the last sweep"
