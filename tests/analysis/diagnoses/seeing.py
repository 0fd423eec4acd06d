"""A finished analysis as the rules see it, from built trials, and what they say of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tuner.analysis.apart import apart
from tuner.analysis.diagnoses import RULES, Measured, diagnoses
from tuner.analysis.findings import findings
from tuner.records import DeviceLoad, Diagnosis, Figure, LoadPoint, Protocol, Role, Trial

C1 = LoadPoint("chat", 1, 33)
C16 = LoadPoint("chat", 16, 33)
Make = Callable[..., Trial]


def seen(
    trials: Sequence[Trial],
    loads: Sequence[LoadPoint] = (C1,),
    floor: dict[str, Figure] | None = None,
    protocol: Protocol | None = None,
    **more: Any,
) -> Measured:
    """more: further fields of Measured."""
    single = [trial for trial in trials if trial.record.role is not Role.DRAFT_ALONE]
    found = findings(single, loads, protocol=protocol)
    return Measured(replace(found, floor=floor or {}), single, apart(trials, loads), **more)


def said(code: str, measured: Measured) -> list[Diagnosis]:
    """Return the diagnoses with that code, of all rules; each is checked to be one that its rule announces."""
    for rule in RULES:
        assert {one.code for one in rule.find(measured)} <= set(rule.codes)
    return [one for one in diagnoses(measured) if one.code == code]


def the(code: str, measured: Measured) -> Diagnosis:
    (one,) = said(code, measured)
    assert one.what.endswith(".") and one.evidence and one.next_step
    return one


def drifting(seconds: float, spread: float = 0.002) -> Callable[[LoadPoint, int, int], float]:
    """Return a TPOT whose prompts and repeats differ a little, so that there are intervals."""
    return lambda _load, prompt, repeat: seconds * (1 + spread * prompt + spread / 4 * repeat)


def by_concurrency(**seconds: float) -> Callable[[LoadPoint, int, int], float]:
    """`by_concurrency(c1=0.02, c16=0.03)`."""
    return lambda load, prompt, repeat: seconds[f"c{load.concurrency}"] * (1 + 0.002 * prompt + 0.0005 * repeat)


def with_gpu(trial: Trial, utilisation: float) -> Trial:
    device = DeviceLoad("nvml", 10, gpu_utilisation=utilisation)
    loads = tuple(
        replace(load, repeats=tuple(replace(repeat, device=device) for repeat in load.repeats))
        for load in trial.record.loads
    )
    return replace(trial, record=replace(trial.record, loads=loads))


def with_steps(trial: Trial, chunks: Sequence[Sequence[int]]) -> Trial:
    """chunks: tokens of the steps after the first chunk, by prompt in turn."""
    samples = tuple(replace(s, chunk_tokens=(1, *chunks[s.index % len(chunks)])) for s in trial.samples)
    return replace(trial, samples=samples)


def served_alone(trial: Trial, draft: str = "/models/good") -> Trial:
    return Trial(replace(trial.record, role=Role.DRAFT_ALONE, served=draft), trial.samples)
