"""The step loop of the simulated engine: continuous batching against absolute deadlines.

A step of the running batch ends at the end of the one before it plus its time; whoever is ready by then gets a first
token and joins the next step. Deadlines never depend on when the process woke up, so nothing drifts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from tuner.engine.sim import model
from tuner.engine.sim.counters import EngineCounters
from tuner.engine.sim.faults import Faults, die
from tuner.engine.sim.noise import LifeNoise
from tuner.engine.sim.profile import Fault, Profile
from tuner.engine.sim.work import Work
from tuner.records import Speculation

# Behind by more than this, the machine itself stood still: go on from now instead of catching up in a burst.
_MAX_LAG_S = 0.5
_MAX_CACHED_PREFIXES = 10_000
_OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.10 GiB is free."
)


@dataclass(frozen=True)
class Limits:
    """max_num_seqs: requests in a batch.  kv_tokens: context tokens that the KV cache holds.

    prefix_caching: whether a prompt seen before, with the same salt, needs no prefill.
    """

    max_num_seqs: int
    kv_tokens: int
    prefix_caching: bool = True


@dataclass(frozen=True)
class Step:
    """One step as planned: which of the running works have a proposal, of how many tokens."""

    k: int
    works: tuple[Work, ...]
    proposing: frozenset[int]
    time_s: float


class Batch:
    """All requests of one engine."""

    def __init__(
        self,
        profile: Profile,
        target: str,
        speculation: Speculation | None,
        limits: Limits,
        counters: EngineCounters,
        noise: LifeNoise,
        faults: Faults,
    ) -> None:
        self._profile = profile
        self._speculation = speculation
        self._limits = limits
        self._counters = counters
        self._noise = noise
        self._faults = faults
        self._running: list[Work] = []
        self._prefilling: list[Work] = []
        self._waiting: deque[Work] = deque()
        self._cached: set[tuple[str, str]] = set()
        self._wake = asyncio.Event()
        self._frozen = False
        self._memory_limit_tokens = _at_token(faults.of_life("out_of_memory"))

        @lru_cache(maxsize=4096)
        def step_time_s(batch: int, proposing: int) -> float:
            return model.step_time_s(profile, speculation, batch, proposing, target)

        self._step_time_s: Callable[[int, int], float] = step_time_s

    @property
    def busy(self) -> bool:
        """Whether any request is in it."""
        return bool(self._running or self._prefilling or self._waiting)

    def submit(self, work: Work) -> None:
        """Take a request in; it delivers from the step loop."""
        work.arrived_s = asyncio.get_running_loop().time()
        self._waiting.append(work)
        self._seat_waiting(work.arrived_s)
        self._wake.set()

    def abort(self, work: Work) -> None:
        """Forget a request whose client is gone; nothing happens if it is finished."""
        for queue in (self._running, self._prefilling, self._waiting):
            if work in queue:
                queue.remove(work)
                self._counters.finished["abort"] += 1
                self._update_gauges()

    async def run(self) -> None:
        """Step for ever."""
        now = asyncio.get_running_loop().time
        boundary_s = now()
        while True:
            if self._frozen:
                await asyncio.Event().wait()
            boundary_s = max(boundary_s, now() - _MAX_LAG_S)
            if self._running:
                step = self._plan()
                boundary_s += step.time_s
                await asyncio.sleep(boundary_s - now())
                self._finish_step(step, boundary_s)
            elif self._prefilling:
                boundary_s = max(boundary_s, min(work.ready_at_s for work in self._prefilling))
                await asyncio.sleep(boundary_s - now())
            else:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._start_ready(boundary_s)
            self._seat_waiting(boundary_s)

    def _plan(self) -> Step:
        works = tuple(self._running)
        k = model.effective_k(self._speculation, len(works))
        proposing = frozenset(i for i, work in enumerate(works) if k and work.has_proposal())
        if len(works) + k * len(proposing) > self._memory_limit_tokens:
            self._end(self._faults.of_life("out_of_memory"), _OUT_OF_MEMORY)
        time_s = self._step_time_s(len(works), len(proposing)) * self._noise.step_factor(time.time())
        time_s *= sum(work.slowdown for work in works) / len(works)
        return Step(k, works, proposing, time_s + self._stalls_s())

    def _stalls_s(self) -> float:
        share = self._profile.prefill.stalls
        stalled = [work for work in self._prefilling if share and not work.stall_charged]
        for work in stalled:
            work.stall_charged = True
        return share * sum(work.prefill_s for work in stalled)

    def _finish_step(self, step: Step, now_s: float) -> None:
        alive = set(map(id, self._running))
        for i, work in enumerate(step.works):
            if id(work) not in alive:
                continue
            accepted = 0
            if i in step.proposing:
                accepted = work.accepted(step.k)
                self._counters.count_draft(step.k, accepted)
            self._counters.inter_token.observe(now_s - work.last_token_s)
            self._give(work, accepted + 1, now_s)
        self._running = [work for work in self._running if not work.finished]
        self._preempt()
        self._update_gauges()

    def _give(self, work: Work, count: int, now_s: float) -> None:
        tokens = work.take(count)
        work.last_token_s = now_s
        self._counters.generation_tokens += len(tokens)
        if work.trap and work.position >= work.trap.at_token:
            self._spring(work.trap)
        if work.finished:
            self._counters.finished[work.answer.finish_reason] += 1
            self._counters.end_to_end.observe(now_s - work.arrived_s)
        work.deliver(tokens, work.answer.finish_reason if work.finished else None)

    def _start_ready(self, now_s: float) -> None:
        ready = [work for work in self._prefilling if work.ready_at_s <= now_s]
        self._prefilling = [work for work in self._prefilling if work.ready_at_s > now_s]
        for work in ready:
            if work.position:
                self._counters.inter_token.observe(now_s - work.last_token_s)
            else:
                self._counters.prompt_tokens += work.job.prompt_tokens
                self._counters.first_token.observe(now_s - work.arrived_s)
            self._give(work, 1, now_s)
            if not work.finished:
                self._running.append(work)
        self._update_gauges()

    def _seat_waiting(self, now_s: float) -> None:
        while self._waiting and self._has_room(self._waiting[0]):
            work = self._waiting.popleft()
            work.prefill_s = self._prefill_s(work)
            work.ready_at_s = now_s + work.prefill_s
            work.stall_charged = False
            self._prefilling.append(work)
        self._update_gauges()

    def _has_room(self, work: Work) -> bool:
        seated = len(self._running) + len(self._prefilling)
        fits = self._kv_tokens() + work.context_tokens + 1 <= self._limits.kv_tokens
        return seated == 0 or (seated < self._limits.max_num_seqs and fits)

    def _prefill_s(self, work: Work) -> float:
        prefix = (work.job.cache_salt, work.job.prompt)
        hit = prefix in self._cached
        if self._limits.prefix_caching and len(self._cached) < _MAX_CACHED_PREFIXES:
            self._cached.add(prefix)
        return model.prefill_s(self._profile, work.position if hit else work.context_tokens)

    def _preempt(self) -> None:
        while len(self._running) > 1 and self._kv_tokens() > self._limits.kv_tokens:
            self._waiting.appendleft(self._running.pop())
            self._counters.preemptions += 1

    def _kv_tokens(self) -> int:
        return sum(work.context_tokens for work in (*self._running, *self._prefilling))

    def _update_gauges(self) -> None:
        self._counters.running = len(self._running) + len(self._prefilling)
        self._counters.waiting = len(self._waiting)
        self._counters.kv_usage = self._kv_tokens() / self._limits.kv_tokens

    def _spring(self, fault: Fault) -> None:
        if fault.kind == "hang":
            self._frozen = True
        else:
            self._end(fault)

    def _end(self, fault: Fault | None, message: str | None = None) -> NoReturn:
        assert fault is not None
        die(fault, message)


def _at_token(fault: Fault | None) -> float:
    return float("inf") if fault is None else fault.at_token
