"""What an engine life is, worked out from flags and profile, and the log lines that vLLM would write about it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tuner.engine.sim.arguments import Arguments
from tuner.engine.sim.model import SCHEDULE, draft_model, target_model
from tuner.engine.sim.profile import Profile
from tuner.records import Speculation

log = logging.getLogger(__name__)
_BANNER = r"""
       █     █     █▄   ▄█
 ▄▄ ▄█ █     █     █ ▀▄▀ █  version {version} (simulated)
  █▄█▀ █     █     █     █  model   {model}
   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀
"""


@dataclass(frozen=True)
class EnginePlan:
    """An engine that can start.  kv_tokens: context tokens that its KV cache holds."""

    profile: Profile
    target: str
    speculation: Speculation | None
    max_model_len: int
    max_num_seqs: int
    kv_tokens: int


def plan_engine(arguments: Arguments, profile: Profile, speculation: Speculation | None) -> EnginePlan:
    """Work out the engine that flags and profile ask for.

    Raises ValueError if its KV cache cannot hold one request; EngineNotFound if the profile lacks its models.
    """
    target_model(profile, arguments.model)
    max_model_len = arguments.max_model_len or profile.max_model_len
    draft_len = draft_model(profile, speculation).max_model_len if speculation else None
    max_model_len = min(max_model_len, draft_len or max_model_len)
    kv_tokens = _kv_tokens(profile, arguments.gpu_memory_utilization, speculation)
    if kv_tokens < max_model_len:
        raise ValueError(
            f"To serve at least one request with the models's max seq len ({max_model_len}), "
            f"more KV cache is needed than the available {max(0, kv_tokens)} tokens. "
            "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
        )
    max_num_seqs = arguments.max_num_seqs or profile.max_num_seqs
    if arguments.async_scheduling is False and speculation is None:
        profile = _synchronous(profile)
    return EnginePlan(profile, arguments.model, speculation, max_model_len, max_num_seqs, kv_tokens)


def _synchronous(profile: Profile) -> Profile:
    """Return a profile whose plain steps take what speculation makes the engine change, as its own steps do."""
    targets = tuple(
        target.model_copy(update={"step_s": target.step_s + target.speculative_overhead_s})
        for target in profile.targets
    )
    return profile.model_copy(update={"targets": targets})


def _kv_tokens(profile: Profile, utilization: float | None, speculation: Speculation | None) -> int:
    memory = profile.memory
    free = (memory.default_utilization if utilization is None else utilization) - memory.weights_share
    if speculation and speculation.draft:
        free *= 1.0 - memory.draft_share
    return max(0, int(memory.tokens * free / (1.0 - memory.weights_share)))


def log_arguments(arguments: Arguments, profile: Profile) -> None:
    """Write the banner and the arguments."""
    for line in _BANNER.format(version=profile.version, model=arguments.model).splitlines():
        log.info("%s", line)
    shown = {"model": arguments.model, "host": arguments.host, "port": arguments.port}
    shown |= {"served_model_name": [arguments.served_name], "speculative_config": arguments.speculative_config}
    log.info("non-default args: %s", shown)


def log_settings(plan: EnginePlan) -> None:
    """Write what the engine takes, and what it changes by itself."""
    log.info("Resolved architecture: SimulatedForCausalLM")
    log.info("Using max model len %d", plan.max_model_len)
    spec = plan.speculation
    if spec:
        log.warning(
            "Async scheduling not supported with %s-based speculative decoding and will be disabled.", spec.method
        )
        draft_len = draft_model(plan.profile, spec).max_model_len
        if draft_len:
            log.warning("Overriding max model len to %d, the draft model's", draft_len)
        if SCHEDULE in spec.options:
            log.warning("Overriding cudagraph_mode from FULL_AND_PIECEWISE to PIECEWISE for reliability.")
    log.info("Initializing a V1 LLM engine (v%s) with config: model=%r", plan.profile.version, plan.target)


def log_memory(plan: EnginePlan) -> None:
    """Write how large the KV cache is."""
    concurrency = plan.kv_tokens / plan.max_model_len
    log.info(
        "GPU KV cache size: %s tokens, Maximum concurrency for %s tokens per request: %.2fx",
        f"{plan.kv_tokens:,}",
        f"{plan.max_model_len:,}",
        concurrency,
    )
