"""What a simulated engine is like: times, acceptance, noise, memory and faults, read from YAML.

All times are seconds. Every draw is seeded, so that one profile gives one truth.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tuner.engine.sim import IMITATED_VLLM_VERSION
from tuner.errors import EngineNotFound

PRESETS = Path(__file__).parent / "profiles"

Seconds = Annotated[float, Field(ge=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Spread = Annotated[float, Field(ge=0.0, description="standard deviation of the logarithm")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TargetModel(_Part):
    """Time of one forward pass over n tokens: piecewise linear, with a bend where compute takes over.

    match: glob for the target's name. step_s: a pass over one token. token_s: each further token before the bend.
    bend_tokens: None if there is none; bent_token_s: each token after it.
    pad_to: batch sizes that a pass is padded up to, as CUDA graphs do (none above the largest).
    speculative_overhead_s: added to every step while speculation is on (another model runner, synchronous
    scheduling), and without it where --no-async-scheduling is given. schedule_overhead_s: added when a K schedule is
    set, even where it says K = 0.
    """

    match: str = "*"
    step_s: Seconds = 0.002
    token_s: Seconds = 0.0
    bend_tokens: Annotated[int, Field(ge=1)] | None = None
    bent_token_s: Seconds = 0.0
    pad_to: tuple[Annotated[int, Field(ge=1)], ...] = ()
    speculative_overhead_s: Seconds = 0.0
    schedule_overhead_s: Seconds = 0.0


class DraftModel(_Part):
    """Cost and quality of one draft.

    match: glob for the draft model's name, or for the method where there is no model ("ngram").
    step_s: one draft pass; token_s: each further request in the batch. parallel: one pass proposes all K tokens
    (block drafters), otherwise K passes. acceptance: chance that the token at position i is accepted, given that the
    ones before it were; the last value holds for all further positions. by_temperature: factor on each of them,
    linear between the given temperatures. prompt_sd: spread of the prompts' difficulty, added to the logit of
    acceptance. coverage: share of steps for which there is a proposal at all (n-gram).
    max_model_len: the draft's context, to which the target's is lowered.
    """

    match: str
    step_s: Seconds = 0.0
    token_s: Seconds = 0.0
    overhead_s: Seconds = 0.0
    parallel: bool = False
    acceptance: Annotated[tuple[Share, ...], Field(min_length=1)]
    by_temperature: dict[Annotated[float, Field(ge=0.0)], Annotated[float, Field(ge=0.0)]] = {}
    prompt_sd: Annotated[float, Field(ge=0.0)] = 0.0
    coverage: Share = 1.0
    max_model_len: Annotated[int, Field(ge=1)] | None = None


class PromptKind(_Part):
    """A category of prompts, easier or harder to draft for.

    A prompt belongs to the first kind one of whose `contains` it contains; otherwise it falls into one of the kinds
    without `contains`, by their shares (what the shares leave of 1 is ordinary). logit_shift is added to the logit of
    acceptance, coverage_factor multiplies the draft's coverage.
    """

    name: str
    contains: tuple[str, ...] = ()
    share: Share = 0.0
    logit_shift: float = 0.0
    coverage_factor: Annotated[float, Field(ge=0.0)] = 1.0


class Prefill(_Part):
    """base_s + token_s for each prompt token, beside the running batch.

    stalls: share of a prompt's prefill by which the running batch's step gets longer.
    """

    base_s: Seconds = 0.0
    token_s: Seconds = 0.0
    stalls: Share = 0.0


class Answers(_Part):
    """Length of answers that end by themselves: log-normal over prompts, in tokens, with this median."""

    median_tokens: Annotated[float, Field(ge=1.0)] = 160.0
    spread: Spread = 0.5


class NearTies(_Part):
    """Positions of a greedy answer at which a second token is almost as probable, so that an answer may go either way.

    rate: share of positions.  gap: log probability of the first token there minus that of the second, nats;
    other_gap: the same everywhere else.  speculative_flips: chance that speculation takes the second token at one,
    the same in every repeat.  crowded_flips: chance that any engine does, drawn anew for each request, while other
    requests are in the batch.
    """

    rate: Share = 0.0
    gap: Annotated[float, Field(ge=0.0)] = 0.05
    other_gap: Annotated[float, Field(ge=0.0)] = 3.0
    speculative_flips: Share = 0.0
    crowded_flips: Share = 0.0


class Bursts(_Part):
    """A neighbour that slows every step by `factor` for duration_s out of every period_s."""

    period_s: Annotated[float, Field(gt=0.0)]
    duration_s: Seconds
    factor: Annotated[float, Field(gt=0.0)]


class Drift(_Part):
    """A slow wave of the machine's speed: 1 + amplitude x sin(2 pi (t + phase_s) / period_s), t the Unix time.

    Engine lives share the clock, so a later life sees another speed than an earlier one.
    """

    amplitude: Annotated[float, Field(ge=0.0, lt=1.0)]
    period_s: Annotated[float, Field(gt=0.0)]
    phase_s: float = 0.0


class Noise(_Part):
    """Log-normal factors on the step time, each with median 1 (step_sd: mean 1, as steps add up).

    life_sd: one draw per engine life. speculative_life_sd: one more per life with speculation.
    repeat_sd: one draw per cache salt, as a repeat has its own. step_sd: one per step.
    outlier_rate: chance that a step takes outlier_factor times as long.
    """

    life_sd: Spread = 0.0
    speculative_life_sd: Spread = 0.0
    repeat_sd: Spread = 0.0
    step_sd: Spread = 0.0
    outlier_rate: Share = 0.0
    outlier_factor: Annotated[float, Field(gt=0.0)] = 1.0
    bursts: Bursts | None = None
    drift: Drift | None = None


class Memory(_Part):
    """KV cache: `tokens` at gpu_memory_utilization 1, in proportion to what is left above weights_share.

    draft_share: of the cache that a draft model takes. default_utilization: when no flag is given.
    """

    tokens: Annotated[int, Field(ge=1)] = 400_000
    weights_share: Share = 0.3
    draft_share: Share = 0.1
    default_utilization: Annotated[float, Field(gt=0.0, le=1.0)] = 0.92


# fmt: off
FaultKind = Literal[
    "crash_at_start", "crash", "out_of_memory", "memory_growth", "memory_until_lowered", "hang_at_start",
    "silent_port", "port_taken", "unhealthy", "unauthorized", "hang", "ignore_term", "stubborn_child",
    "daemonizes", "http_error", "wrong_content_type", "wrong_length", "truncated_stream", "half_event",
    "slow_stream", "usage_missing", "token_ids_missing", "metrics_missing", "metrics_garbage",
    "counters_backwards", "counters_contradict", "speculation_off", "lossy", "degenerate_text", "shifted_samples",
    "logprobs_refused", "wrong_model_name", "foreign_traffic", "log_flood",
]
# fmt: on


class Fault(_Part):
    """Something that goes wrong on purpose, for the candidates that it is limited to.

    draft: glob for the draft's name ("none": without speculation; "*": any, without speculation too);
    k_min, k_max: range of K (0 is no speculation).
    rate: chance, per engine life for faults of the start and of the process, per request for the others.
    after_requests: the first so many requests are served well. at_token: how far into the answer it happens.

    crash_at_start, crash, memory_growth: ends with exit_code (negative: kills itself by that signal), printing
    `message` as the cause. out_of_memory: crash as soon as one pass holds more than at_token tokens.
    memory_until_lowered: ends at start with vLLM's words for too little memory as long as `argument` is above at_most.
    memory_growth: grows by size_mib per request and is killed after after_requests.
    http_error: answers with `status`. log_flood: writes size_mib to the log at start.
    silent_port: listens before it is ready and never answers. port_taken: somebody else listens there when it wants to.
    unhealthy, unauthorized: it serves, but /health says 503, or every key is refused.
    stubborn_child: starts a process in a session of its own that ignores TERM. daemonizes: goes on in such a session
    itself, and the process that was started ends with 0.
    truncated_stream, half_event, slow_stream: from at_token on the connection breaks, the stream ends within an event,
    or a byte comes every minute. wrong_length: promises more bytes than there are.
    counters_backwards: counters restart from 0 after after_requests. counters_contradict: from then on more tokens are
    counted as accepted than were proposed. foreign_traffic: one more request is counted
    for one of ours, at `rate`. lossy: another answer from at_token on. shifted_samples: above temperature 0, tokens
    from at_token on are sampled at half the temperature. logprobs_refused: `status` for requests that ask for logprobs.
    """

    kind: FaultKind
    draft: str = "*"
    k_min: Annotated[int, Field(ge=0)] = 0
    k_max: Annotated[int, Field(ge=0)] | None = None
    rate: Share = 1.0
    after_requests: Annotated[int, Field(ge=0)] = 0
    at_token: Annotated[int, Field(ge=0)] = 8
    exit_code: Annotated[int, Field(ge=-64, le=255)] = 1
    status: Annotated[int, Field(ge=400, le=599)] = 500
    size_mib: Annotated[float, Field(gt=0.0)] = 1.0
    message: str = "RuntimeError: simulated fault"
    argument: Literal["gpu_memory_utilization", "max_model_len", "max_num_seqs"] = "gpu_memory_utilization"
    at_most: Annotated[float, Field(gt=0.0)] = 0.5


class Profile(_Part):
    """One simulated engine on one simulated machine.

    version: what it says it is. seed: of every draw. time_scale: multiplies every time. start_s: from process start
    to ready. max_model_len, max_num_seqs: used where no flag is given. targets, drafts: the first match counts.
    """

    version: str = IMITATED_VLLM_VERSION
    seed: int = 0
    time_scale: Annotated[float, Field(gt=0.0)] = 1.0
    start_s: Seconds = 0.0
    max_model_len: Annotated[int, Field(ge=1)] = 4096
    max_num_seqs: Annotated[int, Field(ge=1)] = 256
    targets: Annotated[tuple[TargetModel, ...], Field(min_length=1)] = (TargetModel(),)
    drafts: tuple[DraftModel, ...] = ()
    prompt_kinds: tuple[PromptKind, ...] = ()
    prefill: Prefill = Prefill()
    answers: Answers = Answers()
    near_ties: NearTies = NearTies()
    noise: Noise = Noise()
    memory: Memory = Memory()
    faults: tuple[Fault, ...] = ()


def preset_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the package."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.yaml")))


def load_profile(name_or_path: str | None = None) -> Profile:
    """Read a profile from a YAML file, or one that comes with the package by its name (None: "default").

    Raises EngineNotFound, naming the file and the key, if there is none or it does not fit the schema.
    """
    name = name_or_path or "default"
    path = PRESETS / f"{name}.yaml" if name in preset_names() else Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(preset_names())
        raise EngineNotFound(
            f"cannot read the profile {name}: {error}", f"Give a YAML file, or one of {known}."
        ) from error
    return parse_profile(text, str(path))


def parse_profile(text: str, source: str) -> Profile:
    """Check a profile's YAML text; `source` names it in errors. Raises EngineNotFound."""
    try:
        return Profile.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise EngineNotFound(f"{source} is not YAML: {error}", "Correct the profile.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the top level"
        raise EngineNotFound(f"{source}: {where}: {first['msg']}", "Correct the profile.") from error
