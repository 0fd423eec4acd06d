"""Runs in the engine's Python: finds a hub model in the local cache, or downloads it when that was agreed to.

Reads {"repo": ID, "download": bool} on standard input and writes {"directory": PATH} or {"problem": REASON} on
standard output.
"""

from __future__ import annotations

import contextlib
import json
import sys

# What vLLM does not read: other frameworks' weights, and the originals beside converted ones.
OTHER_FORMATS = ["original/**", "onnx/**", "*.onnx", "*.gguf", "*.h5", "*.msgpack", "*.tflite", "*.ot"]


def find(repo: str, download: bool) -> str:
    """Return the snapshot's directory; OSError or ValueError if there is none."""
    from huggingface_hub import HfApi, snapshot_download

    if not download:
        return str(snapshot_download(repo, local_files_only=True))
    names = HfApi().list_repo_files(repo)
    doubled = ["*.bin", "*.pt", "*.pth"] if any(name.endswith(".safetensors") for name in names) else []
    return str(snapshot_download(repo, ignore_patterns=OTHER_FORMATS + doubled))


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        try:
            answer = {"directory": find(request["repo"], request["download"])}
        except (OSError, ValueError) as error:  # the hub's own errors are of these two families
            answer = {"problem": " ".join(f"{type(error).__name__}: {error}".split())}
    print("\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
