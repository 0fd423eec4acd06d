"""Engine arguments: vLLM's flags, written with underscores, and what happens to those that cannot be swept.

The names are the union over releases 0.8.5 to 0.33.0, so a misspelt one is found before an engine starts. A flag that
is newer than this table goes under `unchecked_engine_args` in the search space.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tuner.records import Json
from tuner.space.versions import release

SWITCHES = frozenset(
    """
    allow_credentials allow_deprecated_quantization async_scheduling cohere_is_reasoning_model cudagraph_metrics
    data_parallel_external_lb data_parallel_hybrid_lb dcp_q_replicate disable_cascade_attn disable_chunked_mm_input
    disable_custom_all_reduce disable_fastapi_docs disable_hybrid_kv_cache_manager disable_nccl_for_dp_synchronization
    disable_sliding_window disable_uvicorn_access_log enable_auto_tool_choice enable_batch_sharded_sampling
    enable_chunked_prefill enable_cumem_allocator enable_dbo enable_elastic_ep enable_ep_weight_filter enable_eplb
    enable_expert_parallel enable_fault_tolerance enable_flash_late_interaction enable_flashinfer_autotune
    enable_force_include_usage enable_hc_sp enable_layerwise_nvtx_tracing enable_log_deltas enable_log_outputs
    enable_log_requests enable_logging_iteration_details enable_lora enable_mamba_cache_stochastic_rounding
    enable_mamba_shared_prefix_checkpoint enable_mfu_metrics enable_mixed_moe_lora_format enable_mm_embeds
    enable_moe_shared_loras enable_nccl_comm_suspend enable_offline_docs enable_per_request_metrics
    enable_prefix_caching enable_prompt_embeds enable_prompt_tokens_details enable_request_id_headers
    enable_return_routed_experts enable_scale_out enable_server_load_tracking enable_shm_tensor_arena
    enable_sleep_mode enable_tokenizer_info_endpoint enable_tower_connector_lora enable_trace_replay enforce_eager
    exclude_tools_when_tool_choice_none fail_on_environ_validation fully_sharded_loras interleave_mm_strings
    jit_monitor_verbose kv_cache_metrics kv_sharing_fast_prefill language_model_only log_error_stack
    long_prefill_token_threshold_adaptive mm_device_do_normalize mm_encoder_only numa_bind ray_workers_use_nsight
    return_sampling_mask return_tokens_as_token_ids scheduler_reserve_full_isl skip_mm_profiling skip_tokenizer_init
    sleep_mode_offload_cudagraph specialize_active_lora swa_bounded_replay tokens_only trust_remote_code
    trust_request_chat_template trust_request_mm_kwargs use_fp64_gumbel use_replayssm use_tqdm_on_load
    """.split()  # noqa: SIM905
)
"""Flags without a value: true gives --FLAG, false gives --no-FLAG."""

VALUES = frozenset(
    """
    additional_config all2all_backend allowed_headers allowed_local_media_path
    allowed_media_domains allowed_methods allowed_origins anthropic_disabled_thinking_effort api_server_count
    attention_backend attention_config aux_output_config block_size chat_template chat_template_content_format
    code_revision cohere_format collect_detailed_traces compilation_config config_format convert
    cp_kv_cache_interleave_size cpu_distributed_timeout_seconds cpu_offload_gb cpu_offload_params
    cudagraph_capture_sizes custom_histogram_buckets data_parallel_address data_parallel_backend
    data_parallel_rank data_parallel_rpc_port data_parallel_size
    data_parallel_size_local data_parallel_start_rank data_parallel_supervisor_port dbo_decode_token_threshold
    dbo_prefill_token_threshold dcp_comm_backend dcp_kv_cache_interleave_size decode_context_parallel_size
    default_chat_template_kwargs default_mm_loras device_ids diffusion_config disable_access_log_for_endpoints
    distributed_executor_backend distributed_timeout_seconds download_dir dp_supervisor_probe_failure_threshold
    dp_supervisor_probe_interval_s dp_supervisor_probe_timeout_s dp_sync_interval dtype ec_manager_config
    ec_transfer_config elastic_ep_max_dp_size engram_config eplb_config expert_placement_strategy
    fault_tolerance_config fingerprint_mode fingerprint_value gdn_prefill_backend generation_config
    gpu_memory_utilization h11_max_header_count h11_max_incomplete_event_size hf_config_path hf_overrides
    ignore_patterns io_processor_plugin ir_op_priority jit_monitor_mode kda_decode_backend kda_prefill_backend
    kernel_config kv_cache_dtype kv_cache_dtype_skip_layers kv_cache_memory_bytes kv_cache_metrics_sample
    kv_events_config kv_offloading_backend kv_offloading_size kv_transfer_config limit_mm_per_prompt linear_backend
    load_format log_config_file log_level logging_config logits_processors logprobs_mode long_prefill_token_threshold
    lora_dtype lora_modules lora_target_modules mamba_backend mamba_block_size mamba_cache_dtype mamba_cache_mode
    mamba_cache_philox_rounds mamba_ssm_cache_dtype mamba_ssu_algorithm master_addr master_port max_cpu_loras
    max_cudagraph_capture_size max_log_len max_logprobs max_lora_cls_labels max_lora_rank max_loras max_model_len
    max_num_active_seqs max_num_batched_tokens max_num_queued_reqs max_num_queued_tokens max_num_scheduled_tokens
    max_num_seqs max_parallel_loading_workers media_io_kwargs middleware mm_encoder_attn_backend mm_encoder_attn_dtype
    mm_encoder_fp8_scale_path mm_encoder_fp8_scale_save_margin mm_encoder_fp8_scale_save_path mm_encoder_tp_mode
    mm_hasher_algorithm mm_ipc_gpu_memory_gb mm_processor_cache_gb mm_processor_cache_type mm_processor_device
    mm_processor_kwargs mm_shm_cache_max_object_size_mb mm_tensor_ipc model_class_overrides model_impl
    model_loader_extra_config moe_backend monokernel nnodes node_rank num_gpu_blocks_override numa_bind_cpus
    numa_bind_nodes offload_backend offload_group_size offload_num_in_group offload_params offload_prefetch_step
    optimization_level otlp_traces_endpoint override_generation_config performance_mode pipeline_parallel_size
    pooler_config prefill_context_parallel_size prefill_schedule_interval prefix_cache_retention_interval
    prefix_caching_hash_algo prefix_match_unit profiler_config pt_load_map_location quantization quantization_config
    reasoning_config reasoning_parser reasoning_parser_plugin renderer_num_workers replayssm_buffer_len response_role
    revision runner safetensors_load_strategy safetensors_prefetch_block_size safetensors_prefetch_num_threads
    scheduler_cls scheduling_policy seed show_hidden_metrics_for_version shutdown_timeout sleep_mode_backend
    sleep_preserve_parameter_names sparse_indexer_topk_backend sse_keep_alive_interval stream_interval
    structured_outputs_config tensor_parallel_size tokenizer tokenizer_mode tokenizer_revision tool_call_parser
    tool_parser_plugin tool_server tool_strict_level ubatch_size uvicorn_log_level video_pruning_method
    video_pruning_rate watchdog_config watermark watermark_config weight_transfer_config worker_cls
    worker_extension_cls
    """.split()  # noqa: SIM905
)
"""Flags with a value."""

ONE_WAY = frozenset({"aggregate_engine_logging", "data_parallel_multi_port_external_lb"})
"""Switches without a --no-FLAG form."""

_FIRST_RELEASE = {
    "0.9.0": """
        cuda_graph_sizes data_parallel_address data_parallel_rpc_port data_parallel_size_local
        data_parallel_start_rank enable_prompt_embeds guided_decoding_disable_additional_properties
        guided_decoding_disable_any_whitespace guided_decoding_disable_fallback kv_events_config
        pt_load_map_location
    """,
    "0.9.1": """
        api_server_count data_parallel_backend disable_hybrid_kv_cache_manager
        enable_multimodal_encoder_data_parallel log_config_file
    """,
    "0.9.2": """
        data_parallel_rank enable_eplb enable_force_include_usage eplb_log_balancedness eplb_step_interval
        eplb_window_size expand_tools_even_if_tool_choice_none media_io_kwargs num_redundant_experts
        override_attention_dtype
    """,
    "0.10.0": """
        async_scheduling data_parallel_hybrid_lb default_mm_loras enable_tokenizer_info_endpoint
        interleave_mm_strings logprobs_mode
    """,
    "0.10.1": """
        convert enable_log_outputs enable_log_requests exclude_tools_when_tool_choice_none
        kv_sharing_fast_prefill logits_processors mamba_cache_dtype mamba_ssm_cache_dtype
        mm_processor_cache_gb runner skip_mm_profiling tool_server
    """,
    "0.10.2": """
        decode_context_parallel_size eplb_config h11_max_header_count h11_max_incomplete_event_size
        io_processor_plugin kv_cache_memory_bytes log_error_stack mm_encoder_tp_mode
        safetensors_load_strategy
    """,
    "0.11.0": """
        allowed_media_domains dbo_decode_token_threshold dbo_prefill_token_threshold enable_dbo
        expert_placement_strategy mm_processor_cache_type mm_shm_cache_max_object_size_mb pooler_config
        structured_outputs_config trust_request_chat_template video_pruning_rate
    """,
    "0.11.1": """
        aggregate_engine_logging all2all_backend cudagraph_capture_sizes data_parallel_external_lb
        dcp_kv_cache_interleave_size disable_nccl_for_dp_synchronization ec_transfer_config enable_mm_embeds
        kv_offloading_backend kv_offloading_size mamba_block_size master_addr master_port
        max_cudagraph_capture_size mm_encoder_attn_backend nnodes node_rank reasoning_parser_plugin
        stream_interval tokens_only
    """,
    "0.12.0": """
        cp_kv_cache_interleave_size kv_cache_metrics kv_cache_metrics_sample optimization_level
        prefill_context_parallel_size
    """,
    "0.13.0": "attention_backend attention_config cudagraph_metrics enable_layerwise_nvtx_tracing profiler_config",
    "0.14.0": """
        allow_deprecated_quantization default_chat_template_kwargs enable_log_deltas
        enable_logging_iteration_details enable_mfu_metrics enable_offline_docs enable_return_routed_experts
        enable_tower_connector_lora ubatch_size
    """,
    "0.15.0": "mamba_cache_mode mm_encoder_only",
    "0.16.0": """
        disable_access_log_for_endpoints enable_flashinfer_autotune kernel_config specialize_active_lora
        weight_transfer_config
    """,
    "0.17.0": """
        cpu_offload_params enable_elastic_ep fail_on_environ_validation language_model_only moe_backend
        offload_backend offload_group_size offload_num_in_group offload_params offload_prefetch_step
        performance_mode use_gpu_for_pooling_score
    """,
    "0.18.0": """
        dcp_comm_backend distributed_timeout_seconds enable_ep_weight_filter gdn_prefill_backend
        shutdown_timeout
    """,
    "0.19.0": """
        kv_cache_dtype_skip_layers lora_target_modules mm_tensor_ipc reasoning_config renderer_num_workers
        scheduler_reserve_full_isl
    """,
    "0.20.0": """
        enable_flash_late_interaction enable_mamba_cache_stochastic_rounding ir_op_priority mamba_backend
        mamba_cache_philox_rounds numa_bind numa_bind_cpus numa_bind_nodes
    """,
    "0.21.0": """
        fingerprint_mode fingerprint_value mm_encoder_attn_dtype mm_encoder_fp8_scale_path
        mm_encoder_fp8_scale_save_margin mm_encoder_fp8_scale_save_path safetensors_prefetch_block_size
        safetensors_prefetch_num_threads
    """,
    "0.22.0": """
        cpu_distributed_timeout_seconds data_parallel_multi_port_external_lb data_parallel_supervisor_port
        dp_supervisor_probe_failure_threshold dp_supervisor_probe_interval_s dp_supervisor_probe_timeout_s
        enable_cumem_allocator enable_mixed_moe_lora_format linear_backend quantization_config
        use_fp64_gumbel
    """,
    "0.24.0": "device_ids diffusion_config jit_monitor_verbose prefill_schedule_interval watermark",
    "0.25.0": "enable_per_request_metrics jit_monitor_mode mm_ipc_gpu_memory_gb model_class_overrides",
    "0.26.0": "enable_moe_shared_loras max_num_scheduled_tokens prefix_match_unit",
    "0.27.0": """
        cohere_format cohere_is_reasoning_model enable_bf16x3_router_gemm enable_fault_tolerance
        fault_tolerance_config kda_prefill_backend mamba_ssu_algorithm mm_hasher_algorithm
        replayssm_buffer_len use_replayssm video_pruning_method
    """,
    "0.28.0": "ec_manager_config mm_device_do_normalize mm_processor_device return_sampling_mask",
    "0.29.0": """
        dcp_q_replicate enable_batch_sharded_sampling enable_trace_replay max_num_queued_reqs
        max_num_queued_tokens prefix_cache_retention_interval sse_keep_alive_interval
    """,
    "0.30.0": """
        dp_sync_interval elastic_ep_max_dp_size enable_mamba_fine_grained_prefix_cache
        enable_nccl_comm_suspend enable_scale_out engram_config kda_decode_backend
        sparse_indexer_topk_backend watermark_config
    """,
    "0.31.0": """
        anthropic_disabled_thinking_effort aux_output_config enable_mamba_shared_prefix_checkpoint
        logging_config long_prefill_token_threshold_adaptive max_lora_cls_labels max_num_active_seqs
        sleep_preserve_parameter_names swa_bounded_replay tool_strict_level trust_request_mm_kwargs
    """,
    "0.32.0": "custom_histogram_buckets enable_hc_sp enable_shm_tensor_arena sleep_mode_offload_cudagraph",
    "0.33.0": "monokernel sleep_mode_backend watchdog_config",
}
ADDED: Mapping[str, str] = {name: first for first, names in _FIRST_RELEASE.items() for name in names.split()}
"""Flags that came after 0.8.5, with the first release that has them."""

_LAST_RELEASE = {
    "0.9.2": """
        device enable_reasoning expand_tools_even_if_tool_choice_none
        long_lora_scaling_factors max_prompt_adapter_token max_prompt_adapters prompt_adapters
        qlora_adapter_name_or_path tokenizer_pool_extra_config tokenizer_pool_size tokenizer_pool_type
    """,
    "0.10.0": "multi_step_stream_outputs num_scheduler_steps",
    "0.10.1": "enable_prompt_adapter override_neuron_config",
    "0.10.2": "disable_async_output_proc max_seq_len_to_capture preemption_mode scheduler_delay_factor",
    "0.11.0": "enable_lora_bias rope_scaling rope_theta",
    "0.11.2": """
        eplb_log_balancedness eplb_step_interval eplb_window_size guided_decoding_backend
        guided_decoding_disable_additional_properties guided_decoding_disable_any_whitespace
        guided_decoding_disable_fallback lora_extra_vocab_size num_redundant_experts
        override_pooler_config
    """,
    "0.12.0": "cuda_graph_sizes disable_mm_preprocessor_cache enable_multimodal_encoder_data_parallel task",
    "0.16.0": "disable_log_requests logits_processor_pattern",
    "0.17.1": "swap_space use_gpu_for_pooling_score",
    "0.18.1": "disable_frontend_multiprocessing",
    "0.26.0": "max_long_partial_prefills max_num_partial_prefills",
    "0.27.1": "calculate_kv_scales override_attention_dtype",
    "0.29.0": "enable_bf16x3_router_gemm",
    "0.30.0": "enable_mamba_fine_grained_prefix_cache",
}
REMOVED: Mapping[str, str] = {name: last for last, names in _LAST_RELEASE.items() for name in names.split()}
"""Flags that newer releases no longer have, with the last release that has them."""

MANAGED: Mapping[str, str] = {
    "model": "The target stands at the top of the file (`target:`), or on the command line.",
    "speculative_config": "Speculation is what gets swept: name the method and its options under `drafts:`.",
    "spec_method": "Write `drafts: [{method: ...}]`.",
    "spec_model": "Write `drafts: [{method: ..., model: ...}]`.",
    "spec_tokens": "Write `k: [...]`.",
    "served_model_name": "Each trial gets a name of its own, so that no other server is measured by mistake.",
    "host": "Engines listen on 127.0.0.1.",
    "port": "Each engine gets a free port.",
    "uds": "Engines listen on a TCP port of 127.0.0.1.",
    "api_key": "Each engine gets a key of its own, through its environment.",
    "hf_token": "Set HF_TOKEN in the environment that runs the tuner.",
    "config": "Write the file's settings under `engine_args:`.",
    "disable_log_stats": "It removes the counters that acceptance is computed from.",
    "per_request_spec_decode_metrics": "It is an error on the baseline, which must have the same arguments.",
    "device_memory_utilization": "Use gpu_memory_utilization, which every release has.",
    **dict.fromkeys(
        ("ssl_ca_certs", "ssl_cert_reqs", "ssl_certfile", "ssl_ciphers", "ssl_keyfile", "enable_ssl_refresh"),
        "Engines are measured over plain HTTP on 127.0.0.1.",
    ),
    **dict.fromkeys(("root_path", "headless", "grpc", "grpc_port"), "Engines are measured over HTTP at the root path."),
}
"""Flags that the tuner sets itself or must not have, with what to do instead."""


def known_engine_args() -> frozenset[str]:
    """Return every name that may stand under engine_args."""
    return SWITCHES | VALUES | ONE_WAY | frozenset(REMOVED)


def engine_arg_problem(name: str, value: Json) -> str | None:
    """Return what is wrong with the value of a known engine argument, None if nothing that can be told from here."""
    if value is None:
        return None
    if name in SWITCHES and not isinstance(value, bool):
        return "must be true or false"
    if name in ONE_WAY and value is not True:
        return "must be true, or left out"
    if name in VALUES and isinstance(value, bool):
        return "needs a value; it is no switch"
    if name == "gpu_memory_utilization" and not _is_share(value):
        return "must be a number above 0 and at most 1"
    if name in _COUNTS and (not isinstance(value, int) or value < 1):
        return "must be an integer of 1 or more"
    if name == "max_model_len" and isinstance(value, str) and not re.fullmatch(_LENGTH, value):
        return "must be a number of tokens, like 4096 or 4k"
    return f"must be one of {', '.join(_DTYPES)}" if name == "dtype" and value not in _DTYPES else None


_LENGTH = r"(?i:auto)|-1|\d+|\d+(\.\d+)?[kmgtKMGT]"  # as vLLM's parser reads it
_DTYPES = ("auto", "half", "float16", "bfloat16", "float", "float32")
_COUNTS = frozenset({"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "max_num_seqs"})


def _is_share(value: Json) -> bool:
    return isinstance(value, int | float) and 0 < value <= 1


def engine_arg_unavailable(engine_args: Mapping[str, Json], version: str) -> str | None:
    """Return why vLLM `version` cannot take these arguments, None if by the table it can."""
    here = release(version)
    for name in engine_args:
        flag, first, last = f"--{name.replace('_', '-')}", ADDED.get(name), REMOVED.get(name)
        if first and here < release(first):
            return f"vLLM {version} does not have {flag}; it came with {first}"
        if last and here > release(last):
            return f"vLLM {version} no longer has {flag}; the last release with it is {last}"
    return None
