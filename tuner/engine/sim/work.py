"""One request inside the simulated engine: what it will answer, and which proposals will be accepted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tuner.engine.sim import model
from tuner.engine.sim.answers import Answer, greedy_answer, sampled_answer
from tuner.engine.sim.draws import generator
from tuner.engine.sim.profile import Fault, Profile
from tuner.records import Speculation

# Called at the end of a step with the new token ids, and with the finish reason when they are the last.
Deliver = Callable[[Sequence[int], str | None], None]


@dataclass(frozen=True)
class Job:
    """A request as it came in.  seed: None if the client sent none."""

    prompt: str
    prompt_tokens: int
    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    seed: int | None
    ignore_eos: bool
    cache_salt: str


@dataclass(slots=True, eq=False)
class Work:
    """A job in the engine.

    conditional, covered: acceptance by position and share of steps with a proposal, for this prompt.
    accept_draws, cover_draws: uniform numbers, one per position of the answer (and K beyond its end), so that at
    temperature 0 a smaller K accepts exactly the tokens that a larger one would have.
    position: tokens given so far.  prefill_s, ready_at_s: length and end of its prefill.
    trap: a fault that it springs at trap.at_token.
    """

    job: Job
    answer: Answer
    conditional: tuple[float, ...]
    covered: float
    accept_draws: list[float]
    cover_draws: list[float]
    slowdown: float
    deliver: Deliver
    arrived_s: float = 0.0
    prefill_s: float = 0.0
    ready_at_s: float = 0.0
    last_token_s: float = 0.0
    position: int = 0
    stall_charged: bool = False
    trap: Fault | None = None

    @property
    def context_tokens(self) -> int:
        """Tokens of prompt and answer so far: what the KV cache holds for it."""
        return self.job.prompt_tokens + self.position

    @property
    def finished(self) -> bool:
        """Whether the whole answer is given."""
        return self.position >= len(self.answer.token_ids)

    def has_proposal(self) -> bool:
        """Whether the draft finds something to propose at the present position."""
        return self.cover_draws[self.position] < self.covered

    def accepted(self, k: int) -> int:
        """Return how many of k tokens proposed at the present position are accepted."""
        draws, at = self.accept_draws, self.position
        for i in range(k):
            if draws[at + i] >= self.conditional[i]:
                return i
        return k

    def take(self, count: int) -> Sequence[int]:
        """Give the next `count` tokens, or as many as are left."""
        start, self.position = self.position, min(self.position + count, len(self.answer.token_ids))
        return self.answer.token_ids[start : self.position]


@dataclass(frozen=True)
class Workshop:
    """Makes Work of Jobs for one engine: one target, with one speculation or none."""

    profile: Profile
    target: str
    speculation: Speculation | None
    repeat_factor: Callable[[str], float] = field(default=lambda _salt: 1.0)

    def make(
        self,
        job: Job,
        deliver: Deliver,
        differs_from: int | None = None,
        degenerate: bool = False,
        shifted_from: int | None = None,
        crowded: bool = False,
    ) -> Work:
        """Return the work that a job is, not yet begun.

        differs_from: position from which the answer is another one than it should be (None: nowhere).
        degenerate: the answer repeats its first token.  shifted_from: position from which a sampled answer is drawn
        at half the temperature.  crowded: whether other requests are in the batch.
        """
        answer = self._answer(job, "honest")
        if job.temperature == 0.0:
            answer = self._settled(job, answer, crowded)
        elif shifted_from is not None:
            colder = self._sampled(job, "honest", job.temperature / 2).token_ids
            answer = replace(answer, token_ids=answer.token_ids[:shifted_from] + colder[shifted_from:])
        if differs_from is not None:
            wrong = self._answer(job, "lossy").token_ids
            answer = replace(answer, token_ids=(answer.token_ids[:differs_from] + wrong[differs_from:]))
        if degenerate:
            answer = replace(answer, token_ids=answer.token_ids[:1] * len(answer.token_ids))
        conditional, covered, draws, covers = self._proposals(job, len(answer.token_ids))
        slowdown = self.repeat_factor(job.cache_salt)
        return Work(job, answer, conditional, covered, draws, covers, slowdown, deliver)

    def top2_gaps(self, job: Job, length: int) -> tuple[float, ...]:
        """Return the gap between the two most probable tokens at each of the first `length` positions, nats."""
        ties, tied = self.profile.near_ties, set(self._ties(job, length))
        return tuple(ties.gap if position in tied else ties.other_gap for position in range(length))

    def _ties(self, job: Job, length: int) -> list[int]:
        rate = self.profile.near_ties.rate
        draw = generator("ties", self.profile.seed, self.target, job.prompt).random
        return [position for position in range(length) if draw() < rate] if rate else []

    def _settled(self, job: Job, answer: Answer, crowded: bool) -> Answer:
        """Return a greedy answer that went the other way at the first near-tie that was flipped, if any was."""
        ties, spec = self.profile.near_ties, self.speculation
        by_draft = generator("flip", self.profile.seed, job.prompt, spec and (spec.draft or spec.method)).random
        by_batch = generator("crowd", os.urandom(8)).random
        for position in self._ties(job, len(answer.token_ids)):
            speculated = by_draft() < ties.speculative_flips and spec is not None
            if speculated or (by_batch() < ties.crowded_flips and crowded):
                other = self._answer(job, f"after {position}")
                if len(other.token_ids) > position:
                    return replace(other, token_ids=answer.token_ids[:position] + other.token_ids[position:])
        return answer

    def _answer(self, job: Job, version: str) -> Answer:
        if job.temperature == 0.0:
            return greedy_answer(self.profile.answers, self._key(job, version), job.max_tokens, job.ignore_eos)
        return self._sampled(job, version, job.temperature)

    def _sampled(self, job: Job, version: str, temperature: float) -> Answer:
        key = self._key(job, version)
        draw = [*key, *self._sample_key(job)]
        return sampled_answer(self.profile.answers, key, job.max_tokens, job.ignore_eos, temperature, draw)

    def _key(self, job: Job, version: str) -> list[object]:
        return [self.profile.seed, self.target, job.prompt, version]

    def _sample_key(self, job: Job) -> list[object]:
        # Speculation consumes random numbers of its own: sampled answers differ between candidates, as in vLLM.
        spec = self.speculation
        seed = os.urandom(8) if job.seed is None else job.seed
        return [
            job.temperature,
            job.top_p,
            job.top_k,
            seed,
            (spec.draft, spec.num_speculative_tokens) if spec else None,
        ]

    def _proposals(self, job: Job, length: int) -> tuple[tuple[float, ...], float, list[float], list[float]]:
        spec = self.speculation
        if spec is None:
            return (), 0.0, [], []
        draft = model.draft_model(self.profile, spec)
        k = spec.num_speculative_tokens
        key: list[object] = [self.profile.seed, self.target, spec.draft or spec.method, job.prompt]
        if job.temperature > 0.0:
            key += [*self._sample_key(job), job.cache_salt]
        uniform = generator("accept", *key).random
        covering = generator("cover", *key).random
        return (
            model.acceptance(self.profile, draft, k, job.temperature, job.prompt),
            model.coverage(self.profile, draft, job.prompt),
            [uniform() for _ in range(length + k)],
            [covering() for _ in range(length)],
        )
