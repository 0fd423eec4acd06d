"""What is tried: a Candidate needs an engine restart, a LoadPoint does not."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Union

from typing_extensions import TypeAliasType

# typing_extensions' form of `type Json = ...` (Python 3.12): pydantic follows its recursion, a plain alias's not.
Json = TypeAliasType("Json", Union[str, int, float, bool, "list[Json]", "dict[str, Json]", None])


SCHEDULE = "num_speculative_tokens_per_batch_size"
"""vLLM's option for a K schedule: [[first batch size, last batch size, K], ...]."""


def canonical_json(value: object) -> str:
    """Return JSON that is equal for equal values: sorted keys, no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def short_hash(value: object, length: int = 8) -> str:
    """Return the first `length` hex digits of the SHA-256 of a JSON value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def slug(text: str) -> str:
    """Return `text` as one safe file-name part (letters, digits, dot, underscore, hyphen)."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "x"


@dataclass(frozen=True)
class Speculation:
    """One setting of speculative decoding.

    num_speculative_tokens: K, the tokens proposed per step, 1 or more.
    draft: model directory or hub id as the user wrote it; None for methods without a model (n-gram).
    options: further keys of vLLM's --speculative-config, as vLLM names them.
    """

    method: str
    num_speculative_tokens: int
    draft_name: str
    draft: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """Everything that needs an engine restart. `speculation is None` is the baseline, K = 0.

    engine_args: engine arguments other than speculation, named as vLLM's flags with underscores
    ("gpu_memory_utilization"); False becomes --no-FLAG, None means the engine's own default.
    """

    engine_args: Mapping[str, Json] = field(default_factory=dict)
    speculation: Speculation | None = None

    @property
    def k(self) -> int:
        """Tokens proposed per step; 0 for the baseline."""
        return self.speculation.num_speculative_tokens if self.speculation else 0

    @property
    def draft_name(self) -> str:
        """Name of the curve that this candidate is a point of; "none" for the baseline."""
        return self.speculation.draft_name if self.speculation else "none"

    @property
    def baseline(self) -> Candidate:
        """The same engine without speculation."""
        return replace(self, speculation=None)

    @cached_property
    def args_key(self) -> str:
        """Identity of the non-speculation arguments: candidates that share it share a baseline."""
        return short_hash(dict(self.engine_args))

    @cached_property
    def key(self) -> str:
        """Identity, stable between runs and safe as a directory name."""
        spec = self.speculation
        spec_json = None if spec is None else [spec.method, spec.num_speculative_tokens, spec.draft, dict(spec.options)]
        return f"{slug(self.draft_name)}-k{self.k}-{short_hash([dict(self.engine_args), spec_json])}"

    @property
    def label(self) -> str:
        """Words for a person."""
        if self.speculation is None:
            return "no speculation"
        varying = " (K schedule)" if SCHEDULE in self.speculation.options else ""
        return f"{self.draft_name} K={self.k}{varying}"


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters, always sent: a server otherwise takes the model's generation_config."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = -1
    seed: int = 0


@dataclass(frozen=True)
class LoadPoint:
    """Everything that does not need an engine restart.

    eval_set: name of an eval set.  concurrency: requests in flight (closed loop).
    max_tokens: limit of an answer; a prompt's own can only be lower.  ignore_eos: answers run to max_tokens exactly.
    num_prompts: the first so many prompts of the eval set, all if None.  weight: share in the objective.
    """

    eval_set: str
    concurrency: int = 1
    max_tokens: int = 128
    sampling: Sampling = Sampling()
    ignore_eos: bool = False
    num_prompts: int | None = None
    weight: float = 1.0

    @cached_property
    def key(self) -> str:
        """Identity within one space, safe as a file name."""
        s = self.sampling
        rest = [s.top_p, s.top_k, s.seed, self.ignore_eos, self.num_prompts]
        return f"{slug(self.eval_set)}-t{s.temperature:g}-c{self.concurrency}-m{self.max_tokens}-{short_hash(rest, 4)}"

    @property
    def label(self) -> str:
        """Words for a person."""
        length = f"{'exactly' if self.ignore_eos else 'up to'} {self.max_tokens} tokens"
        return f"{self.eval_set}, concurrency {self.concurrency}, T={self.sampling.temperature:g}, {length}"

    def answer_limit(self, prompt: Prompt) -> int:
        """Return the max_tokens that `prompt` is sent with here."""
        if self.ignore_eos or prompt.max_tokens is None:
            return self.max_tokens
        return min(self.max_tokens, prompt.max_tokens)

    @property
    def equal_lengths(self) -> bool:
        """Whether both arms give answers of one length, so that E2E latency can be compared."""
        return self.ignore_eos or self.sampling.temperature == 0.0


@dataclass(frozen=True)
class Prompt:
    """One line of an eval set: exactly one of `messages` (chat) and `prompt` (completion) is set."""

    id: str
    category: str
    messages: tuple[Mapping[str, str], ...] | None = None
    prompt: str | None = None
    max_tokens: int | None = None
    reference: str | None = None


@dataclass(frozen=True)
class EvalSet:
    """Prompts in a fixed order.  sha256: of the file's bytes, for the fingerprint."""

    name: str
    prompts: tuple[Prompt, ...]
    sha256: str


@dataclass(frozen=True)
class Protocol:
    """How each candidate is measured; the same for both arms.

    repeats: measured passes over the prompts at a load point; max_repeats: as many where they differ much.
    lives: engine lives in which finalists and baseline are measured again after selection, 1 for none at all;
    max_lives: as many where lives differ much.  resolve: the smallest effect worth knowing, as a fraction; repeats and
    lives are added, within their limits, until one of that size could be seen.
    warmup_requests: discarded requests before a load point, None for max(concurrency, 2).
    baseline_again: measure the baseline after the last candidate too; baseline_every: and after so many candidates.
    losslessness: fetch the baseline's top-2 probabilities at temperature 0.  distribution_samples: answers per prompt
    for the test of sampled outputs, 0 for no test.  same_runner: measure the baseline with what speculation drags along
    too.  drafts_alone: serve each draft model alone too.
    schedule: derive a K schedule where the best K depends on the concurrency, and measure it as deployed.
    reduced: why this protocol proves less than the default ("" if it does not).

    The defaults here are the plainest measurement; those of a search-space file are in its schema.
    """

    repeats: int = 3
    max_repeats: int = 3
    lives: int = 1
    max_lives: int = 1
    resolve: float = 0.03
    warmup_requests: int | None = None
    baseline_again: bool = True
    baseline_every: int = 8
    losslessness: bool = False
    distribution_samples: int = 0
    same_runner: bool = False
    drafts_alone: bool = False
    schedule: bool = False
    start_timeout_s: float = 1200.0
    stall_timeout_s: float = 300.0
    request_timeout_s: float = 600.0
    reduced: str = ""
