"""The distilling script, on a tiny random Llama in the engine's Python."""

from typing import Any

import pytest

from tests.models.in_engine import tried
from tuner.models import SCRIPT

DISTIL = SCRIPT.parent / "distil_draft.py"

TRIAL = """
import importlib.util, json, pathlib, sys, tokenizers, torch, transformers
spec = importlib.util.spec_from_file_location("distil_draft", sys.argv[1])
distil = importlib.util.module_from_spec(spec); sys.modules["distil_draft"] = distil; spec.loader.exec_module(distil)
out = pathlib.Path(sys.argv[2])
torch.manual_seed(0)
config = transformers.LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True,
    initializer_range=0.2)
target = transformers.LlamaForCausalLM(config).eval()
target.save_pretrained(out / "target")
frame = distil.Frame(head=(7, 8), tail=(1, 2, 3), openings=(20, 21))
settings = distil.Settings(layers=2, seconds=6.0, conversations=16, length=60, rows=8)
random = torch.Generator().manual_seed(0)
said = distil.conversations(target, frame, settings, random).tolist()
whole = distil.draft_of(target, str(out / "target"), 3).eval()
draft = distil.draft_of(target, str(out / "target"), 2)
held = distil.conversations(target, frame, settings, random).long()
before = distil.loss_of(target, draft, held, 2).item()
done = distil.train(target, draft, frame, settings, lambda line: None)
after = distil.loss_of(target, draft, held, 2).item()
layers = distil.own_layers(draft)
kept = distil.in_8_bits(layers)
matrix = "model.layers.0.mlp.up_proj.weight"
back = torch.tensor(kept[matrix]).float() * torch.tensor(kept[matrix + ".scale"]).float()

class Always:
    def __call__(self, input_ids):
        return type("Out", (), {"logits": torch.nn.functional.one_hot(torch.full(input_ids.shape, 5), 9).float()})

row = torch.tensor([0, 0, 5, 5, 6, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6])
print(json.dumps({
    "said": said,
    "same": max((a - b).abs().max().item() for a, b in zip(whole.state_dict().values(), target.state_dict().values())),
    "before": before, "after": after, "done": done,
    "names": sorted(layers),
    "rounding": ((back - layers[matrix]).abs().amax(1) / layers[matrix].abs().amax(1)).max().item(),
    "embeddings": torch.equal(draft.get_input_embeddings().weight, target.get_input_embeddings().weight),
    "by_hand": distil.agreement(Always(), [(row, 2)]),
    "rates": [distil.rate(1.0, 0, 0.0), distil.rate(1.0, 99, 0.0), distil.rate(1.0, 500, 1.0)],
}))
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return tried(TRIAL, DISTIL, tmp_path_factory.mktemp("distil"))


def test_a_conversation_has_the_frame_around_a_turn(trial: dict[str, Any]) -> None:
    for row in trial["said"]:
        assert len(row) == 60 and row[:2] == [7, 8] and row[2] in (20, 21)
        turn_ends = row.index(1, 3)
        assert row[turn_ends : turn_ends + 3] == [1, 2, 3] and turn_ends < 3 + 48


def test_a_draft_of_all_layers_is_the_target(trial: dict[str, Any]) -> None:
    assert trial["same"] == 0.0


def test_training_lowers_the_loss_and_leaves_the_embeddings(trial: dict[str, Any]) -> None:
    assert trial["after"] < trial["before"]
    assert trial["embeddings"] and not any("embed" in name for name in trial["names"])
    assert trial["done"]["tokens"] == trial["done"]["steps"] * 8 * 60 > 0


def test_8_bits_round_to_half_a_step_of_the_largest_in_a_row(trial: dict[str, Any]) -> None:
    assert 0.0 < trial["rounding"] < 0.51 / 127


def test_agreement_by_hand(trial: dict[str, Any]) -> None:
    """Tokens 5 5 6 5 5 5 5 5 5 5 5 5 6, always guessed 5: chains begin at 0 (2 right) and at 3 (7 right)."""
    found = trial["by_hand"]
    assert found["tokens"] == 13 and found["agree"] == pytest.approx(11 / 13, abs=1e-4)
    assert found["by_position"] == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_the_rate_goes_up_and_down(trial: dict[str, Any]) -> None:
    assert trial["rates"] == pytest.approx([0.01, 1.0, 0.02])
