"""What a finished trial tells the search: `Tried`, and how it stands in the study.

A function of the trial and of its own baseline alone, so that a study rebuilt from the records holds the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.analysis.accepted import growth
from tuner.analysis.life import LATENCIES, load_view
from tuner.analysis.metrics import counter_figures
from tuner.records import (
    Candidate,
    Failure,
    Growth,
    GrowthSource,
    Json,
    LoadPoint,
    Observed,
    Outcome,
    Role,
    Trial,
    Tried,
)
from tuner.space.methods import METHODS

QUESTIONS = (Role.BASELINE, Role.CANDIDATE)
"""Roles of the trials that answer a question of the study; all others are there to judge those."""

_OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|No available memory for the cache blocks|can't allocate memory|"
    r"KV cache is needed|that can be stored in KV cache|not enough (?:GPU |CPU )?memory available",
    re.IGNORECASE,
)
"""How CUDA, PyTorch's allocators and vLLM say that memory ran out.

Not "Free memory on device ... is less than desired": there a smaller share of the memory would do.
"""


@dataclass(frozen=True)
class Told:
    """What the study keeps of a trial.

    tried: with figures as measured.  baseline: by load point key, log TPOT of its own baseline, empty for a baseline
    and where it is not known.
    """

    tried: Tried
    baseline: Mapping[str, float]


def told(trial: Trial, loads: Sequence[LoadPoint], baseline: Trial | None) -> Told:
    """Return what the search may know of a trial.

    loads: those of the space.  baseline: the plain engine of the same engine arguments on the same device.
    """
    record = trial.record
    if record.failure is not None:
        outcome = Outcome.MEMORY if ran_out_of_memory(record.failure) else Outcome.FAILED
        return Told(Tried(record.candidate, outcome), {})
    found = {load.key: _observed(trial, load) for load in loads}
    observed = {key: seen for key, seen in found.items() if seen is not None}
    own = {} if baseline is None or not record.candidate.k else {load.key: _log_tpot(baseline, load) for load in loads}
    return Told(
        Tried(record.candidate, Outcome.MEASURED, observed),
        {key: value for key, value in own.items() if value is not None},
    )


def answers(trials: Iterable[Trial]) -> list[tuple[Trial, Trial | None]]:
    """Return the trials that answer a question of the study, one for each candidate, each with its own baseline.

    trials: in the order of their numbers, those that count.  Of several the first that worked, else the last: a
    baseline that failed on one device and worked on another worked.
    """
    baselines: dict[tuple[str, str], Trial] = {}
    found: dict[str, tuple[Trial, Trial | None]] = {}
    for trial in trials:
        record = trial.record
        if record.role not in QUESTIONS:
            continue
        group = (record.worker.device_key, record.candidate.args_key)
        if record.role is Role.BASELINE and record.ok:
            baselines[group] = trial
        known = found.pop(record.candidate.key, None)
        found[record.candidate.key] = known if known and known[0].record.ok else (trial, baselines.get(group))
    return sorted(found.values(), key=lambda pair: pair[0].record.number)


def tried(trials: Iterable[Trial], loads: Sequence[LoadPoint], candidates: Iterable[Candidate]) -> list[Tried]:
    """Return what the search knows from records alone, as it stands in a study of `candidates`.

    trials: in the order of their numbers, those that count.
    """
    keys = {candidate.key for candidate in candidates}
    found = answers(trial for trial in trials if trial.record.candidate.key in keys)
    return comparable([told(trial, loads, baseline) for trial, baseline in found])


def ran_out_of_memory(failure: Failure) -> bool:
    """Whether a trial failed because its device's memory ran out: in loading, for the KV cache, or in verification."""
    return bool(_OUT_OF_MEMORY.search(failure.cause) or _OUT_OF_MEMORY.search(failure.message))


def _observed(trial: Trial, load: LoadPoint) -> Observed | None:
    """Return what a life said at a load point, None if no answer there gave a time per token."""
    log_tpot = _log_tpot(trial, load)
    view = load_view(trial, load.key)
    if log_tpot is None or view is None:
        return None
    spread = view.repeat_spread(LATENCIES["tpot_s"])
    speculation = trial.record.candidate.speculation
    grown = Growth()
    if speculation is not None:
        chain = METHODS[speculation.method].chain_drafter
        grown = growth(trial, load, chain=chain, k=speculation.num_speculative_tokens)
    length = counter_figures(view.repeats)["mean_acceptance_length"].value if speculation else None
    return Observed(log_tpot, math.sqrt(spread.variance) if spread.df else None, grown, length)


