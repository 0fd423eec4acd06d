"""What this machine is, as far as any process may read it."""

from __future__ import annotations

import platform
from pathlib import Path


def cpu_model() -> str:
    """Return the processor's name, e.g. "AMD EPYC"; the architecture where the system does not tell."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())
