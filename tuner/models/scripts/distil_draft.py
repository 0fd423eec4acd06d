"""Distil a shallow draft from a target's own answers: no data set is needed. Runs in the engine's Python, on a GPU.

    python -I distil_draft.py TARGET OUT.npz [--layers 4] [--seconds 370] [--held-out eval_sets/chat.jsonl ...]

The draft has a few layers and the target's own embeddings, which are not trained and not kept. The target makes up
conversations: it is given the start of a user's turn, goes on by itself, and answers at a temperature of its own for
each. The draft starts from evenly spaced layers of the target and learns its next-token distribution: Kullback-Leibler
divergence, half the cross entropy of the target's first choice, and a tenth of the distance of the last hidden states.

OUT.npz gets the layers in 8 bits, one scale a row; OUT.json beside it how they were made, and how often the draft's
first choice is the target's own in greedy answers to prompts that it was not trained on.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

OPENINGS = (
    "What How Why Write Explain Can Give List Describe Translate Summarize Solve Calculate Find Create Compare "
    "Please I Tell Who Where When Which Is Are Do Does In The A My Generate Convert Extract Rewrite Complete "
    "Design Implement Use Make Provide Name def import class # Consider Suppose If Classify Identify Answer Read "
    "Given From For Let Help Should Would Could Imagine Python JavaScript SQL Text Passage Question Article Story "
    "Email"
)
TEMPERATURES = (1e-4, 1e-4, 0.5, 0.8, 1.0)
KEPT_ROUNDS = 12
"""Rounds of conversations to train on; older ones go."""
LAST_ROUND_AT = 0.75
"""Share of the time after which no more conversations are made."""
LONGEST = 7
"""Positions of a chain of drafted tokens that are counted."""

Model = Any
Tensor = Any
AnyModel: Any = AutoModelForCausalLM  # its type hints are not of use


@dataclass(frozen=True)
class Settings:
    """seconds: of making conversations and training.  making: share of them for the former.

    conversations: of a round, `length` tokens each.  rows: conversations a training step.
    """

    layers: int = 4
    seconds: float = 370.0
    making: float = 0.4
    conversations: int = 3072
    length: int = 320
    rows: int = 64
    learning_rate: float = 1.5e-3
    seed: int = 0


@dataclass(frozen=True)
class Frame:
    """What surrounds a user's turn, as token ids: head, turn, tail, answer."""

    head: tuple[int, ...]
    tail: tuple[int, ...]
    openings: tuple[int, ...]


def frame_of(tokenizer: Any) -> Frame:
    """Return the chat template's tokens around a turn, and the first token of each opening."""
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "@@"}], tokenize=False, add_generation_prompt=True
    )

    def ids(part: str) -> tuple[int, ...]:
        return tuple(tokenizer(part, add_special_tokens=False).input_ids)

    head, tail = text.split("@@")
    return Frame(ids(head), ids(tail), tuple(ids(word)[0] for word in OPENINGS.split()))


@torch.no_grad()
def conversations(target: Model, frame: Frame, settings: Settings, random: Any) -> Tensor:
    """Return token ids of shape (conversations, length), sampled from the target; a turn ends by itself or is ended."""
    n, device = settings.conversations, random.device
    openings = torch.tensor(frame.openings, device=device)
    tail = torch.tensor(frame.tail, device=device)
    ids = torch.cat(
        [
            torch.tensor(frame.head, device=device).expand(n, -1),
            openings[torch.randint(len(openings), (n, 1), generator=random, device=device)],
        ],
        dim=1,
    )
    choice = torch.randint(len(TEMPERATURES), (n,), generator=random, device=device)
    answering = torch.tensor(TEMPERATURES, device=device)[choice]
    longest_turn = torch.randint(6, 48, (n,), generator=random, device=device)
    place = torch.full((n,), -1, device=device)  # in the tail that is fed; -1: in the user's turn
    said, past, step = [ids], None, ids
    for count in range(1, settings.length - ids.shape[1] + 1):
        out = target(input_ids=step, past_key_values=past, use_cache=True, logits_to_keep=1)
        past = out.past_key_values
        temperature = torch.where(place < 0, torch.ones_like(answering), answering)
        chosen = sample(out.logits[:, -1].float() / temperature[:, None], random)
        ends = (place < 0) & ((chosen == tail[0]) | (count >= longest_turn))
        place = torch.where(ends, 0, place)
        fed = (place >= 0) & (place < len(tail))
        chosen = torch.where(fed, tail[place.clamp(0, len(tail) - 1)], chosen)
        place = torch.where(fed, place + 1, place)
        step = chosen[:, None]
        said.append(step)
    return torch.cat(said, dim=1).to(torch.int32).cpu()


