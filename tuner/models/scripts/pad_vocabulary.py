"""Runs in the engine's Python: a copy of a model whose vocabulary matrices have another number of rows.

    python -I pad_vocabulary.py SOURCE OUT ROWS

OUT is an empty directory. Ends with one line of JSON: {"changed": {TENSOR: [OLD ROWS, NEW ROWS]}}. Exit code 4: a
package is missing; 3: the model cannot be padded, for the reason on the line that starts with "refused: ".

A new row is the mean of all rows. Whatever the hidden state h, its logit h * mean(w) is the mean of all logits (the
product is linear), and a mean is below the largest unless all are equal: a padding token never has the largest logit,
so greedy drafting never proposes one. A row of zeros has logit 0, which does win where all real logits are negative. A
new bias is the smallest bias, which is at most the mean. Tied and untied matrices are treated alike.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXIT_REFUSED, EXIT_MISSING = 3, 4
INPUTS = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "tok_embeddings.weight")
OUTPUTS = ("lm_head.weight", "embed_out.weight", "lm_head.bias", "embed_out.bias")
INDEX = "model.safetensors.index.json"
# Weights in other formats keep their old shapes, and engines take safetensors first: not copied.
STALE = (".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".msgpack")


class Refused(Exception):
    """The model cannot be padded, for this reason."""


def resized(tensor: Any, rows: int) -> Any:
    """Return a matrix or bias with so many rows: cut, or filled up with the mean row (the smallest bias)."""
    import torch

    missing = rows - tensor.shape[0]
    if missing <= 0:
        return tensor[:rows].clone()
    if tensor.dim() == 1:
        return torch.cat([tensor, tensor.min().repeat(missing)])
    mean = tensor.mean(dim=0, dtype=torch.float32).to(tensor.dtype)
    return torch.cat([tensor, mean.repeat(missing, 1)])


def check(name: str, tensor: Any, have: int) -> None:
    """Refuse what is no plain matrix (or bias) with as many rows as the vocabulary has now."""
    import torch

    if tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise Refused(f"{name} is quantised ({tensor.dtype}): pad the unquantised model and quantise the copy")
    if tensor.shape[0] != have:
        raise Refused(f"{name} has {tensor.shape[0]} rows and the embedding {have}")


def weight_files(source: Path) -> Iterator[Path]:
    """Yield the safetensors files that an engine loads."""
    if (source / INDEX).is_file():
        names = set(json.loads((source / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        yield from (source / name for name in sorted(names))
        return
    yield from (file for file in sorted(source.glob("*.safetensors")) if not file.name.startswith("consolidated"))


def vocabulary_names(files: list[Path]) -> dict[Path, list[str]]:
    """Return the vocabulary's tensors by file."""
    from safetensors import safe_open

    found: dict[Path, list[str]] = {}
    for file in files:
        with safe_open(file, framework="pt") as opened:
            found[file] = [name for name in opened.keys() if name.endswith((*INPUTS, *OUTPUTS))]  # noqa: SIM118
    if not any(name.endswith(INPUTS) for names in found.values() for name in names):
        raise Refused("no input embedding of a known name among its safetensors files")
    return found


def rows_now(names: dict[Path, list[str]]) -> int:
    """Return the rows of the input embedding."""
    from safetensors import safe_open

    file, name = next((file, name) for file, found in names.items() for name in found if name.endswith(INPUTS))
    with safe_open(file, framework="pt") as opened:
        return int(opened.get_slice(name).get_shape()[0])


def rewrite(file: Path, names: list[str], out: Path, have: int, rows: int) -> int:
    """Write one file with its vocabulary tensors resized, the others unchanged; return how many bytes it grew by."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(file)
    before = sum(tensor.nbytes for tensor in tensors.values())
    for name in names:
        check(name, tensors[name], have)
        tensors[name] = resized(tensors[name], rows).contiguous()
    save_file(tensors, out / file.name, metadata={"format": "pt"})
    return sum(tensor.nbytes for tensor in tensors.values()) - before


def write_config(source: Path, out: Path, rows: int) -> None:
    """Write config.json with the new vocab_size wherever one stands."""
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    for part in (config, config.get("text_config")):
        if isinstance(part, dict) and "vocab_size" in part:
            part["vocab_size"] = rows
    if "vocab_size" not in config and "text_config" not in config:
        raise Refused("config.json names no vocab_size")
    (out / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def copy_rest(source: Path, out: Path, weights: list[Path]) -> None:
    """Copy the tokenizer and whatever else stands beside the weights (through links, as in a hub cache)."""
    for file in sorted(source.iterdir()):
        stale = file.suffix in (*STALE, ".safetensors") or file.name.endswith(".bin.index.json")
        if file.is_file() and file not in weights and not stale and not (out / file.name).exists():
            shutil.copyfile(file, out / file.name)


def correct_index(out: Path, bytes_more: int) -> None:
    """The index says how large all tensors are together."""
    path = out / INDEX
    if path.is_file():
        index = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(index.get("metadata"), dict) and isinstance(index["metadata"].get("total_size"), int):
            index["metadata"]["total_size"] += bytes_more
            path.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def main(source: Path, out: Path, rows: int) -> int:
    """Write the copy."""
    if missing := [name for name in ("torch", "safetensors") if importlib.util.find_spec(name) is None]:
        print("missing:", *missing, flush=True)
        return EXIT_MISSING
    try:
        files = list(weight_files(source))
        names = vocabulary_names(files)
        have = rows_now(names)
        changed: dict[str, list[int]] = {}
        grown = 0
        for file in files:
            if names[file]:
                grown += rewrite(file, names[file], out, have, rows)
                changed |= {name: [have, rows] for name in names[file]}
            else:
                shutil.copyfile(file, out / file.name)
        write_config(source, out, rows)
        copy_rest(source, out, files)
        correct_index(out, grown)
    except Refused as refused:
        print(f"refused: {refused}", flush=True)
        return EXIT_REFUSED
    print(json.dumps({"changed": changed}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
