"""What one speculative option says against another: pure checks that the rows of methods.py name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tuner.records import Json

Check = Callable[[Mapping[str, Json], Sequence[int]], tuple[str, str] | None]
"""From options and every K: the option at fault and what is wrong with it, or None."""


def lookup_window(options: Mapping[str, Json], _: Sequence[int]) -> tuple[str, str] | None:
    """The shortest n-gram may not be longer than the longest.

    vLLM: with one of the two given the other equals it; with neither both are 5.
    """
    low, high = options.get("prompt_lookup_min"), options.get("prompt_lookup_max")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        return "prompt_lookup_min", f"{low} must not be above prompt_lookup_max, {high}"
    return None


def synthetic(options: Mapping[str, Json], ks: Sequence[int]) -> tuple[str, str] | None:
    """Synthetic acceptance needs exactly one profile, which fits every K."""
    given = [name for name in options if name.startswith("synthetic_acceptance_")]
    if options.get("rejection_sample_method") != "synthetic":
        return (given[0], "needs rejection_sample_method: synthetic") if given else None
    if len(given) != 1:
        return (
            "rejection_sample_method",
            "synthetic needs either synthetic_acceptance_rates or synthetic_acceptance_length",
        )
    rates, length = options.get("synthetic_acceptance_rates"), options.get("synthetic_acceptance_length")
    if isinstance(rates, list) and any(len(rates) != k for k in ks):
        return "synthetic_acceptance_rates", f"has {len(rates)} entries, and must have K; K is {list(ks)}"
    if isinstance(length, int | float) and any(length > k + 1 for k in ks):
        return "synthetic_acceptance_length", f"{length} is more than K + 1 = {min(ks) + 1} tokens a step"
    return None


def heterogeneous(options: Mapping[str, Json], _: Sequence[int]) -> tuple[str, str] | None:
    """Drafts with a vocabulary of their own are sampled greedily, from whole logits."""
    if options.get("use_heterogeneous_vocab") is not True:
        return None
    if options.get("draft_sample_method", "greedy") != "greedy":
        return "draft_sample_method", "must be greedy with use_heterogeneous_vocab"
    if options.get("use_local_argmax_reduction") is True:
        return "use_local_argmax_reduction", "cannot be combined with use_heterogeneous_vocab"
    return None


def fly(options: Mapping[str, Json], ks: Sequence[int]) -> tuple[str, str] | None:
    """The lossy verification `fly` looks past a rejected token at those behind it, within what was drafted."""
    given = [name for name in options if name.startswith("fly_")]
    if options.get("rejection_sample_method") != "fly":
        return (given[0], "needs rejection_sample_method: fly") if given else None
    if min(ks) < 2:
        return "rejection_sample_method", "fly needs K of 2 or more"
    window = options.get("fly_window_size")
    if isinstance(window, int) and window >= min(ks):
        return "fly_window_size", f"{window} must be below K, and the smallest K is {min(ks)}"
    if options.get("use_local_argmax_reduction") is True:
        return "use_local_argmax_reduction", "cannot be combined with rejection_sample_method: fly"
    return None


def typical(options: Mapping[str, Json], _: Sequence[int]) -> tuple[str, str] | None:
    """The thresholds of typical acceptance do nothing under exact verification."""
    given = [name for name in options if name.startswith("posterior_")]
    if given and options.get("acceptance_method") != "typical_acceptance_sampler":
        return given[0], "needs acceptance_method: typical_acceptance_sampler"
    return None
