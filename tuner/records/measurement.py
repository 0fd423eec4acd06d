"""What was measured: requests, counters, repeats, load points, trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.records.candidate import Candidate, LoadPoint
from tuner.records.device import DeviceLoad
from tuner.records.engine_memory import EngineMemory
from tuner.records.failure import Failure, Fix

RECORD_VERSION = 1

REFERENCE_REPEAT = -2
"""Repeat number of the requests that fetch a baseline's own top-2 probabilities: not timed."""
DISTRIBUTION_REPEAT = -3
"""Repeat number of the requests that sample one prompt many times, to compare distributions: not timed."""


@dataclass(frozen=True)
class RequestSample:
    """One request as the client saw it. Times are seconds since the repeat began.

    completion_tokens comes from the server's `usage`, never from counting chunks: one chunk may hold several tokens.
    token_ids: of the whole answer; chunk_tokens: how many of them came in each chunk, in order; chunk_times_s: when.
    top2_gaps: per output token, log probability of the most probable token minus that of the second, in nats (only in
    REFERENCE_REPEAT).  correct: whether the prompt's reference answer is in the text, None where it has none.
    error: None, or the class and text of what went wrong; a failed request has no valid timing.
    """

    load_point: str
    repeat: int
    index: int
    prompt_id: str
    category: str
    sent_s: float
    first_token_s: float | None
    last_token_s: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    finish_reason: str | None
    text: str = ""
    token_ids: tuple[int, ...] = ()
    chunk_tokens: tuple[int, ...] = ()
    chunk_times_s: tuple[float, ...] = ()
    error: str | None = None
    top2_gaps: tuple[float, ...] = ()
    correct: bool | None = None

    @property
    def ok(self) -> bool:
        """Whether the request was answered in full."""
        return self.error is None

    @property
    def ttft_s(self) -> float | None:
        """Time to first token, seconds."""
        return None if self.first_token_s is None else self.first_token_s - self.sent_s

    @property
    def e2e_s(self) -> float | None:
        """From sending to the last token, seconds."""
        return None if self.last_token_s is None else self.last_token_s - self.sent_s

    @property
    def tpot_s(self) -> float | None:
        """Time per output token after the first, (E2E - TTFT) / (completion_tokens - 1); None below 2 tokens."""
        if self.first_token_s is None or self.last_token_s is None or (self.completion_tokens or 0) < 2:
            return None
        return (self.last_token_s - self.first_token_s) / ((self.completion_tokens or 0) - 1)


@dataclass(frozen=True)
class Counters:
    """Differences of vLLM's /metrics counters over one repeat, summed over engines.

    drafts ... accepted_per_pos are None when the engine exposes no speculation counters.
    decode_steps: S, decode steps summed over requests (`inter_token_latency_seconds_count`).
    """

    generation_tokens: int
    prompt_tokens: int
    requests: int
    decode_steps: int | None = None
    preemptions: int | None = None
    drafts: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    accepted_per_pos: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Repeat:
    """One measured pass at a load point.

    problems: identities that did not hold, foreign traffic (empty if clean): such a repeat is invalid.
    disturbances: what made the device other than it usually is (throttling, another load): the repeat is left out where
    enough undisturbed ones remain.  device: what the device did meanwhile, None where nothing could be read.
    """

    index: int
    wall_s: float
    counters: Counters
    requests: int
    failed: int
    problems: tuple[str, ...] = ()
    disturbances: tuple[str, ...] = ()
    device: DeviceLoad | None = None


@dataclass(frozen=True)
class LoadMeasurement:
    """All repeats of one load point in one engine life."""

    load_point: LoadPoint
    repeats: tuple[Repeat, ...]
    warmup_s: float


class Role(StrEnum):
    """Why a trial was run.

    CANDIDATE_AGAIN: a further life of a candidate, to see how its lives differ.  FINAL: a fresh life of a finalist or
    of its baseline, after selection.  SAME_RUNNER: the baseline with what speculation drags along.
    DRAFT_ALONE: a draft served as a target of its own.  SCHEDULE: a fresh life of a K schedule, of the static K that it
    is held against or of their baseline.
    """

    BASELINE = "baseline"
    CANDIDATE = "candidate"
    BASELINE_AGAIN = "baseline_again"
    CANDIDATE_AGAIN = "candidate_again"
    FINAL = "final"
    SAME_RUNNER = "same_runner"
    DRAFT_ALONE = "draft_alone"
    SCHEDULE = "schedule"


@dataclass(frozen=True)
class EngineFacts:
    """What one engine life was.

    env: the variables that were set for it on purpose, secrets left out.  changed_settings: log lines in which the
    engine says that it changed a setting by itself.  start_s: from spawn to ready.  memory: what its log says about
    it, None where it says nothing.
    """

    version: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    start_s: float
    max_model_len: int | None = None
    kv_cache_tokens: int | None = None
    changed_settings: tuple[str, ...] = ()
    memory: EngineMemory | None = None


@dataclass(frozen=True)
class WorkerFacts:
    """Where a trial ran.  device_key: two trials with equal keys ran on the same device(s) and may be compared.

    memory_bytes: of each GPU.  driver: version of the GPUs' driver.  None and "" where not known.
    """

    device_key: str
    device: str
    node: str
    gpu_ids: tuple[str, ...] = ()
    cpu_cores: tuple[int, ...] = ()
    memory_bytes: int | None = None
    driver: str = ""


@dataclass(frozen=True)
class PhaseTimes:
    """Seconds of a trial by phase."""

    start_s: float = 0.0
    warmup_s: float = 0.0
    load_s: float = 0.0
    stop_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True)
class TrialRecord:
    """One engine life and what was measured in it; `record.json` in the run directory.

    number: position in the run.  started_at: UTC, ISO 8601.  A record has either loads or a failure.
    round: of a FINAL or a SCHEDULE: lives of one round ran one directly after another on one device, and are compared
    with each other.
    served: the model that ran where it was not the target (DRAFT_ALONE), as the user wrote it.
    fix: why the candidate has other arguments than the space gave it; None where it has not.
    """

    number: int
    role: Role
    candidate: Candidate
    worker: WorkerFacts
    started_at: str
    phases: PhaseTimes
    engine: EngineFacts | None = None
    loads: tuple[LoadMeasurement, ...] = ()
    failure: Failure | None = None
    version: int = RECORD_VERSION
    round: int | None = None
    served: str = ""
    fix: Fix | None = None

    @property
    def ok(self) -> bool:
        """Whether the trial gave figures."""
        return self.failure is None

    @property
    def label(self) -> str:
        """Words for a person: what ran."""
        return f"{self.served} alone" if self.served else self.candidate.label

    @property
    def name(self) -> str:
        """Directory name of this trial in the run directory."""
        return self.name_of(self.number, self.role, self.candidate)

    @staticmethod
    def name_of(number: int, role: Role, candidate: Candidate) -> str:
        """Return the directory name that such a trial has, before it has run."""
        return f"{number:04d}-{role.value}-{candidate.key}"


@dataclass(frozen=True)
class Trial:
    """A record with its request samples: what a worker returns and the store keeps."""

    record: TrialRecord
    samples: tuple[RequestSample, ...] = field(default=(), repr=False)
