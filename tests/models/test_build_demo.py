"""The arithmetic of the demo models, on a tiny random Llama in the engine's Python."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.models.in_engine import tried
from tuner.models import SCRIPT, build_demo

# torch stays out of this process, as it does in the tuner's: the script is loaded and tried in one of its own.
TRIAL = """
import importlib.util, json, numpy, pathlib, sys, torch, transformers
spec = importlib.util.spec_from_file_location("build_demo", sys.argv[1])
build = importlib.util.module_from_spec(spec); spec.loader.exec_module(build)
out = pathlib.Path(sys.argv[2])
torch.manual_seed(0)
config = transformers.LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=True,
    initializer_range=0.2)
tiny = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
weights = {k: v for k, v in tiny.state_dict().items() if k != "lm_head.weight"}
settings = build.portable_config(config.to_dict())
tokens = torch.randint(0, 128, (1, 24), generator=torch.Generator().manual_seed(1))
recipe = {"good_noise": 0.02, "weak_noise": 0.5, "seed": 1, "target_ffn_factor": 3}
layers = {k: v for k, v in weights.items() if ".layers.0." in k or k == "model.norm.weight"}
exact = layers["model.layers.0.mlp.up_proj.weight"].float()
scale = (exact.abs().amax(1, keepdim=True) / 127).half()
numpy.savez(out / "kept.npz", up=(exact / scale.float()).round().to(torch.int8).numpy(),
    norm=layers["model.norm.weight"].half().numpy(), **{"up.scale": scale.numpy()})
read = build.load_layers(out / "kept.npz")
logits, parameters = {}, {}
for name, its_weights, its_settings in build.variants(weights, settings, recipe, layers):
    build.write_model(out / name, its_weights, its_settings, None)
    model = transformers.AutoModelForCausalLM.from_pretrained(out / name, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        logits[name] = model(tokens).logits[0].float()
    parameters[name] = sum(p.numel() for p in model.parameters())
again = build.add_noise(dict(reversed(weights.items())), 0.02, 1)
good = build.add_noise(weights, 0.02, 1)
q = "model.layers.1.mlp.up_proj.weight"
spread = weights[q].float().std()
print(json.dumps({
    "parameters": parameters,
    "scale": logits["original"].abs().max().item(),
    "off": {k: (v - logits["original"]).abs().max().item() for k, v in logits.items()},
    "agree": {k: (v.argmax(-1) == logits["original"].argmax(-1)).float().mean().item() for k, v in logits.items()},
    "repeatable": all(torch.equal(again[k], good[k]) for k in weights),
    "noise": ((build.add_noise(weights, 0.5, 1)[q].float() - weights[q].float()).std() / spread).item(),
    "untouched": all(torch.equal(good[k], weights[k]) for k in weights if "proj" not in k),
    "read": sorted(read),
    "rounding": ((read["up"].float() - exact).abs() / exact.abs().amax(1, keepdim=True)).max().item(),
    "theta": build.portable_config({"rope_theta": 5.0})["rope_parameters"]["rope_theta"],
}))
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return tried(TRIAL, SCRIPT, tmp_path_factory.mktemp("tiny"))


def test_the_target_computes_the_same_function_at_a_higher_cost(trial: dict[str, Any]) -> None:
    muted_units = 2 * 3 * 64 * 96 * (3 - 1)  # layers x matrices x hidden x added width
    assert trial["parameters"]["target"] - trial["parameters"]["original"] == muted_units
    assert trial["off"]["target"] <= 2**-7 * trial["scale"]  # one bf16 rounding step
    assert trial["agree"]["target"] == 1.0


def test_more_noise_makes_a_worse_draft_of_the_same_size(trial: dict[str, Any]) -> None:
    off = trial["off"]
    assert off["original"] == 0.0
    assert 0.0 < off["good"] < off["weak"]
    assert trial["agree"]["weak"] < trial["agree"]["good"]
    assert trial["parameters"]["good"] == trial["parameters"]["weak"] == trial["parameters"]["original"]


def test_a_draft_of_some_layers_shares_the_embeddings(trial: dict[str, Any]) -> None:
    one_layer = trial["parameters"]["original"] - trial["parameters"]["shallow"]
    assert one_layer == 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64  # attention, MLP, norms
    assert trial["off"]["shallow"] > 0.0


def test_layers_in_8_bits_are_read_to_within_their_rounding(trial: dict[str, Any]) -> None:
    assert trial["read"] == ["norm", "up"]
    assert 0.0 < trial["rounding"] < 0.5 / 127 + 2**-8


def test_noise_is_a_share_of_each_matrix_and_repeats_exactly(trial: dict[str, Any]) -> None:
    assert trial["noise"] == pytest.approx(0.5, rel=0.05)
    assert trial["repeatable"] and trial["untouched"]


def test_a_config_of_transformers_4_keeps_its_rotary_base(trial: dict[str, Any]) -> None:
    assert trial["theta"] == 5.0


# Loads what was built from the real weights, with nothing but the directory's files.
CHECK = """
import json, pathlib, sys, torch, transformers
root = pathlib.Path(sys.argv[1])
load = lambda name: transformers.AutoModelForCausalLM.from_pretrained(root / name, dtype=torch.bfloat16).eval()
tokenizer = transformers.AutoTokenizer.from_pretrained(root / "target")
chat = [{"role": "user", "content": "What is the capital of France?"}]
text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
ids = tokenizer(text, return_tensors="pt").input_ids
original = load("original")
answer = original.generate(ids, max_new_tokens=32, do_sample=False)
result = {"answer": tokenizer.decode(answer[0, ids.shape[1]:])}
with torch.no_grad():
    expected = original(answer).logits[0].float()
    for name in ("target", "good", "weak", "shallow"):
        found = load(name)(answer).logits[0].float()
        result[name] = {"off": (found - expected).abs().max().item(), "scale": expected.abs().max().item(),
            "agree": (found.argmax(-1) == expected.argmax(-1)).float().mean().item()}
print(json.dumps(result))
"""


@pytest.mark.real
def test_the_real_models_answer_as_promised(tmp_path: Path) -> None:
    lines: list[str] = []
    built = build_demo(sys.executable, tmp_path / "demo", lines.append)
    command = [sys.executable, "-c", CHECK, str(built.directory)]
    done = subprocess.run(command, capture_output=True, text=True, env={"HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert "Paris" in result["answer"] and result["answer"].endswith("<|im_end|>")
    assert result["target"]["off"] <= 2**-4 * result["target"]["scale"]
    assert result["target"]["agree"] > 0.95
    assert result["target"]["agree"] >= result["good"]["agree"] > result["weak"]["agree"]
    assert result["shallow"]["agree"] > 0.4
    provenance = json.loads((built.directory / "PROVENANCE.json").read_text())
    assert provenance["licence"] == "Apache-2.0" and "torch" in provenance["versions"]
    assert "Apache License" in (built.directory / "LICENSE").read_text()
    assert "stands in for a larger model" in (built.directory / "NOTICE").read_text()
    assert lines[0].startswith("converting")
