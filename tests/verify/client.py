"""Does the tuner's load client measure what an independent one does? One engine, two clients in turn.

    make verify-client
    .venv/bin/python -m tests.verify.client --engine /path/to/python --target /models/x --space my.yaml

For each candidate one real engine is started as a sweep starts it (prefix caching off, so that repeats of a prompt are
equal). `vllm bench serve` of the same installation and the tuner's own client then send it the same prompts with the
same settings, in rounds A B B A. Prints a table per load and ends in one JSON line. Exit code 1 if a figure of the two
differs by more than 2 %, or by more than the rounds of one and the same client lie apart where that is more; and if
those lie more than 30 % apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.verify import agreement, record
from tests.verify.bench import Bench, BenchFailed, prepared, run_bench, sendable
from tests.verify.clock import against_the_engine
from tuner.analysis.metrics import trial_figures
from tuner.engine.api_key import engine_api_key
from tuner.engine.argv import engine_command
from tuner.engine.client import Endpoint
from tuner.engine.load import Work, load_requests, requests_per_repeat
from tuner.engine.measure import Measured, measure
from tuner.engine.process import Launch, RunningEngine, free_port, running_engine
from tuner.engine.resolve import Engine, resolve_engine
from tuner.errors import MeasurementInvalid, SpaceError, TunerError
from tuner.hardware import cpu_model
from tuner.pool.host import describe_gpus, visible_gpu_ids
from tuner.records import (
    Candidate,
    EvalSet,
    Json,
    LoadPoint,
    PhaseTimes,
    Protocol,
    Role,
    Sampling,
    Trial,
    TrialRecord,
    WorkerFacts,
)
from tuner.space.candidates import candidates
from tuner.space.eval_sets import load_eval_set
from tuner.space.model_refs import resolve_model, user_cache
from tuner.space.schema import load_space
from tuner.space.search_space import SearchSpace
from tuner.version import tuner_version

HERE = WorkerFacts(device_key="here", device="this machine", node="here")


@dataclass(frozen=True)
class Job:
    """What both clients send, and to what."""

    engine: Engine
    space: SearchSpace
    target: str
    eval_set: EvalSet
    load_points: tuple[LoadPoint, ...]
    blocks: int


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Return the command line, read."""
    parser = argparse.ArgumentParser(prog="tests.verify.client", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--engine", help="Python or virtual environment with vLLM [this one]")
    parser.add_argument("--target", "--model", help="model directory or hub id [the space's]")
    parser.add_argument("--space", help="search space: engine arguments, drafts [demo; with --target: default]")
    parser.add_argument("--eval-set", "--dataset", default="chat", help="name or file [%(default)s]")
    parser.add_argument(
        "--num-prompts", type=int, default=6, help="the first so many, at least 3 x concurrency [%(default)s]"
    )
    parser.add_argument("--max-tokens", type=int, default=20, help="exact length of each answer [%(default)s]")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 4], help="[%(default)s]")
    parser.add_argument("--rounds", type=int, default=4, help="per client, an even number from 4 on [%(default)s]")
    parser.add_argument(
        "--speculative",
        nargs="+",
        metavar="NAME:K",
        help="drafts of the space, `none` for no speculation; an engine each [none and the first draft]",
    )
    parser.add_argument("--save", action="store_true", help="keep the result in docs/")
    chosen = parser.parse_args(argv)
    if chosen.rounds < 4 or chosen.rounds % 2:
        parser.error("--rounds must be an even number from 4 on")
    return chosen


