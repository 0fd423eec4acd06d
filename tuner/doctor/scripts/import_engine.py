"""Runs in the engine's Python: imports vLLM and torch, which is the first thing that a broken environment fails at.

Standard output, last line: {"version", "import_s", "gpus"}; gpus: how many torch sees.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    """Answer on standard output."""
    sys.path.pop(0)  # This file's directory: nothing in it is to be imported in the engine's place.
    began_s = time.monotonic()
    import torch
    import vllm
    import vllm.engine.arg_utils

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    print(json.dumps({"version": vllm.__version__, "import_s": time.monotonic() - began_s, "gpus": gpus}))


if __name__ == "__main__":
    main()
