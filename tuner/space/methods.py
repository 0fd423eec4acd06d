"""Methods of speculative decoding: one row each, and what is checked before an engine starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tuner.records import Json, Speculation
from tuner.space.options import DRAFT, DRAFT_MODEL, DSPARK, EAGLE, LOOKUP, MTP, SUFFIX, VERIFICATION, Option
from tuner.space.versions import parse_release, release

Check = Callable[[Mapping[str, Json], Sequence[int]], tuple[str, str] | None]
"""From options and every K: the option at fault and what is wrong with it, or None."""


class ModelNeed(StrEnum):
    """Whether a method loads a draft."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


@dataclass(frozen=True)
class Method:
    """One method.

    model: of draft; `model_words` says what has to stand there.  first, last: releases that have it (last None: still
    there); gap: releases between that do not.  builds: engine builds that can run it.  chain_drafter: acceptance at a
    smaller K follows from a run at a larger one, because a draft token never depends on how many follow.
    schedules: the engine tells the proposer how many tokens to propose in each step, as a K schedule needs.
    """

    model: ModelNeed
    options: Mapping[str, Option]
    first: str = "0.8.5"
    last: str | None = None
    gap: tuple[str, str] | None = None
    builds: frozenset[str] = frozenset({"cpu", "cuda", "sim"})
    chain_drafter: bool = False
    schedules: bool = True
    model_words: str = "a model directory or hub id"
    checks: tuple[Check, ...] = ()


def _lookup_window(options: Mapping[str, Json], _: Sequence[int]) -> tuple[str, str] | None:
    # vLLM: with one of the two given the other equals it; with neither both are 5.
    low, high = options.get("prompt_lookup_min"), options.get("prompt_lookup_max")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        return "prompt_lookup_min", f"{low} must not be above prompt_lookup_max, {high}"
    return None


def _synthetic(options: Mapping[str, Json], ks: Sequence[int]) -> tuple[str, str] | None:
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


def _heterogeneous(options: Mapping[str, Json], _: Sequence[int]) -> tuple[str, str] | None:
    if options.get("use_heterogeneous_vocab") is not True:
        return None
    if options.get("draft_sample_method", "greedy") != "greedy":
        return "draft_sample_method", "must be greedy with use_heterogeneous_vocab"
    if options.get("use_local_argmax_reduction") is True:
        return "use_local_argmax_reduction", "cannot be combined with use_heterogeneous_vocab"
    return None


def _fly(options: Mapping[str, Json], ks: Sequence[int]) -> tuple[str, str] | None:
    if options.get("rejection_sample_method") == "fly" and min(ks) < 2:
        return "rejection_sample_method", "fly needs K of 2 or more"
    return None


_ALL: tuple[Check, ...] = (_synthetic, _fly)
_WITH_MODEL = {**VERIFICATION, **DRAFT}
_GPU = frozenset({"cuda", "sim"})

METHODS: Mapping[str, Method] = {
    "draft_model": Method(
        ModelNeed.REQUIRED,
        {**_WITH_MODEL, **DRAFT_MODEL},
        gap=("0.10.0", "0.14.1"),
        chain_drafter=True,
        checks=(*_ALL, _heterogeneous),
    ),
    "ngram": Method(ModelNeed.NONE, {**VERIFICATION, **LOOKUP}, checks=(*_ALL, _lookup_window)),
    "ngram_gpu": Method(
        ModelNeed.NONE, {**VERIFICATION, **LOOKUP}, first="0.18.0", builds=_GPU, checks=(*_ALL, _lookup_window)
    ),
    "eagle": Method(
        ModelNeed.REQUIRED,
        {**_WITH_MODEL, **EAGLE},
        chain_drafter=True,
        model_words="an EAGLE head trained for this target",
        checks=_ALL,
    ),
    "eagle3": Method(
        ModelNeed.REQUIRED,
        {**_WITH_MODEL, **EAGLE},
        chain_drafter=True,
        model_words="an EAGLE-3 head trained for this target",
        checks=_ALL,
    ),
    "mtp": Method(ModelNeed.OPTIONAL, {**_WITH_MODEL, **MTP}, first="0.11.0", chain_drafter=True, checks=_ALL),
    "dflash": Method(
        ModelNeed.REQUIRED,
        _WITH_MODEL,
        first="0.20.0",
        model_words="a DFlash draft trained for this target",
        checks=_ALL,
    ),
    # By code it needs the V2 model runner, which the CPU build does not have.
    "dspark": Method(ModelNeed.OPTIONAL, {**_WITH_MODEL, **DSPARK}, first="0.25.0", builds=_GPU, checks=_ALL),
    "suffix": Method(ModelNeed.NONE, {**VERIFICATION, **SUFFIX}, first="0.11.1", checks=_ALL),
    "custom_class": Method(
        ModelNeed.REQUIRED,
        VERIFICATION,
        first="0.22.0",
        schedules=False,
        model_words="the dotted import path of a proposer class",
        checks=_ALL,
    ),
    "medusa": Method(ModelNeed.REQUIRED, _WITH_MODEL, last="0.32.0", checks=_ALL),
    "mlp_speculator": Method(ModelNeed.REQUIRED, _WITH_MODEL, last="0.32.0", checks=_ALL),
}