def sample(logits: Tensor, random: Any) -> Tensor:
    """Return one token a row, by the Gumbel-max trick: no probabilities are normalised."""
    uniform = torch.rand(logits.shape, generator=random, device=logits.device)
    return (logits - torch.log(-torch.log(uniform.clamp_(1e-9, 1 - 1e-7)))).argmax(-1)


def draft_of(target: Model, path: str, layers: int) -> Model:
    """Return a model of so many evenly spaced layers of the target, in float32; its embeddings are not trained."""
    config = AutoConfig.from_pretrained(path)
    last = config.num_hidden_layers - 1
    picked = [round(i * last / max(layers - 1, 1)) for i in range(layers)]
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]
    draft = AnyModel.from_config(config, dtype=torch.float32)
    known = target.state_dict()

    def source(name: str) -> str:
        before, middle, after = name.partition(".layers.")
        number, dot, rest = after.partition(".")
        return f"{before}{middle}{picked[int(number)]}{dot}{rest}" if middle else name

    draft.load_state_dict({name: known[source(name)].float() for name in draft.state_dict()})
    draft.get_input_embeddings().requires_grad_(False)
    return draft.to(target.device)


def loss_of(target: Model, draft: Model, rows: Tensor, skip: int) -> Tensor:
    """Return the loss over all tokens after the first `skip`, which are the same in every conversation."""
    with torch.no_grad():
        hidden = target.model(input_ids=rows).last_hidden_state[:, skip:-1]
        wanted = target.lm_head(hidden).float().log_softmax(-1)
    with torch.autocast(rows.device.type, dtype=torch.bfloat16, enabled=rows.device.type == "cuda"):
        own = draft.model(input_ids=rows).last_hidden_state[:, skip:-1]
        logits = draft.lm_head(own)
    given = logits.float().log_softmax(-1)
    divergence = (wanted.exp() * (wanted - given)).sum(-1).mean()
    first_choice = F.nll_loss(given.flatten(0, 1), wanted.argmax(-1).flatten())
    return divergence + 0.5 * first_choice + 0.1 * F.smooth_l1_loss(own.float(), hidden.float())


def train(target: Model, draft: Model, frame: Frame, settings: Settings, say: Callable[..., None]) -> dict[str, Any]:
    """Make conversations and learn from them in turn until the time is over; return what was done."""
    random = torch.Generator(device=target.device).manual_seed(settings.seed)
    trained = [parameter for parameter in draft.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=settings.learning_rate, betas=(0.9, 0.95), weight_decay=0.01)
    began, making_s, training_s, steps, made = time.monotonic(), 0.0, 0.0, 0, 0
    rounds: list[Tensor] = []

    def over() -> float:
        return (time.monotonic() - began) / settings.seconds

    while over() < 1:
        started = time.monotonic()
        behind = making_s < settings.making * (making_s + training_s) and over() < LAST_ROUND_AT
        if not rounds or behind:
            rounds = [*rounds, conversations(target, frame, settings, random)][-KEPT_ROUNDS:]
            made += rounds[-1].numel()
            making_s += time.monotonic() - started
        started, pool = time.monotonic(), torch.cat(rounds)
        for _ in range(max(1, settings.conversations // settings.rows)):
            rows = pool[torch.randint(len(pool), (settings.rows,))].to(target.device).long()
            for group in optimiser.param_groups:
                group["lr"] = rate(settings.learning_rate, steps, min(1.0, over()))
            loss = loss_of(target, draft, rows, len(frame.head))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
            steps += 1
        training_s += time.monotonic() - started
        say(f"{over():.0%}: {steps} steps, {made} tokens made, loss {float(loss):.3f}")
    return {"steps": steps, "tokens": steps * settings.rows * settings.length, "made": made}


def rate(largest: float, step: int, over: float) -> float:
    """Return the learning rate: up within 100 steps, then down along a cosine to 2 % when the time is over."""
    return largest * min(1.0, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * over)))