def job_of(chosen: argparse.Namespace) -> Job:
    """Return the job that the command line names.  Raises TunerError."""
    space = load_space(chosen.space or ("default" if chosen.target else "demo"), target=chosen.target)
    engine = resolve_engine(chosen.engine)
    if engine.kind == "sim" or space.target is None:
        raise SpaceError("This needs a real engine and a target.", "Give --engine PYTHON and --target MODEL.")
    eval_set, _ = load_eval_set(chosen.eval_set)
    kept = tuple(prompt for prompt in eval_set.prompts if sendable(prompt))
    kinds = {prompt.messages is None for prompt in kept}
    if len(kinds) != 1:
        raise SpaceError(
            f"{chosen.eval_set}: vllm bench serve can send plain prompts, or chats of one message by the user.",
            "Give an eval set that has one of the two kinds.",
        )
    load_points = tuple(
        LoadPoint(
            eval_set.name, concurrency, chosen.max_tokens, Sampling(), True, max(chosen.num_prompts, 3 * concurrency)
        )
        for concurrency in chosen.concurrency
    )
    return Job(engine, space, space.target, replace(eval_set, prompts=kept), load_points, chosen.rounds // 2)


def chosen_candidates(space: SearchSpace, names: Sequence[str] | None) -> list[Candidate]:
    """Return the candidates named NAME:K or `none`; by default no speculation and the first draft's middle K.

    Raises SpaceError for one that the space does not have.
    """
    tried = {f"{c.draft_name}:{c.k}" if c.k else "none": c for c in reversed(candidates(space))}
    if names is None:
        first = space.drafts[0] if space.drafts else None
        names = ["none", *([f"{first.name}:{first.ks[len(first.ks) // 2]}"] if first else [])]
    missing = [name for name in names if name not in tried]
    if missing:
        raise SpaceError(f"The space has no {', '.join(missing)}.", f"It has: {', '.join(sorted(tried))}.")
    return [tried[name] for name in names]


def without_prefix_cache(candidate: Candidate) -> Candidate:
    """Return the candidate with an engine that forgets: the other client sends no cache salts."""
    return replace(candidate, engine_args={**candidate.engine_args, "enable_prefix_caching": False})


def launch_of(job: Job, candidate: Candidate, folder: Path) -> Launch:
    """Return a start of the engine as a trial makes it."""
    port, served_name = free_port(), f"verify-{secrets.token_hex(4)}"
    return Launch(
        command=engine_command(job.engine, job.target, served_name, port, candidate),
        env=job.space.env,
        log_path=folder / "engine.log",
        port=port,
        served_name=served_name,
        api_key=engine_api_key(job.engine.version, user_cache()),
        start_timeout_s=job.space.protocol.start_timeout_s,
        stall_timeout_s=job.space.protocol.stall_timeout_s,
        version=job.engine.version,
    )


def tuner_reading(measured: Measured, candidate: Candidate) -> agreement.Reading:
    """Return the figures of one measured load, by the same functions as a report's.  Raises MeasurementInvalid."""
    problems = [problem for load in measured.loads for repeat in load.repeats for problem in repeat.problems]
    failed = sum(not sample.ok for sample in measured.samples)
    if problems or failed:
        raise MeasurementInvalid(f"{failed} requests failed; {problems}", "Start again.")
    trial_record = TrialRecord(0, Role.CANDIDATE, candidate, HERE, "", PhaseTimes(), loads=measured.loads)
    (load,) = trial_figures(Trial(trial_record, measured.samples), None).loads
    names = {
        "ttft_s": "ttft_s_p50",
        "tpot_s": "tpot_s_p50",
        "e2e_s": "e2e_s_p50",
        "throughput_tok_s": "throughput_tok_s",
        "acceptance_rate": "acceptance_rate",
        "acceptance_length": "mean_acceptance_length",
    }
    return {name: load.figures[of].value for name, of in names.items()}


def compare_on(running: RunningEngine, job: Job, candidate: Candidate, bench: Bench) -> list[agreement.Comparison]:
    """Measure every load point with both clients in turn."""
    endpoint = Endpoint(running.base_url, running.served_name, running.api_key)
    eval_sets = {job.eval_set.name: job.eval_set}
    comparisons = []
    for load_point in job.load_points:
        warmups = max(2, load_point.concurrency)
        work = Work(candidate, (load_point,), eval_sets, Protocol(repeats=1, max_repeats=1, warmup_requests=warmups))
        prompts = work.prompts(load_point)
        requests = load_requests(load_point, prompts, requests_per_repeat(load_point, prompts), "bench")
        readings: dict[str, list[agreement.Reading]] = {agreement.TUNER: [], agreement.BENCH: []}
        turns = agreement.interleaved(job.blocks)
        for turn, client in enumerate(turns, start=1):
            say(f"{candidate.label}, concurrency {load_point.concurrency}: round {turn} of {len(turns)}, {client}")
            if client == agreement.TUNER:
                measured = asyncio.run(measure(endpoint, work, running.check_alive, lambda phase: None))
                reading = tuner_reading(measured, candidate)
            else:
                reading = run_bench(bench, endpoint, requests, load_point.concurrency, warmups)
            readings[client].append(reading)
        clock = asyncio.run(against_the_engine(endpoint, requests, load_point.concurrency))
        comparisons.append(
            agreement.Comparison(candidate.label, load_point.concurrency, len(requests), {**readings}, clock)
        )
        print(agreement.text_table(comparisons[-1]), flush=True)
    return comparisons


def verify(job: Job, chosen: Sequence[Candidate]) -> list[agreement.Comparison]:
    """Start an engine per candidate, one after another, and compare the clients on it."""
    comparisons: list[agreement.Comparison] = []
    for candidate in map(without_prefix_cache, chosen):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            bench = prepared(job.engine, resolve_model(job.target), folder)
            with running_engine(launch_of(job, candidate, folder), on_phase=say) as running:
                comparisons += compare_on(running, job, candidate, bench)
    return comparisons


def result_of(job: Job, comparisons: Sequence[agreement.Comparison], command: str, load: float) -> dict[str, Json]:
    """Return what is kept.  load: of the machine before the start, processes that wanted to run."""
    gpus = describe_gpus(visible_gpu_ids())
    machine = ", ".join(gpu.name for gpu in gpus) or f"{os.cpu_count()} cores of {cpu_model()}"
    return {
        "verify": "client",
        "ok": all(row.within for comparison in comparisons for row in comparison.rows),
        "date": datetime.now(UTC).date().isoformat(),
        "command": command,
        "machine": machine,
        "load_before": round(load, 2),
        "vllm": f"{job.engine.version} ({job.engine.build} build)",
        "tuner": tuner_version(),
        "target": job.target,
        "eval_set": job.eval_set.name,
        "max_tokens": job.load_points[0].max_tokens,
        "rounds": 2 * job.blocks,
        "tolerance": agreement.TOLERANCE,
        "comparisons": [agreement.as_json(comparison) for comparison in comparisons],
    }


def say(line: str) -> None:
    """Tell the user what is going on, beside the result."""
    print(f"  {line}", file=sys.stderr, flush=True)


def main(argv: Sequence[str]) -> int:
    """Compare, print, and return the exit code."""
    chosen = arguments(argv)
    load = os.getloadavg()[0]
    try:
        job = job_of(chosen)
        comparisons = verify(job, chosen_candidates(job.space, chosen.speculative))
    except (TunerError, BenchFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    kept = [word for word in argv if word != "--save"]
    command = f"make verify-client{f' ARGS={shlex.quote(shlex.join(kept))}' if kept else ''}"
    result = result_of(job, comparisons, command, load)
    if chosen.save:
        record.RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        record.PAGE.write_text(record.with_section(record.PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
