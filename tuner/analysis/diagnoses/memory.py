"""Memory ran out: at the start, for the KV cache, or while draft tokens were checked under load."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.analysis.diagnoses.measured import Measured
from tuner.analysis.diagnoses.phrases import listed
from tuner.records import BarKind, Confidence, Diagnosis, Failure, LoadMeasurement, Trial


@dataclass(frozen=True)
class _Kind:
    """codes: how the cause of a failure is named, as a pattern.  said: how engines say it where it has no name.

    under_load: whether the engine had started; None where that does not matter.
    """

    code: str
    codes: re.Pattern[str]
    said: re.Pattern[str]
    under_load: bool | None
    what: str
    next_step: str


_KINDS = (
    _Kind(
        "memory_for_kv_cache",
        re.compile(r"kv_cache(?!_not_free)"),
        re.compile(r"No available memory for the cache blocks|KV cache is needed|that can be stored in KV cache", re.I),
        None,
        "With {names} too little memory is left for the KV cache: draft weights and draft cache take it.",
        "Raise gpu_memory_utilization, lower max_model_len, or take a smaller draft.",
    ),
    _Kind(
        "memory_in_verification",
        re.compile(r"out_of_memory_(?:verification|load)"),
        re.compile(r"out of memory|OutOfMemory|can't allocate memory", re.I),
        True,
        "With {names} memory ran out under load: checking K + 1 tokens of each request needs room beside the KV cache.",
        "Lower K, max_num_seqs or max_num_batched_tokens, or gpu_memory_utilization, which leaves more outside the "
        "cache.",
    ),
    _Kind(
        "memory_at_start",
        re.compile(r"out_of_memory|_not_free$"),
        re.compile(r"out of memory|OutOfMemory|can't allocate memory|not enough (?:GPU |CPU )?memory available", re.I),
        False,
        "{names} did not fit when the engine started.",
        "Take a smaller or quantised draft, or lower max_model_len or K; gpu_memory_utilization where something else "
        "uses the device.",
    ),
)


def out_of_memory(seen: Measured) -> Iterator[Diagnosis]:
    """Candidates that failed for memory, one diagnosis for each kind."""
    found: dict[str, list[Trial]] = {}
    for trial in seen.trials:
        kind = _kind_of(trial)
        if kind is not None and trial.record.candidate.k:
            found.setdefault(kind.code, []).append(trial)
    for kind in _KINDS:
        trials = found.get(kind.code)
        if trials:
            yield _diagnosis(kind, trials, seen)


def preempted(seen: Measured) -> Iterator[Diagnosis]:
    """Requests were thrown out of the KV cache with a draft, and none without."""
    barred = {b.candidate.key: b.candidate for b in seen.findings.barred if b.bar.kind is BarKind.PREEMPTED}
    for key, candidate in barred.items():
        trial = next((t for t in seen.trials if t.record.ok and t.record.candidate.key == key), None)
        if trial is None:
            continue
        where = [load for load in trial.record.loads if _preemptions(load)]
        yield Diagnosis(
            code="memory_for_kv_cache",
            subject=candidate.label,
            what=f"With {candidate.label} requests lose their place in the KV cache and start again.",
            evidence=(
                "; ".join(f"{_preemptions(load)} preemptions at {load.load_point.label}" for load in where)
                + ", none without speculation",
                *_cache_sizes(trial, seen),
            ),
            confidence=Confidence.HIGH,
            next_step="Raise gpu_memory_utilization, lower max_num_seqs, or take a smaller draft.",
        )


def _kind_of(trial: Trial) -> _Kind | None:
    failure = trial.record.failure
    if failure is None:
        return None
    named = str(getattr(failure, "code", "") or "")
    if named:
        return next((kind for kind in _KINDS if kind.codes.search(named)), None)
    text, loaded = f"{failure.cause} {failure.message}", trial.record.phases.load_s > 0
    return next((kind for kind in _KINDS if kind.said.search(text) and kind.under_load in (None, loaded)), None)


def _diagnosis(kind: _Kind, trials: Sequence[Trial], seen: Measured) -> Diagnosis:
    names = list(dict.fromkeys(trial.record.candidate.label for trial in trials))
    failures = [trial.record.failure for trial in trials if trial.record.failure]
    lines = dict.fromkeys(_line(failure) for failure in failures)
    return Diagnosis(
        code=kind.code,
        subject=", ".join(names),
        what=kind.what.format(names=listed(names)),
        evidence=(*list(lines)[:2], f"{len(trials)} of {len(seen.trials)} engine starts failed so"),
        confidence=Confidence.HIGH,
        next_step=_remedy(failures[0]) or kind.next_step,
    )


def _line(failure: Failure) -> str:
    """Return what was told with the log's numbers, else the log's own line."""
    return str(getattr(failure, "what", "")) or failure.cause or failure.message


def _remedy(failure: Failure) -> str:
    return str(getattr(failure, "advice", "")) or failure.next_step


def _preemptions(load: LoadMeasurement) -> int:
    return sum(repeat.counters.preemptions or 0 for repeat in load.repeats)


def _cache_sizes(trial: Trial, seen: Measured) -> list[str]:
    place = (trial.record.worker.device_key, trial.record.candidate.args_key)
    plain = next(
        (
            t.record.engine.kv_cache_tokens
            for t in seen.trials
            if t.record.ok
            and t.record.engine
            and not t.record.candidate.k
            and (t.record.worker.device_key, t.record.candidate.args_key) == place
        ),
        None,
    )
    own = trial.record.engine.kv_cache_tokens if trial.record.engine else None
    return [f"its KV cache holds {own} tokens, {plain} without the draft"] if own and plain and own < plain else []
