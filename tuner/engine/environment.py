"""The engine's environment and command line: what goes in, what is recorded, what must never be seen."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tuner.records.redaction import REDACTED, is_secret_name, redacted, without_credentials, without_json_secrets

_FIXED_ENV = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "PYTHONSAFEPATH": "1",  # A directory named vllm where the tuner was started must not be imported as the engine.
    "PYTHONUNBUFFERED": "1",  # Progress is read from the log.
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
# VLLM_PORT is the base of an internal port scan, and Kubernetes sets it (and its kin) for a service named vllm.
# PROMETHEUS_MULTIPROC_DIR mixes counters of several engines. Ray sets OMP_NUM_THREADS to the CPUs of an actor, often 1,
# and its own variables make an engine join the cluster; whoever wants these says so in the space's `env`.
_DROPPED_ENV = re.compile(
    r"VLLM_PORT(_.*)?|VLLM_SERVICE_.*|VLLM_API_KEY|VLLM_HOST_IP|PROMETHEUS_MULTIPROC_DIR|OMP_NUM_THREADS|RAY_.*|"
    r"PYTHONHOME|__PYVENV_LAUNCHER__|MASTER_ADDR|MASTER_PORT|RANK|LOCAL_RANK|WORLD_SIZE"
)
_RECORDED_ENV = re.compile(r"(VLLM|CUDA|NCCL|OMP|KMP|TORCH|PYTORCH|TORCHINDUCTOR|TRITON)_.*|LD_PRELOAD|HF_HUB_OFFLINE")
# Set by us, or they say where things are and what is written down, which no figure depends on.
_NOT_SHAPING = re.compile(
    r"CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|NCCL_SOCKET_IFNAME|(VLLM|NCCL|TORCH)_(LOGGING|LOG|DEBUG)(_.*)?|TORCH_LOGS.*|"
    r"VLLM_(CONFIGURE_LOGGING|DO_NOT_TRACK|USAGE_SOURCE|CONFIG_ROOT|ASSETS_CACHE.*|RPC_BASE_PATH)|CUDA_MPS_.*_DIRECTORY|"
    r"(CUDA|TORCH|TRITON|NCCL)_(HOME|PATH|VERSION)|.*_CACHE_(ROOT|DIR|PATH|MAXSIZE)"
)
_FLAG = re.compile(r"--([\w.-]+)(=.*)?", re.DOTALL)
_OF_A_FILE = re.compile(r"(?:file|path)$")  # --ssl-keyfile says where a key is


def engine_env(inherited: Mapping[str, str], own: Mapping[str, str], api_key: str) -> dict[str, str]:
    """Return the engine's whole environment: what we inherited, cleaned, then our fixed variables, then `own`."""
    kept = {name: value for name, value in inherited.items() if not _DROPPED_ENV.fullmatch(name)}
    return {**kept, **_FIXED_ENV, **own, "VLLM_API_KEY": api_key}


def recorded_env(env: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that shape the engine: `own` and those that vLLM and its libraries read; no secrets."""
    return {name: without_credentials(value) for name, value in _kept(env, own).items()}


def _kept(env: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    names = sorted(name for name in env if name in own or _RECORDED_ENV.fullmatch(name))
    return {name: env[name] for name in names if not is_secret_name(name)}


def shaping_env(inherited: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an engine's figures may depend on: `own`, and what it inherits of such.

    Devices, caches, paths and log settings are left out, and so is what is the same for every engine. URLs have their
    credentials yet, which engines may need: whoever writes them down leaves those out.
    """
    env = _kept(engine_env(inherited, own, ""), {})
    shaping = {name: env[name] for name in env if name not in _FIXED_ENV and not _NOT_SHAPING.fullmatch(name)}
    return {**shaping, **own}


def redacted_command(command: tuple[str, ...], api_key: str) -> tuple[str, ...]:
    """Return the command with keys and tokens replaced."""
    shown: list[str] = []
    hide_next = False
    for word in command:
        flag = _FLAG.fullmatch(word)
        secret = bool(flag and is_secret_name(flag[1]) and not _OF_A_FILE.search(flag[1]))
        if hide_next:
            shown.append(REDACTED)
        elif flag and secret and flag[2]:
            shown.append(f"--{flag[1]}={REDACTED}")
        else:
            shown.append(without_json_secrets(redacted(word, [api_key] if api_key else ())))
        hide_next = bool(flag and secret and not flag[2]) and not hide_next
    return tuple(shown)
