"""What is not speculation itself: settings that it drags along, and other accelerators in the same measurement."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuner.analysis.diagnoses.measured import Measured
from tuner.analysis.diagnoses.phrases import listed, multiple, number, where
from tuner.analysis.dragged import Split
from tuner.records import Candidate, Confidence, Diagnosis, Notice

_QUANTISED = re.compile(
    r"(?:^|[-_./])(awq|gptq|gguf|fp8|fp4|nvfp4|mxfp4|int4|int8|w4a16|w8a8|w8a16|w4a8|bnb|[48]bit|q[2-8]_[k0-9]\w*)(?:$|[-_./])",
    re.IGNORECASE,
)
"""How names of quantised checkpoints say so."""
_ACCELERATES = frozenset(
    {
        "draft_sample_method",
        "rejection_sample_method",
        "use_heterogeneous_vocab",
        "num_speculative_tokens_per_batch_size",
        "parallel_drafting",
        "quantization",
        "enforce_eager",
    }
)
"""Options of a speculation that change what is accepted or what a step costs; bounds of n-gram's search are not among
them."""


def settings_changed(seen: Measured) -> Iterator[Diagnosis]:
    """Speculation makes the engine change settings that have a cost of their own."""
    for change in seen.changes:
        if not change.names:
            continue
        names = listed(change.names)
        splits = [split for split in seen.splits if split.candidate.draft_name in change.drafts]
        costly = [split for split in splits if _costs(split)]
        if splits and not costly:
            continue
        evidence = ["the engine's log says so: see what the engine changed by itself in the report"]
        if splits:
            worst = min(costly, key=lambda split: split.settings.value or 1.0)
            evidence = [
                f"of {worst.candidate.label}'s {multiple(worst.speedup)} at "
                f"{where(worst.load_point, [s.load_point for s in splits])} these settings alone are "
                f"{multiple(worst.settings)} and speculation alone is {multiple(worst.speculation)} "
                f"({number(worst.settings)})"
            ]
        yield Diagnosis(
            code="settings_changed",
            subject=", ".join(change.drafts),
            what=(
                f"Speculation with {listed(change.drafts)} makes this engine switch to {names}"
                + (", and that alone costs." if splits else ": part of the effect may be theirs.")
            ),
            evidence=tuple(evidence),
            confidence=Confidence.HIGH if splits else Confidence.MEDIUM,
            next_step=(
                "Compare with an engine release that speculates without that change."
                if splits
                else "tuner sweep with --same-runner-baseline measures what they cost without a draft."
            ),
        )


def stacked(seen: Measured) -> Iterator[Diagnosis]:
    """Quantisation or further speculative options take part: what is seen may come from any of them."""
    candidates = {line.first.key: line.first for line in seen.lines}
    found: dict[str, list[str]] = {}
    for candidate in candidates.values():
        if layers := "; ".join(_layers(candidate, seen)):
            found.setdefault(layers, []).append(candidate.draft_name)
    for layers, drafts in found.items():
        yield Diagnosis(
            code="stacked_accelerators",
            subject=", ".join(dict.fromkeys(drafts)),
            what="Several accelerators are measured at once: their causes cannot be told apart.",
            evidence=(f"{layers}; the speedup is of speculation on top of them",),
            confidence=Confidence.LOW,
            next_step="Take them away one at a time and sweep again; low acceptance may come from quantised weights.",
        )


def _costs(split: Split) -> bool:
    return split.settings.high is not None and split.settings.high < 1.0


def _layers(candidate: Candidate, seen: Measured) -> list[str]:
    layers: list[str] = []
    args, spec = candidate.engine_args, candidate.speculation
    of_target = [n for n in seen.notices if n.code == "quantised_target"]
    of_draft = [n for n in seen.notices if n.code == "quantised_draft" and n.subject == candidate.draft_name]
    if of_target:
        layers.append(f"target: {_clause(of_target[0])}")
    elif args.get("quantization"):
        layers.append(f"the target runs with quantization {args['quantization']}")
    elif match := _QUANTISED.search(seen.target):
        layers.append(f"the target's name says {match[1]}")
    if str(args.get("kv_cache_dtype", "auto")) not in ("auto", "None", "bfloat16", "float16"):
        layers.append(f"kv_cache_dtype is {args['kv_cache_dtype']}")
    if spec is not None:
        if of_draft:
            layers.append(f"{candidate.draft_name}: {_clause(of_draft[0])}")
        elif spec.draft and spec.draft != seen.target and (match := _QUANTISED.search(spec.draft)):
            layers.append(f"the draft's name says {match[1]}")
        options = [name for name in spec.options if name in _ACCELERATES]
        if len(options) > 1 or "quantization" in options:
            layers.append(f"speculation has {listed(options)}")
    return layers


def _clause(notice: Notice) -> str:
    """Return what the notice says before its first colon: "its weights are quantised (awq)"."""
    return notice.what.partition(":")[0].rstrip(".")
