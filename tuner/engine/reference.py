"""Requests that compare outputs, sent after all load points and never timed.

- The reference pass (REFERENCE_REPEAT), to a baseline at temperature 0: every prompt once, with the two most probable
  tokens at each position.
- Sampled first tokens (DISTRIBUTION_REPEAT), to both arms above temperature 0: a few prompts many times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.distribution import ANSWER_TOKENS, MAX_PROMPTS, distribution_groups
from tuner.analysis.divergence import reference_groups
from tuner.engine.client import Endpoint, Request, run_requests
from tuner.engine.load import Work, load_requests
from tuner.records import DISTRIBUTION_REPEAT, REFERENCE_REPEAT, LoadPoint, RequestSample, Role, short_hash

_SEEDS = 2**31


@dataclass(frozen=True)
class Pass:
    """Requests to send at one load point's concurrency.  repeat: what their samples are numbered with."""

    load_point: LoadPoint
    repeat: int
    requests: tuple[Request, ...]

    @property
    def words(self) -> str:
        """For a person."""
        what = "reference pass" if self.repeat == REFERENCE_REPEAT else "sampled first tokens"
        return f"{self.load_point.eval_set} T={self.load_point.sampling.temperature:g} {what}"


def passes(work: Work, salt: str) -> Iterator[Pass]:
    """Yield what is to be sent to an engine besides the load.

    Only the first life of a baseline and the candidates take part; later lives add nothing to compare with.
    """
    if work.protocol.losslessness and work.role is Role.BASELINE:
        for load_point, *_ in reference_groups(work.load_points):
            prompts = work.prompts(load_point)
            requests = load_requests(load_point, prompts, len(prompts), f"{salt}-reference-{load_point.key}")
            yield Pass(load_point, REFERENCE_REPEAT, tuple(replace(request, top2=True) for request in requests))
    if work.protocol.distribution_samples and work.role in (Role.BASELINE, Role.CANDIDATE):
        for load_point, *_ in distribution_groups(work.load_points):
            requests = _short_answers(work, load_point, f"{salt}-distribution-{load_point.key}")
            yield Pass(load_point, DISTRIBUTION_REPEAT, tuple(requests))


def _short_answers(work: Work, load_point: LoadPoint, salt: str) -> list[Request]:
    """Return the first prompts, each so many times, every time with another seed.

    The seeds of two candidates differ: with equal ones two arms would draw equal answers, and hide a difference.
    They share a cache salt, so that a prompt is computed once.
    """
    prompts = work.prompts(load_point)[:MAX_PROMPTS]
    count = work.protocol.distribution_samples * len(prompts)
    first_seed = int(short_hash([work.candidate.key, load_point.key]), 16)
    return [
        replace(
            request,
            max_tokens=min(request.max_tokens, ANSWER_TOKENS),
            seed=(first_seed + request.index) % _SEEDS,
            cache_salt=salt,
        )
        for request in load_requests(load_point, prompts, count, salt)
    ]


async def output_samples(endpoint: Endpoint, work: Work, report: Callable[[str], None]) -> tuple[RequestSample, ...]:
    """Send every pass and return the samples of those requests that were answered.

    What the engine refuses is left out: an engine without log probabilities can still be measured, and the comparison
    says what it did without.
    """
    samples: list[RequestSample] = []
    for one in passes(work, endpoint.served_name):
        report(one.words)
        samples += await _sent(endpoint, one, work.protocol.request_timeout_s)
    return tuple(samples)


async def _sent(endpoint: Endpoint, one: Pass, timeout_s: float) -> Sequence[RequestSample]:
    load, key = one.load_point.concurrency, one.load_point.key
    found, _ = await run_requests(endpoint, one.requests, load, timeout_s, key, one.repeat)
    return [sample for sample in found if sample.ok]