@torch.no_grad()
def greedy_answers(target: Model, tokenizer: Any, prompts: Sequence[Any], tokens: int) -> list[tuple[Tensor, int]]:
    """Return for each prompt its ids with the target's greedy answer, and how many of them are the prompt's."""
    answers = []
    for messages in prompts:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).to(target.device)
        out = target.generate(**ids, max_new_tokens=tokens, do_sample=False, pad_token_id=tokenizer.eos_token_id)
        answers.append((out[0], ids.input_ids.shape[1]))
    return answers


@torch.no_grad()
def agreement(draft: Model, answers: Sequence[tuple[Tensor, int]]) -> dict[str, Any]:
    """Return how often the draft's first choice is the target's token, and how often a chain holds up to each position.

    by_position: unconditional acceptance of greedy drafting, a new chain after each token that the target verified.
    """
    hits = []
    for ids, prompt in answers:
        given = draft(input_ids=ids[None]).logits[0, prompt - 1 : -1].argmax(-1)
        hits.append((given == ids[prompt:]).tolist())
    counts, chains = [0] * LONGEST, 0
    for row in hits:
        at = 0
        while at + LONGEST < len(row):
            run = next((i for i in range(LONGEST) if not row[at + i]), LONGEST)
            counts = [count + (i < run) for i, count in enumerate(counts)]
            chains, at = chains + 1, at + run + 1
    tokens = sum(map(len, hits))
    by_position = [round(count / max(chains, 1), 4) for count in counts]
    return {"agree": round(sum(map(sum, hits)) / max(tokens, 1), 4), "by_position": by_position, "tokens": tokens}


def in_8_bits(weights: dict[str, Tensor]) -> dict[str, Any]:
    """Return each matrix as int8 with one float16 scale a row, `NAME.scale`; vectors as float16."""
    kept = {}
    for name, exact in weights.items():
        if exact.dim() < 2:
            kept[name] = exact.half().numpy()
            continue
        scale = (exact.abs().amax(1, keepdim=True) / 127).half().float().clamp_min(1e-8)
        kept[name] = (exact / scale).round().clamp(-127, 127).to(torch.int8).numpy()
        kept[f"{name}.scale"] = scale.half().numpy()
    return kept


def own_layers(draft: Model) -> dict[str, Tensor]:
    """Return what the draft does not share with its target."""
    shared = ("embed_tokens", "lm_head")
    return {
        name: tensor.detach().float().cpu()
        for name, tensor in draft.state_dict().items()
        if not any(part in name for part in shared)
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Distil, write, and say how good it is."""
    parser = argparse.ArgumentParser(prog="distil_draft.py")
    parser.add_argument("target")
    parser.add_argument("out", type=Path)
    parser.add_argument("--held-out", nargs="*", type=Path, default=[])
    parser.add_argument("--answer-tokens", type=int, default=128)
    for name, value in asdict(Settings()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    args = parser.parse_args(argv)
    settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(settings.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.target)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    target = AnyModel.from_pretrained(args.target, dtype=dtype).to(device).eval()
    draft = draft_of(target, args.target, settings.layers)
    done = train(target, draft, frame_of(tokenizer), settings, lambda line: print(line, flush=True))
    kept = in_8_bits(own_layers(draft))
    np.savez(args.out, **kept)
    held_out = {}
    for path in args.held_out:
        prompts = [json.loads(line)["messages"] for line in path.read_text(encoding="utf-8").splitlines()]
        held_out[path.stem] = agreement(draft.eval(), greedy_answers(target, tokenizer, prompts, args.answer_tokens))
    made = {"settings": asdict(settings), **done, "held_out": held_out}
    args.out.with_suffix(".json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