LOSSY = frozenset({"fly", "typical_acceptance_sampler"})
SUFFIX_CACHE = "suffix_decoding_max_cached_requests"


def speculative_config(spec: Speculation) -> dict[str, Json]:
    """Return the value of vLLM's --speculative-config.

    The method is always written: without it vLLM guesses one from the path's name. The draft is written as it stands.
    Suffix decoding learns no answers unless told to: every repeat sends the same prompts, and it would know them.
    """
    config: dict[str, Json] = {"method": spec.method, "num_speculative_tokens": spec.num_speculative_tokens}
    if spec.draft is not None:
        config["model"] = spec.draft
    if spec.method == "suffix":
        config[SUFFIX_CACHE] = 0
    return {**config, **spec.options}


def option_problem(method: Method, options: Mapping[str, Json], ks: Sequence[int]) -> tuple[str, str] | None:
    """Return the first option at fault and what is wrong with it; None if all are fine. Names must be known ones."""
    for name, value in options.items():
        if problem := method.options[name].problem(value):
            return name, f"{problem}, not {value!r}"
    return next((found for check in method.checks if (found := check(options, ks))), None)


def unavailable(spec: Speculation, version: str, build: str) -> str | None:
    """Return why the engine cannot run this setting, None if by the tables it can.

    version: of vLLM.  build: "cpu", "cuda" or "sim" (the simulated engine stands for a GPU build).
    """
    method = METHODS[spec.method]
    here = release(version)
    if here < release(method.first):
        return f"vLLM {version} does not have method {spec.method}; it came with {method.first}"
    if method.last and here > release(method.last):
        return f"vLLM {version} no longer has method {spec.method}; the last release with it is {method.last}"
    if method.gap and release(method.gap[0]) <= here <= release(method.gap[1]):
        return f"vLLM {method.gap[0]} to {method.gap[1]} do not have method {spec.method}, and this is {version}"
    if build not in method.builds:
        return f"method {spec.method} does not run on the {build} build of vLLM"
    return _option_unavailable(method, spec.options, version)


def _option_unavailable(method: Method, options: Mapping[str, Json], version: str) -> str | None:
    here = release(version)
    for name in options:
        row = method.options.get(name)
        if row and here < release(row.since):
            return f"vLLM {version} does not have the option {name}; it came with {row.since}"
        if row and row.until and here > release(row.until):
            return f"vLLM {version} no longer has the option {name}; the last release with it is {row.until}"
    return _value_unavailable(options, version)


def _value_unavailable(options: Mapping[str, Json], version: str) -> str | None:
    """The values of two options changed names between releases."""
    here = release(version)
    for name, value, first, last in VALUE_RELEASES:
        if options.get(name) == value and not release(first) <= here <= (parse_release(last or "") or here):
            until = f" to {last}" if last else " on"
            return f"vLLM {version} does not have {name}: {value}; releases with it: {first}{until}"
    return None


VALUE_RELEASES: tuple[tuple[str, str, str, str | None], ...] = (
    ("rejection_sample_method", "strict", "0.18.0", "0.20.2"),
    ("rejection_sample_method", "probabilistic", "0.18.0", "0.20.2"),
    ("rejection_sample_method", "standard", "0.21.0", None),
    ("rejection_sample_method", "synthetic", "0.19.0", None),
    ("rejection_sample_method", "block", "0.25.0", None),
    ("rejection_sample_method", "fly", "0.33.0", None),
    ("draft_sample_method", "gumbel", "0.21.0", "0.21.0"),
    ("draft_sample_method", "probabilistic", "0.22.0", None),
)
"""Option, value, first and last release that takes it."""


def undeployable(spec: Speculation) -> str | None:
    """Return why this setting may be measured and never deployed, None if it may be."""
    for name in ("rejection_sample_method", "acceptance_method"):
        value = spec.options.get(name)
        if value == "synthetic":
            return f"{name}: synthetic accepts tokens by chance, whatever the target says"
        if value in LOSSY:
            return f"{name}: {value} changes what the target would have answered"
    if spec.method == "suffix" and spec.options.get(SUFFIX_CACHE, 0) != 0:
        return (
            f"{SUFFIX_CACHE}: {spec.options[SUFFIX_CACHE]} learns the measured prompts, which every repeat sends again"
        )
    return None
