"""Python code that calls vLLM's `LLM`, and engine arguments as Python calls take them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tuner.export.comments import comment
from tuner.export.formats.deployment import Deployment
from tuner.export.formats.text import header
from tuner.records import Json

_SERVER_ALONE = frozenset(
    """
    allow_credentials allowed_headers allowed_methods allowed_origins anthropic_disabled_thinking_effort
    api_server_count chat_template_content_format cohere_format cohere_is_reasoning_model data_parallel_supervisor_port
    default_chat_template_kwargs disable_access_log_for_endpoints disable_fastapi_docs disable_frontend_multiprocessing
    disable_log_requests disable_uvicorn_access_log dp_supervisor_probe_failure_threshold dp_supervisor_probe_interval_s
    dp_supervisor_probe_timeout_s enable_auto_tool_choice enable_flash_late_interaction enable_force_include_usage
    enable_log_deltas enable_log_outputs enable_log_requests enable_offline_docs enable_per_request_metrics
    enable_prompt_tokens_details enable_request_id_headers enable_scale_out enable_server_load_tracking
    enable_tokenizer_info_endpoint exclude_tools_when_tool_choice_none fingerprint_mode fingerprint_value
    h11_max_header_count h11_max_incomplete_event_size log_config_file log_error_stack log_level lora_modules
    max_log_len middleware response_role return_tokens_as_token_ids sse_keep_alive_interval tokens_only tool_call_parser
    tool_parser_plugin tool_server tool_strict_level trust_request_chat_template trust_request_mm_kwargs
    uvicorn_log_level
    """.split()  # noqa: SIM905
)
"""Flags of the HTTP server, which LLM does not take."""
_READABLE = frozenset(
    {
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_scheduled_tokens",
        "kv_cache_memory_bytes",
        "safetensors_prefetch_block_size",
        "max_num_queued_tokens",
    }
)
"""Numbers that the command line also reads as 4k or 4K; a call does not."""
_UNITS = {unit: 1000 ** (i + 1) for i, unit in enumerate("kmgt")} | {
    unit: 1024 ** (i + 1) for i, unit in enumerate("KMGT")
}


def call_arguments(engine_args: Mapping[str, Json]) -> dict[str, Json]:
    """Return engine arguments as fields of vLLM's EngineArgs: mappings instead of JSON text, numbers written out."""
    return {name: _value(name, value) for name, value in engine_args.items() if value is not None}


def python_call(deployment: Deployment) -> str:
    """Return a module that starts the engine and asks it one thing."""
    args = deployment.candidate.engine_args
    alone = [name for name in args if name in _SERVER_ALONE]
    kept = call_arguments({name: value for name, value in args.items() if name not in alone})
    notes = [f"Left out, as the HTTP server alone has them: {', '.join(alone)}."] if alone else []
    config = {"speculative_config": deployment.speculative_config} if deployment.speculative_config else {}
    given: dict[str, Json] = {"model": deployment.target, **kept, **config}
    lines = "".join(f"        {name}={value!r},\n" for name, value in given.items())
    return (
        header(deployment, *notes, _DEFAULTS)
        + _environment(deployment)
        + "from vllm import LLM, SamplingParams\n\n\n"
        + f"def engine() -> LLM:\n    return LLM(\n{lines}    )\n\n\n"
        + _MAIN.format(temperature=deployment.temperature)
    )


def _environment(deployment: Deployment) -> str:
    if not deployment.env:
        return ""
    lines = "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in sorted(deployment.env.items()))
    return "import os\n\n" + comment("vLLM reads these when it is imported.") + lines + "\n"


def _value(name: str, value: Json) -> Json:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return _mapping(value)
    if name == "max_model_len" and value.strip().lower() == "auto":
        return -1
    readable = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtKMGT]?)", value.strip()) if name in _READABLE else None
    return int(float(readable[1]) * _UNITS.get(readable[2], 1)) if readable else value


def _mapping(text: str) -> Json:
    """Return what the text says where it is JSON; a chat template begins with a brace too."""
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


_DEFAULTS = (
    "LLM is not the server that was measured: where max_num_seqs and max_num_batched_tokens are not set, it takes "
    "larger ones."
)
_MAIN = """\
if __name__ == "__main__":
    llm = engine()
    answers = llm.chat(
        [{{"role": "user", "content": "What is speculative decoding?"}}],
        SamplingParams(temperature={temperature!r}, max_tokens=128),
    )
    print(answers[0].outputs[0].text)
"""
