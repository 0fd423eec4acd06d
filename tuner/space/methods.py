"""Methods of speculative decoding: one row each, and what is checked before an engine starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tuner.records import Json, Speculation
from tuner.space.method_checks import Check, fly, heterogeneous, lookup_window, synthetic, typical
from tuner.space.options import BLOCK, DRAFT, DRAFT_MODEL, DSPARK, EAGLE, LOOKUP, MTP, SUFFIX, VERIFICATION, Option


class ModelNeed(StrEnum):
    """Whether a method loads a draft."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


@dataclass(frozen=True)
class Package:
    """A Python package that the engine's environment needs for a method.  module: what is imported of it."""

    name: str
    module: str
    install: str


@dataclass(frozen=True)
class Method:
    """One method.

    summary: in words, for tables.  model: of draft; `model_words` says what has to stand there, `model_pattern` is a
    regular expression for what is no path.  first, last: releases that have it (last None: still there); gap: first
    and last release between that do not.  builds: engine builds that can run it; cpu_gap: releases whose CPU build
    cannot.  chain_drafter: acceptance at a smaller K follows from a run at a larger one, because a draft token never
    depends on how many follow.  schedules: the engine tells the proposer how many tokens to propose in each step, as a
    K schedule needs.  async_first: first release that starts it with async_scheduling: true, None for none.
    package: what the engine's environment needs besides vLLM.
    """

    summary: str
    model: ModelNeed
    options: Mapping[str, Option]
    first: str = "0.8.5"
    last: str | None = None
    gap: tuple[str, str] | None = None
    builds: frozenset[str] = frozenset({"cpu", "cuda", "sim"})
    cpu_gap: tuple[str, str] | None = ("0.9.1", "0.19.1")
    chain_drafter: bool = False
    schedules: bool = True
    async_first: str | None = None
    package: Package | None = None
    model_words: str = "a model directory or hub id"
    model_pattern: str = ""
    checks: tuple[Check, ...] = ()


_ALL: tuple[Check, ...] = (synthetic, fly, typical)
_WITH_MODEL = {**VERIFICATION, **DRAFT}
_GPU = frozenset({"cuda", "sim"})

METHODS: Mapping[str, Method] = {
    "draft_model": Method(
        "a smaller model of the same vocabulary",
        ModelNeed.REQUIRED,
        {**_WITH_MODEL, **DRAFT_MODEL},
        gap=("0.10.0", "0.14.1"),
        cpu_gap=("0.10.0", "0.19.1"),
        chain_drafter=True,
        async_first="0.16.0",
        checks=(*_ALL, heterogeneous),
    ),
    "ngram": Method(
        "what followed the same words earlier in this request",
        ModelNeed.NONE,
        {**VERIFICATION, **LOOKUP},
        checks=(*_ALL, lookup_window),
    ),
    "ngram_gpu": Method(
        "ngram, looked up on the GPU",
        ModelNeed.NONE,
        {**VERIFICATION, **LOOKUP},
        first="0.18.0",
        builds=_GPU,
        async_first="0.18.0",
        checks=(*_ALL, lookup_window),
    ),
    "eagle": Method(
        "a head that reads the target's last hidden states",
        ModelNeed.REQUIRED,
        {**_WITH_MODEL, **EAGLE},
        chain_drafter=True,
        async_first="0.11.1",
        model_words="an EAGLE head trained for this target",
        checks=_ALL,
    ),
    "eagle3": Method(
        "a head that reads hidden states of several layers",
        ModelNeed.REQUIRED,
        {**_WITH_MODEL, **EAGLE},
        chain_drafter=True,
        async_first="0.11.1",
        model_words="an EAGLE-3 head trained for this target",
        checks=_ALL,
    ),
    "mtp": Method(
        "layers for the next tokens that came with the target",
        ModelNeed.OPTIONAL,
        {**_WITH_MODEL, **MTP},
        first="0.11.0",
        chain_drafter=True,
        async_first="0.11.1",
        model_words="a checkpoint with the layers, the target by default",
        checks=_ALL,
    ),
    "dflash": Method(
        "a draft that writes a whole block in one pass",
        ModelNeed.REQUIRED,
        {**_WITH_MODEL, **BLOCK},
        first="0.20.0",
        cpu_gap=("0.20.0", "0.24.0"),
        async_first="0.20.0",
        model_words="a DFlash draft trained for this target",
        checks=_ALL,
    ),
    # By code it needs the V2 model runner, which the CPU build does not have.
    "dspark": Method(
        "a block draft that orders its tokens with a Markov head",
        ModelNeed.OPTIONAL,
        {**_WITH_MODEL, **DSPARK},
        first="0.25.0",
        builds=_GPU,
        async_first="0.25.0",
        model_words="a DSpark draft trained for this target, the target by default",
        checks=_ALL,
    ),
    "suffix": Method(
        "a tree of what this and earlier requests wrote",
        ModelNeed.NONE,
        {**VERIFICATION, **SUFFIX},
        first="0.11.1",
        package=Package("arctic-inference", "arctic_inference", "pip install arctic-inference==0.1.1"),
        checks=_ALL,
    ),
    "custom_class": Method(
        "a proposer of your own",
        ModelNeed.REQUIRED,
        VERIFICATION,
        first="0.22.0",
        schedules=False,
        model_words="the dotted import path of a proposer class, like my_package.MyProposer",
        model_pattern=r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+",
        checks=_ALL,
    ),
    "medusa": Method("heads for each of the next tokens", ModelNeed.REQUIRED, _WITH_MODEL, last="0.32.0", checks=_ALL),
    "mlp_speculator": Method(
        "an MLP on the target's hidden state", ModelNeed.REQUIRED, _WITH_MODEL, last="0.32.0", checks=_ALL
    ),
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
