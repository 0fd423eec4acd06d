"""What a candidate that ran out of memory says about others: they are not tried either. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.records import Candidate, Json

MEMORY_SHARE = "gpu_memory_utilization"
SIZES = ("max_num_seqs", "max_model_len", "max_num_batched_tokens")


def ruled_out(candidate: Candidate, without_memory: Iterable[Candidate]) -> Candidate | None:
    """Return one of `without_memory` that needed no more than `candidate`, which then cannot run either; or None.

    Needing no more: the same draft and options, K no larger, a memory share no smaller, sizes no larger, and all other
    engine arguments equal.
    """
    return next((failed for failed in without_memory if _needs_no_more(failed, candidate)), None)


def _needs_no_more(failed: Candidate, candidate: Candidate) -> bool:
    if _draft(failed) != _draft(candidate) or failed.k > candidate.k:
        return False
    for name in {*failed.engine_args, *candidate.engine_args}:
        here, there = candidate.engine_args.get(name), failed.engine_args.get(name)
        if here == there:
            continue
        if not (_number(here) and _number(there)):
            return False
        if name == MEMORY_SHARE:
            if float(str(here)) > float(str(there)):
                return False
        elif name not in SIZES or float(str(here)) < float(str(there)):
            return False
    return True


def _draft(candidate: Candidate) -> tuple[object, ...]:
    spec = candidate.speculation
    return () if spec is None else (spec.method, spec.draft_name, spec.draft, dict(spec.options))


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
