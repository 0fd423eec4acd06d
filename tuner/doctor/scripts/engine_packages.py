"""Runs in the engine's Python, with the standard library alone: what is installed there, without importing any of it.

Standard input: {"names": [distribution ...]}.  Standard output: {"python", "found", "torch_cuda"}.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from importlib import metadata
from pathlib import Path


def version(name: str) -> str | None:
    """Return a distribution's version, None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def torch_cuda() -> str | None:
    """Return the CUDA release in torch's version.py; importing torch would take seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("version.py")
    found = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", path.read_text(), re.M) if path.is_file() else None
    return found[1] if found else None


def main() -> None:
    """Answer on standard output."""
    request = json.load(sys.stdin)
    found = {name: version(name) for name in request["names"]}
    answer = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "found": {name: value for name, value in found.items() if value is not None},
        "torch_cuda": torch_cuda(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