def _log_tpot(trial: Trial, load: LoadPoint) -> float | None:
    """Return the mean over prompts of log(TPOT in seconds)."""
    view = load_view(trial, load.key)
    times = view.tpot_by_prompt if view else {}
    return math.fsum(map(math.log, times.values())) / len(times) if times else None


class Comparing:
    """Puts trials of several devices on one scale, again and again: what was carried over already is kept."""

    def __init__(self) -> None:
        self._carried: dict[int, tuple[Told, Mapping[str, float], Tried]] = {}

    def comparable(self, found: Sequence[Told]) -> list[Tried]:
        """Return trials of several devices as if all had run on one: each is carried over by its own baseline.

        found: in the order of their records.  The device is that of the first candidate with a baseline, whichever
        device's baseline the study holds. A trial's log TPOT keeps its distance to its own baseline: that is the
        speedup, and how devices differ is no property of a candidate.
        """
        plain: dict[str, Mapping[str, float]] = {}
        for one in found:
            if one.baseline:
                plain.setdefault(one.tried.candidate.args_key, one.baseline)
        return [self._carry(one, plain.get(one.tried.candidate.args_key, {})) for one in found]

    def _carry(self, one: Told, plain: Mapping[str, float]) -> Tried:
        if not one.tried.loads:
            return one.tried
        known = self._carried.get(id(one))
        if known is None or known[0] is not one or known[1] is not plain:
            known = self._carried[id(one)] = (one, plain, _carried_over(one, plain))
        return known[2]


def comparable(found: Sequence[Told]) -> list[Tried]:
    """Return trials of several devices as if all had run on one, see `Comparing`."""
    return Comparing().comparable(found)


def _carried_over(one: Told, plain: Mapping[str, float]) -> Tried:
    loads = {}
    for key, seen in one.tried.loads.items():
        own = one.baseline.get(key) if one.tried.candidate.k else seen.log_tpot
        shift = plain[key] - own if key in plain and own is not None else 0.0
        loads[key] = replace(seen, log_tpot=seen.log_tpot + shift)
    return replace(one.tried, loads=loads)


# ---- as JSON


def told_json(one: Told) -> Json:
    """Return it as JSON, all but the candidate: the study knows that by its key."""
    return {
        "outcome": one.tried.outcome.value,
        "loads": {key: _observed_json(seen) for key, seen in one.tried.loads.items()},
        "baseline": dict(one.baseline),
    }


def told_from(candidate: Candidate, value: Json) -> Told:
    """Return what `told_json` was given.  ValueError for anything else."""
    body = _body(value, {"outcome", "loads", "baseline"})
    loads = {key: _observed_from(seen) for key, seen in _mapping(body["loads"]).items()}
    baseline = {key: _number(one) for key, one in _mapping(body["baseline"]).items()}
    return Told(Tried(candidate, Outcome(_text(body["outcome"])), loads), baseline)


def _observed_json(seen: Observed) -> Json:
    grown = seen.growth
    logs: list[Json] = list(grown.logs)
    return {
        "log_tpot": seen.log_tpot,
        "se": seen.se,
        "length": seen.length,
        "growth": {"logs": logs, "source": grown.source.value, "n": grown.n, "note": grown.note},
    }


def _observed_from(value: Json) -> Observed:
    body = _body(value, {"log_tpot", "se", "length", "growth"})
    grown = _body(body["growth"], {"logs", "source", "n", "note"})
    logs, n = grown["logs"], grown["n"]
    if not isinstance(logs, list) or isinstance(n, bool) or not isinstance(n, int):
        raise ValueError(f"{grown} is no growth of acceptance")
    return Observed(
        _number(body["log_tpot"]),
        _number_or_none(body["se"]),
        Growth(tuple(map(_number, logs)), GrowthSource(_text(grown["source"])), n, _text(grown["note"])),
        _number_or_none(body["length"]),
    )


def _body(value: Json, names: set[str]) -> dict[str, Json]:
    body = _mapping(value)
    if body.keys() != names:
        raise ValueError(f"{sorted(body)} are not {sorted(names)}")
    return body


def _mapping(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is no mapping")
    return value


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def _number_or_none(value: Json) -> float | None:
    return None if value is None else _number(value)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value
