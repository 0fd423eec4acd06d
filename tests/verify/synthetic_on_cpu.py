"""A vLLM plugin: `rejection_sample_method: synthetic` for the CPU build, whose own kernel refuses it.

Everything else stays the engine's: its configuration turns the set profile into conditional rates, it draws the uniform
numbers, its scheduler counts what was drafted and accepted. Only the loop that accepts a draft token if its number is
below its rate is written here once more, after the Triton kernel `rejection_greedy_sample_kernel` of vLLM 0.32.
Runs inside the engine; greedy requests only.
"""

from __future__ import annotations

from typing import Any

SYNTHETIC_MODE = 9
"""Place of that argument in the kernel's list."""


def register() -> None:
    """Replace the CPU build's stand-in for the Triton kernel; vLLM calls this before it registers its stand-ins."""
    from vllm.utils import cpu_triton_utils

    own: Any = cpu_triton_utils._rejection_greedy_sample_kernel_impl

    def kernel(*arguments: Any) -> None:
        if len(arguments) > SYNTHETIC_MODE and arguments[SYNTHETIC_MODE]:
            accept_by_chance(*arguments[:SYNTHETIC_MODE])
        else:
            own(*arguments)

    cpu_triton_utils._rejection_greedy_sample_kernel_impl = kernel


def accept_by_chance(
    output: Any,
    ends: Any,
    drafted: Any,
    argmax: Any,
    bonus: Any,
    is_greedy: Any,
    max_spec_len: int,
    uniform: Any,
    rates: Any,
) -> None:
    """Write each request's tokens into its row of `output` (requests x max_spec_len + 1, token ids).

    ends: where each request's drafts end among all.  uniform: a number in [0, 1) for each draft token.  rates: the
    probability that the token at a position is accepted, given that those before it were.  is_greedy: one per request,
    None if all are.
    """
    start = 0
    for request, end in enumerate(ends.tolist()):
        if is_greedy is None or bool(is_greedy[request]):
            tokens = accepted(drafted[start:end].tolist(), uniform[start:end].tolist(), rates.tolist())
            last = bonus.reshape(-1)[request] if len(tokens) == end - start else argmax[start + len(tokens)]
            for position, token in enumerate([*tokens, int(last)]):
                output[request, position] = token
        start = end


def accepted(drafted: list[int], uniform: list[float], rates: list[float]) -> list[int]:
    """Return the draft tokens before the first that is rejected; -1 stands for no token and is always rejected."""
    kept: list[int] = []
    for token, number, rate in zip(drafted, uniform, rates, strict=False):
        if token < 0 or number >= rate:
            break
        kept.append(token)
    return kept
