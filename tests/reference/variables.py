"""What each environment variable does that the tuner reads itself."""

from __future__ import annotations

VARIABLES = {
    "TUNER_REGISTRY": "where finished sweeps are kept, as `--registry`",
    "TUNER_CACHE": "where demo models, padded copies and hashes of models are kept, without it `~/.cache/spec-tuner`",
    "TUNER_MODELS": "a directory in which a target or draft named without a path is looked for",
    "TUNER_SERVE_TOKEN": "a token of `tuner serve` with both scopes",
    "TUNER_RAY_JOBS": "dashboard of a Ray cluster on which `tuner serve` runs sweeps, as `--ray-jobs`",
    "CI": "set and not 0 or false: nothing is downloaded, `--download` or not",
    "NO_COLOR": "set and not empty: no colours",
    "RAY_ADDRESS": "the Ray cluster that `--pool cluster` uses",
    "RAY_AUTH_MODE": "`token` where that cluster asks for one; `tuner doctor` looks whether there is one",
    "RAY_AUTH_TOKEN": "that token",
    "RAY_AUTH_TOKEN_PATH": "a file that has it, without it `~/.ray/auth_token`",
    "RAY_TMPDIR": "where Ray leaves sessions, without it the temporary directory; `tuner doctor` finds old ones there",
    "CUDA_VISIBLE_DEVICES": "the GPUs that may be used",
    "OMP_NUM_THREADS": "kept from engines: each gets its own",
    "VLLM_CPU_KVCACHE_SPACE": "GiB of the KV cache of vLLM's CPU build; `env` of a search space is stronger",
    "VLLM_CACHE_ROOT": "where vLLM keeps compiled graphs; `tuner doctor` looks at its disk",
    "VLLM_RPC_BASE_PATH": "where vLLM leaves sockets; `tuner doctor` finds old ones there",
    "HF_HUB_CACHE": "where the hub's models are, before `HUGGINGFACE_HUB_CACHE`, `HF_HOME` and `XDG_CACHE_HOME`",
    "HUGGINGFACE_HUB_CACHE": "the same under its older name",
    "HF_HOME": "its directory `hub` is where the hub's models are",
    "XDG_CACHE_HOME": "its directory `huggingface/hub` is where the hub's models are, without it `~/.cache`",
    "_TUNER_COMPLETE": "set by the shell while it completes a command line",
}
