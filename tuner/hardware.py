"""What this machine is, as far as any process may read it, and what is known of devices by their name."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from pathlib import Path

# Memory bandwidth in GB/s (10^9 bytes) by NVML's device name, from NVIDIA's data sheets of each product; the GeForce
# cards' from memory clock and bus width of NVIDIA's product pages. A name says which form of a card it is: the forms of
# one card differ by up to 1.7 times.
_BANDWIDTH_GB_S: Mapping[str, float] = {
    "NVIDIA B200": 8000,
    "NVIDIA H200": 4800,
    "NVIDIA H200 NVL": 4800,
    "NVIDIA H100 80GB HBM3": 3350,
    "NVIDIA H100 NVL": 3900,
    "NVIDIA H100 PCIe": 2000,
    "NVIDIA H20": 4000,
    "NVIDIA A100-SXM4-80GB": 2039,
    "NVIDIA A100 80GB PCIe": 1935,
    "NVIDIA A100-SXM4-40GB": 1555,
    "NVIDIA A100-PCIE-40GB": 1555,
    "NVIDIA A40": 696,
    "NVIDIA A30": 933,
    "NVIDIA A10": 600,
    "NVIDIA A10G": 600,
    "NVIDIA L40S": 864,
    "NVIDIA L40": 864,
    "NVIDIA L4": 300,
    "NVIDIA RTX 6000 Ada Generation": 960,
    "NVIDIA RTX A6000": 768,
    "NVIDIA GeForce RTX 5090": 1792,
    "NVIDIA GeForce RTX 4090": 1008,
    "NVIDIA GeForce RTX 3090 Ti": 1008,
    "NVIDIA GeForce RTX 3090": 936,
}


def cpu_model() -> str:
    """Return the processor's name, e.g. "AMD EPYC"; the architecture where the system does not tell."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def memory_bandwidth(device: str) -> float | None:
    """Return the data-sheet bandwidth of one GPU's memory, bytes per second; None for a device that is not listed.

    device: as WorkerFacts has it, "NVIDIA H200" or "2 x NVIDIA H200". A MIG slice has a name of its own and is not
    listed: it has a part of the card's memory only.
    """
    known = _BANDWIDTH_GB_S.get(re.sub(r"^\d+ x ", "", device))
    return None if known is None else known * 1e9
