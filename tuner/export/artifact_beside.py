"""Where an answer holds, what its speculation costs in memory, what it changes: from the trials that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tuner.analysis.statistics import median
from tuner.artifact import beside
from tuner.export.values import rounded
from tuner.records import Answer, Candidate, EngineFacts, Findings, LoadFigures, RequestSample, SameOutput, Trial
from tuner.space.side_effects import side_effects

_WORST_FIRST = (
    SameOutput.DIFFERS,
    SameOutput.UNEXPLAINED,
    SameOutput.NOT_COMPARED,
    SameOutput.NO_DIFFERENCE_FOUND,
    SameOutput.NEAR_TIES,
    SameOutput.IDENTICAL,
)


@dataclass(frozen=True)
class Lives:
    """Engine lives of the speculation beside which all this stands, and of the same engine without it.

    speculating: () where none is recommended.  temperature: of the answer.
    """

    speculating: tuple[Trial, ...]
    plain: tuple[Trial, ...]
    temperature: float


def lives_of(trials: Sequence[Trial], answer: Answer, speculation: Candidate | None) -> Lives:
    """Return the lives that worked.

    speculation: see tuner.export.artifact_recommended.speculating. Where it has no life that worked, as a K schedule
    that was not measured for long, that of the answer's best candidate stands for it.
    """
    worked = [trial for trial in trials if trial.record.ok and not trial.record.served]

    def of(candidate: Candidate) -> tuple[Trial, ...]:
        return tuple(trial for trial in worked if trial.record.candidate.key == candidate.key)

    plain = (speculation or answer.best).baseline
    found = (of(speculation) or (of(answer.best) if answer.best.speculation else ())) if speculation else ()
    return Lives(found, of(plain), answer.temperature)


def validity(answer: Answer, lives: Lives) -> beside.Validity:
    """Return where the answer was measured."""
    points = [load.load_point for load in answer.loads]
    samples = _samples(lives)
    served = [t.record.engine.max_model_len for t in (*lives.speculating, *lives.plain) if t.record.engine]
    return beside.Validity(
        temperature=answer.temperature,
        concurrency=tuple(sorted({point.concurrency for point in points})),
        prompt_tokens=_lengths(sample.prompt_tokens for sample in samples),
        answer_tokens=_lengths(sample.completion_tokens for sample in samples),
        eval_sets=tuple(dict.fromkeys(point.eval_set for point in points)),
        max_model_len=min((length for length in served if length is not None), default=None),
    )


def _samples(lives: Lives) -> list[RequestSample]:
    """Return the requests that were timed at the answer's temperature and answered."""
    return [
        sample
        for trial in (*lives.speculating, *lives.plain)
        for load in trial.record.loads
        if load.load_point.sampling.temperature == lives.temperature
        for sample in trial.samples
        if sample.load_point == load.load_point.key and sample.repeat >= 0 and sample.ok
    ]


def _lengths(counts: Iterable[int | None]) -> beside.Lengths | None:
    known = [count for count in counts if count is not None]
    if not known:
        return None
    return beside.Lengths(min=min(known), median=rounded(float(median(known))), max=max(known), n=len(known))


def capacity(lives: Lives) -> beside.Capacity:
    """Return what fits into memory with and without speculation."""
    return beside.Capacity(with_speculation=_room(lives.speculating), without_speculation=_room(lives.plain))


def _room(trials: Sequence[Trial]) -> beside.Room | None:
    """Return the room of one setting: of several lives the smallest, and the highest peak."""
    engines = [trial.record.engine for trial in trials if trial.record.engine]
    if not engines:
        return None
    tokens = _least(e.kv_cache_tokens for e in engines)
    asked = trials[0].record.candidate.engine_args.get("max_num_seqs")
    devices = [repeat.device for trial in trials for load in trial.record.loads for repeat in load.repeats]
    return beside.Room(
        kv_cache_tokens=tokens,
        max_num_seqs=asked if isinstance(asked, int) else None,
        full_length_requests=min((n for n in map(_full_length_requests, engines) if n is not None), default=None),
        peak_device_memory_bytes=_most(device.gpu_memory_bytes for device in devices if device is not None),
    )


def _full_length_requests(engine: EngineFacts) -> float | None:
    """Return how many requests of max_model_len fit: the engine's own count, else by tokens."""
    if engine.memory is not None and engine.memory.kv_requests is not None:
        return rounded(engine.memory.kv_requests)
    tokens, length = engine.kv_cache_tokens, engine.max_model_len
    return rounded(tokens / length) if tokens is not None and length else None


def _least(values: Iterable[int | None]) -> int | None:
    return _extreme(min, values)


def _most(values: Iterable[int | None]) -> int | None:
    return _extreme(max, values)


def _extreme(which: Callable[[list[int]], int], values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return which(known) if known else None


def lossless(findings: Findings, answer: Answer, speculation: Candidate | None) -> beside.Lossless | None:
    """Return the worst verdict on outputs over the answer's load points; None where nothing speculative is judged.

    speculation: see lives_of; that of a K schedule is judged where the schedule is.
    """
    loads = _loads_of(findings, answer, speculation)
    found = [(load.load_point.label, load.sameness) for load in loads if load.sameness is not None]
    if not found:
        return None
    return beside.Lossless(
        verdict=min((same.verdict for _, same in found), key=_WORST_FIRST.index),
        evidence=tuple(f"{label}: {same.verdict.value}: {same.note}".rstrip(": ") for label, same in found),
    )


def _loads_of(findings: Findings, answer: Answer, speculation: Candidate | None) -> Sequence[LoadFigures]:
    """Return the figures of the speculation; of the answer's best candidate where it has none of its own."""
    arms = (*findings.finals, *findings.trials)
    other = next((arm for arm in arms if arm.candidate == speculation), None) if speculation != answer.best else None
    if other is None:
        return answer.loads
    return [load for load in other.loads if load.load_point.sampling.temperature == answer.temperature]


def drags_along(lives: Lives, version: str) -> beside.DragsAlong | None:
    """Return what the engine changed by itself under speculation and not without; None where that is not known."""
    speculating = next((t.record.engine for t in lives.speculating if t.record.engine), None)
    plain = next((t.record for t in lives.plain if t.record.engine), None)
    if speculating is None or plain is None or plain.engine is None:
        return None
    found = side_effects(speculating, plain.engine, plain.candidate.engine_args, version)
    return beside.DragsAlong(
        changes=found.changes,
        engine_args=dict(found.engine_args),
        env=dict(found.env),
        others=found.others,
    )
