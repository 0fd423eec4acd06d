"""Judges environment variables that break engines, or make them other than they seem. Pure: one row each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from tuner.doctor.check import Check, State
from tuner.doctor.facts import EnvironmentFacts

Judge = Callable[[str, str, EnvironmentFacts], tuple[State, str, str] | None]
"""From a variable's name and value: state, what, next step; None where there is nothing to say."""

_SOCKET_PATH = 107
_UUID = 36


def judge_environment(facts: EnvironmentFacts) -> tuple[Check, ...]:
    """What this environment does to engines. Values are shown only where they cannot be secrets."""
    found = [
        Check(f"env_{name.lower()}", *told)
        for pattern, judge in RULES
        for name, value in sorted(facts.variables.items())
        if re.fullmatch(pattern, name) and (told := judge(name, value, facts)) is not None
    ]
    found += _proxy(facts.variables)
    found += _temporary(facts)
    return tuple(found) or (Check("environment", State.OK, "no variable that breaks engines is set"),)


def _dropped(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    what = f"{name} is set: the tuner keeps it from its engines"
    if name == "VLLM_PORT" and not value.isdigit():
        what = f"{name}={value} (Kubernetes sets it for a service named vllm): the tuner keeps it from its engines"
    return State.WARN, f"{what}; an engine that is started by hand would break on it", f"unset {name}"


def _devices(name: str, value: str, facts: EnvironmentFacts) -> tuple[State, str, str] | None:
    named = [part.strip() for part in value.split(",") if part.strip()]
    if facts.gpus == 0:
        return (State.INFO, f"{name}={value!r}, and there is no GPU", "") if named else None
    if not named or "-1" in named or named == ["NoDevFiles"]:
        return State.WARN, f"{name}={value!r} hides all {facts.gpus} GPU(s)", f"unset {name}"
    wrong = [part for part in named if part.isdigit() and int(part) >= facts.gpus]
    odd = [part for part in named if not re.fullmatch(r"\d+|(GPU|MIG)-[\w/-]+", part)]
    twice = [part for part, count in Counter(named).items() if count > 1]
    step = f"Name indices from 0 to {facts.gpus - 1}, or UUIDs as `nvidia-smi -L` shows them."
    for parts, why in ((wrong, "there is no such GPU"), (odd, "that is no index or UUID"), (twice, "named twice")):
        if parts:
            return State.FAIL, f"{name}={value}: {parts[0]}: {why}", step
    return State.INFO, f"{name}={value}: {len(named)} of {facts.gpus} GPU(s) are used", ""


def _device_order(name: str, value: str, facts: EnvironmentFacts) -> tuple[State, str, str] | None:
    if value == "PCI_BUS_ID" or facts.gpu_models < 2:
        return None
    what = f"{name}={value}, with {facts.gpu_models} models of GPU: CUDA counts them in another order than nvidia-smi"
    return State.WARN, what, f"export {name}=PCI_BUS_ID"


def _offline(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    if value.lower() in ("", "0", "false", "no", "off"):
        return None
    return State.INFO, f"{name}={value}: --download cannot fetch models (engines are always started offline)", ""


def _ci(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    if value.lower() in ("", "0", "false"):
        return None
    return State.INFO, f"{name}={value}: --download is refused in CI", "Give model directories."


def _secret(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    return (State.INFO, f"{name} is set (its value is not shown, and never recorded)", "") if value else None


def _shapes(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    what = f"{name}={value}: every engine started from here inherits it; it is recorded with the run"
    return State.INFO, what, "To make it part of the experiment, write it under `env` in the search space."


def _preload(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    gone = [part for part in re.split(r"[:\s]+", value) if part.startswith("/") and not Path(part).exists()]
    if gone:
        return State.WARN, f"{name}: {gone[0]} does not exist", f"unset {name}"
    return (State.INFO, f"{name}={value}: loaded into every engine", "") if value else None


def _directory(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    if not value or Path(value).expanduser().is_dir():
        return None
    return State.WARN, f"{name}={value}: there is no such directory", f"Correct it, or unset {name}."


def _pythonpath(name: str, value: str, _: EnvironmentFacts) -> tuple[State, str, str] | None:
    shadowing = [part for part in value.split(":") if part and (Path(part) / "vllm" / "__init__.py").exists()]
    if not shadowing:
        return None
    what = f"{name}: {shadowing[0]} holds a vllm package, which every Python takes before the installed one"
    return State.WARN, what, f"unset {name}, or name that vLLM's own environment with --engine."


RULES: tuple[tuple[str, Judge], ...] = (
    (r"VLLM_PORT(_.*)?|VLLM_SERVICE_.*|PROMETHEUS_MULTIPROC_DIR|VLLM_HOST_IP", _dropped),
    (r"CUDA_VISIBLE_DEVICES", _devices),
    (r"CUDA_DEVICE_ORDER", _device_order),
    (r"HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE", _offline),
    (r"CI", _ci),
    (r"HF_TOKEN|HUGGING_FACE_HUB_TOKEN|VLLM_API_KEY", _secret),
    (r"LD_PRELOAD", _preload),
    (r"TUNER_MODELS", _directory),
    (r"PYTHONPATH", _pythonpath),
    (r"VLLM_(USE|ATTENTION|CPU|WORKER|ENABLE|DISABLE)_.*(?<!KEY)|CUDA_LAUNCH_BLOCKING|NCCL_(P2P|IB)_DISABLE", _shapes),
)
"""Pattern of names, and what is said of them."""


def _proxy(variables: Mapping[str, str]) -> list[Check]:
    proxies = sorted(name for name in variables if name.lower() in ("http_proxy", "all_proxy") and variables[name])
    if not proxies:
        return []
    exempt = ",".join(value for name, value in variables.items() if name.lower() == "no_proxy")
    hosts = {part.strip() for part in exempt.split(",")}
    if "*" in hosts or hosts & {"127.0.0.1", "127.0.0.0/8"}:
        return []
    what = f"{', '.join(proxies)} is set and no_proxy does not name 127.0.0.1, on which engines are reached"
    step = "export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost"
    return [Check("env_proxy", State.WARN, what, step)]


def _temporary(facts: EnvironmentFacts) -> list[Check]:
    base = facts.variables.get("VLLM_RPC_BASE_PATH") or facts.temporary
    if len(base) + 1 + _UUID <= _SOCKET_PATH:
        return []
    what = f"{base} is too long a path ({len(base)} characters) for the sockets that vLLM's processes make in it"
    return [Check("socket_path", State.FAIL, what, "export TMPDIR=/tmp (or VLLM_RPC_BASE_PATH=/tmp)")]
