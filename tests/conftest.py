"""Builders shared by all tests: synthetic trials whose figures are known by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import settings

from tests.left_behind import differences, process_state
from tuner.records import (
    Candidate,
    Counters,
    EngineFacts,
    Failure,
    FailureKind,
    Json,
    LoadMeasurement,
    LoadPoint,
    PhaseTimes,
    Protocol,
    Repeat,
    RequestSample,
    Role,
    RunManifest,
    Speculation,
    Trial,
    TrialRecord,
    WorkerFacts,
)

Seconds = Callable[[LoadPoint, int, int], float]  # (load point, prompt index, repeat) -> seconds
# A busy machine is no failure.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the real sweep: it takes longest by far, and another process does the rest meanwhile."""
    items.sort(key=lambda item: item.get_closest_marker("real_ci") is None)


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Each file leaves the process as it was: the next one may be any other."""
    before = process_state()
    yield
    left = differences(before, process_state())
    assert not left, "\n".join(["this file leaves to the next one:", *left])


LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)


def candidate(
    k: int, draft: str = "good", method: str = "draft_model", args: Mapping[str, Json] | None = None
) -> Candidate:
    """Return the baseline for k = 0, else draft `draft` with K = k."""
    path = None if method == "ngram" else f"/models/{draft}"
    return Candidate(dict(args or {}), Speculation(method, k, draft, path) if k else None)


def sample(load: LoadPoint, repeat: int, index: int, ttft: float, tpot: float, tokens: int) -> RequestSample:
    return RequestSample(
        load_point=load.key,
        repeat=repeat,
        index=index,
        prompt_id=f"p{index:02d}",
        category="even" if index % 2 == 0 else "odd",
        sent_s=1.0 * index,
        first_token_s=1.0 * index + ttft,
        last_token_s=1.0 * index + ttft + tpot * (tokens - 1),
        prompt_tokens=20,
        completion_tokens=tokens,
        finish_reason="length",
        text=f"answer {index}",
        token_ids=tuple(range(index, index + tokens)),
        chunk_tokens=(1,) * tokens,
        chunk_times_s=tuple(1.0 * index + ttft + tpot * i for i in range(tokens)),
    )


def counters(samples: Sequence[RequestSample], k: int, acceptance: Sequence[float], preemptions: int) -> Counters:
    """Return counters that keep vLLM's identities: sum A_i = A <= T <= K x D."""
    generated = sum(s.completion_tokens or 0 for s in samples)
    decoded = generated - len(samples)
    base: dict[str, Any] = {
        "generation_tokens": generated,
        "prompt_tokens": 20 * len(samples),
        "requests": len(samples),
    }
    if not k:
        return Counters(**base, decode_steps=decoded, preemptions=preemptions)
    drafts = round(decoded / (1 + sum(acceptance)))
    accepted = tuple(round(drafts * a) for a in acceptance)
    return Counters(
        **base,
        decode_steps=drafts,
        preemptions=preemptions,
        drafts=drafts,
        draft_tokens=k * drafts,
        accepted_tokens=sum(accepted),
        accepted_per_pos=accepted,
    )


def build_trial(
    number: int = 0,
    k: int = 0,
    draft: str = "good",
    method: str = "draft_model",
    args: Mapping[str, Json] | None = None,
    role: Role | None = None,
    loads: Sequence[LoadPoint] = (LOAD,),
    tpot: float | Seconds = 0.02,
    ttft: float | Seconds = 0.1,
    tokens: int | Callable[[LoadPoint, int, int], int] = 33,
    prompts: int = 6,
    repeats: int = 3,
    acceptance: Sequence[float] | None = None,
    failed: int = 0,
    preemptions: int = 0,
    problems: Mapping[int, tuple[str, ...]] | None = None,
    device: str = "node-a/cpu",
    failure: Failure | str | None = None,
    final_round: int | None = None,
    **facts: Any,
) -> Trial:
    """Return a trial: `prompts` x `repeats` requests at each load point, TPOT and TTFT in seconds as given.

    failed: so many requests of each repeat fail.  problems: by repeat index.  failure: the trial gave nothing.
    final_round: it is a finalist's (or its baseline's) fresh life in that round.
    facts: further fields of EngineFacts (kv_cache_tokens, max_model_len, changed_settings, ...).
    """
    cand = candidate(k, draft, method, args)
    rates = acceptance if acceptance is not None else [0.8 ** (i + 1) for i in range(k)]
    samples: list[RequestSample] = []
    measured = []
    for load in loads:
        passes = []
        for repeat in range(repeats):
            of_repeat = [
                sample(
                    load,
                    repeat,
                    i,
                    ttft if isinstance(ttft, float) else ttft(load, i, repeat),
                    tpot if isinstance(tpot, float) else tpot(load, i, repeat),
                    tokens if isinstance(tokens, int) else tokens(load, i, repeat),
                )
                for i in range(prompts)
            ]
            broken = [
                RequestSample(
                    load.key, repeat, prompts + i, f"p{i:02d}", "x", 0.0, *(None,) * 5, error="TimeoutError: 600 s"
                )
                for i in range(failed)
            ]
            wall = sum(s.e2e_s or 0.0 for s in of_repeat) / load.concurrency
            found = (problems or {}).get(repeat, ())
            counts = counters(of_repeat, k, rates, preemptions)
            passes.append(Repeat(repeat, wall, counts, prompts + failed, failed, found))
            samples += of_repeat + broken
        measured.append(LoadMeasurement(load, tuple(passes), warmup_s=0.5))
    if isinstance(failure, str):
        failure = Failure(FailureKind.CRASHED, failure, "lower K")
    record = TrialRecord(
        number=number,
        role=role or (Role.FINAL if final_round is not None else Role.CANDIDATE if k else Role.BASELINE),
        candidate=cand,
        worker=WorkerFacts(device_key=device, device="CPU, 2 cores", node=device.split("/", 1)[0]),
        started_at="2026-01-01T00:00:00Z",
        phases=PhaseTimes(start_s=30.0, load_s=60.0, total_s=95.0),
        engine=EngineFacts(version="0.32.0", command=("python",), env={}, start_s=30.0, **facts),
        loads=() if failure else tuple(measured),
        failure=failure,
        round=final_round,
    )
    return Trial(record, () if failure else tuple(samples))


@pytest.fixture(scope="session")
def make_trial() -> Callable[..., Trial]:
    """`make_trial(k=4, tpot=0.01, ...)` -> Trial; see build_trial for every keyword.

    Session scope: the builder has no state, and hypothesis tests may use it.
    """
    return build_trial


@pytest.fixture(scope="session")
def make_candidate() -> Callable[..., Candidate]:
    """`make_candidate(4, "good", "draft_model", {"gpu_memory_utilization": 0.9})` -> Candidate."""
    return candidate


def build_manifest(
    candidates: Sequence[Candidate] = (), protocol: Protocol | None = None, loads: Sequence[LoadPoint] = (LOAD,)
) -> RunManifest:
    """Return what a run with these candidates says about itself; three fresh lives by default."""
    return RunManifest(
        target="target",
        space="space",
        space_source="",
        engine_version="0.32.0",
        engine_build="sim",
        load_points=tuple(loads),
        protocol=protocol or Protocol(lives=3, max_lives=3),
        inflection_threshold=0.01,
        prompts={},
        tuner_version="1",
        candidates=tuple(candidate.key for candidate in candidates),
    )


@pytest.fixture(scope="session")
def make_manifest() -> Callable[..., RunManifest]:
    """`make_manifest([candidate, ...], Protocol(...), [load, ...])` -> RunManifest."""
    return build_manifest
