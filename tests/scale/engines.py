"""Engine lives of a simulated cluster, in process and without waiting: the simulated engine's costs, on no clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.engine.sim.answers import greedy_answer
from tuner.engine.sim.model import (
    acceptance,
    coverage,
    draft_model,
    prefill_s,
    step_time_s,
    tokens_per_step,
)
from tuner.engine.sim.profile import Profile
from tuner.records import (
    Counters,
    EngineFacts,
    LoadMeasurement,
    LoadPoint,
    PhaseTimes,
    Prompt,
    Repeat,
    RequestSample,
    Speculation,
    Trial,
    TrialRecord,
    WorkerFacts,
)
from tuner.trial import TrialSpec

START_S = 60.0
"""Seconds from launch to ready; on an H200 it is 71 to 111, so that a real driver has more time for each trial."""
START_SD = 0.15
PROMPT_TOKENS = 20


class Lab:
    """Makes the trial that an engine life of this spec would give."""

    def __init__(self, profile: Profile, seed: int) -> None:
        self._profile = profile
        self._random = np.random.default_rng(seed)

    def life(self, spec: TrialSpec, worker: WorkerFacts) -> Trial:
        """Return the trial; its phases say how long it took."""
        loads, samples = [], []
        for load in spec.load_points:
            prompts = spec.eval_sets[load.eval_set].prompts[: load.num_prompts]
            passes = [self._pass(load, index, prompts, spec) for index in range(spec.protocol.repeats)]
            loads.append(LoadMeasurement(load, tuple(one for one, _ in passes), warmup_s=1.0))
            samples += [sample for _, of_pass in passes for sample in of_pass]
        start_s = START_S * float(np.exp(START_SD * self._random.standard_normal()))
        load_s = sum(repeat.wall_s for load in loads for repeat in load.repeats)
        record = TrialRecord(
            number=spec.number,
            role=spec.role,
            candidate=spec.candidate,
            worker=worker,
            started_at="2026-01-01T00:00:00+00:00",
            phases=PhaseTimes(start_s, 1.0 * len(loads), load_s, 2.0, start_s + len(loads) + load_s + 2.0),
            engine=EngineFacts(spec.engine.version, ("simulated",), {}, start_s, max_model_len=4096),
            loads=tuple(loads),
            round=spec.round,
            served=spec.served,
            fix=spec.fix,
        )
        return Trial(record, tuple(samples))

    def _pass(
        self, load: LoadPoint, index: int, prompts: Sequence[Prompt], spec: TrialSpec
    ) -> tuple[Repeat, list[RequestSample]]:
        speculation = spec.candidate.speculation
        factor = float(np.exp(0.01 * self._random.standard_normal()))
        step_s = factor * step_time_s(self._profile, speculation, load.concurrency)
        samples = [
            self._request(load, index, number, prompt, (spec.target, step_s, speculation))
            for number, prompt in enumerate(prompts)
        ]
        wall_s = sum(sample.e2e_s or 0.0 for sample in samples) / load.concurrency
        return Repeat(index, wall_s, counters(samples, spec.candidate.k), len(samples), 0), samples

    def _request(
        self, load: LoadPoint, repeat: int, index: int, prompt: Prompt, engine: tuple[str, float, Speculation | None]
    ) -> RequestSample:
        target, step_s, speculation = engine
        answer = greedy_answer(self._profile.answers, (target, prompt.id), load.max_tokens, load.ignore_eos)
        chunks = self._chunks(len(answer.token_ids), prompt, speculation)
        first_s = prefill_s(self._profile, PROMPT_TOKENS)
        times = tuple(first_s + step_s * step for step in range(len(chunks)))
        return RequestSample(
            load_point=load.key,
            repeat=repeat,
            index=index,
            prompt_id=prompt.id,
            category=prompt.category,
            sent_s=0.0,
            first_token_s=first_s,
            last_token_s=times[-1],
            prompt_tokens=PROMPT_TOKENS,
            completion_tokens=len(answer.token_ids),
            finish_reason=answer.finish_reason,
            text=f"answer to {prompt.id} " * 8,
            token_ids=answer.token_ids,
            chunk_tokens=chunks,
            chunk_times_s=times,
        )

    def _chunks(self, tokens: int, prompt: Prompt, speculation: Speculation | None) -> tuple[int, ...]:
        """Return how many tokens each chunk has: one of the prefill, then a step's accepted ones and one more."""
        if speculation is None:
            return (1,) * tokens
        draft = draft_model(self._profile, speculation)
        given = acceptance(self._profile, draft, speculation.num_speculative_tokens, prompt=prompt.id)
        chances = tokens_per_step(given, coverage(self._profile, draft, prompt.id))
        steps = 1 + self._random.choice(len(chances), size=tokens, p=np.asarray(chances) / sum(chances))
        kept = [1]
        for step in steps.tolist():
            left = tokens - sum(kept)
            if left <= 0:
                break
            kept.append(min(left, step))
        return tuple(kept)


def counters(samples: Sequence[RequestSample], k: int) -> Counters:
    """Return what vLLM's counters say of these requests."""
    steps = [chunk for sample in samples for chunk in sample.chunk_tokens[1:]]
    generated = sum(sum(sample.chunk_tokens) for sample in samples)
    plain = Counters(generated, PROMPT_TOKENS * len(samples), len(samples), decode_steps=len(steps), preemptions=0)
    if not k:
        return plain
    accepted = tuple(sum(step > place for step in steps) for place in range(1, k + 1))
    return Counters(
        generated,
        plain.prompt_tokens,
        plain.requests,
        decode_steps=len(steps),
        preemptions=0,
        drafts=len(steps),
        draft_tokens=k * len(steps),
        accepted_tokens=sum(accepted),
        accepted_per_pos=accepted,
    )
