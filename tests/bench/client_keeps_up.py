"""Does the load client keep up? 64 streams of a simulated engine that takes 20 ms a token; ends in one JSON line.

    python tests/bench/client_keeps_up.py

Client and engine share this machine's cores. Exit code 1 if the measured TPOT is more than 1 % off.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time

from tuner.engine.resolve import resolve_engine
from tuner.records import Candidate, EvalSet, LoadPoint, Prompt, Protocol, Role, Trial, WorkerFacts
from tuner.trial import TrialSpec, run_trial

CONCURRENCY = 64
TOKENS = 128
TRUE_TPOT_S = 0.020
ALLOWED = 0.01


def measured_trial(log_dir: str) -> Trial:
    """Run one trial of the steady profile at the bench's concurrency."""
    load_point = LoadPoint(eval_set="bench", concurrency=CONCURRENCY, max_tokens=TOKENS, ignore_eos=True)
    prompts = tuple(
        Prompt(id=f"p{i}", category="bench", messages=({"role": "user", "content": f"Count up from {i}."},))
        for i in range(CONCURRENCY)
    )
    spec = TrialSpec(
        number=1,
        role=Role.BASELINE,
        candidate=Candidate(),
        engine=resolve_engine("sim:steady"),
        target="steady",
        load_points=(load_point,),
        eval_sets={"bench": EvalSet("bench", prompts, sha256="")},
        protocol=Protocol(repeats=3),
        log_dir=log_dir,
        env={},
    )
    return run_trial(spec, WorkerFacts(device_key="bench", device="cpu", node="here"), report=lambda phase: None)


def main() -> int:
    """Print the result; return the exit code."""
    with tempfile.TemporaryDirectory() as log_dir:
        cpu_before_s = time.process_time()
        trial = measured_trial(log_dir)
        cpu_s = time.process_time() - cpu_before_s
    record = trial.record
    if record.failure:
        print(json.dumps({"bench": "client_keeps_up", "ok": False, "failure": record.failure.message}))
        return 1
    tpots = sorted(sample.tpot_s for sample in trial.samples if sample.tpot_s is not None)
    off = statistics.median(tpots) / TRUE_TPOT_S - 1
    problems = [problem for load in record.loads for repeat in load.repeats for problem in repeat.problems]
    ok = abs(off) <= ALLOWED and not problems
    result = {
        "bench": "client_keeps_up",
        "ok": ok,
        "concurrency": CONCURRENCY,
        "requests": len(tpots),
        "true_tpot_s": TRUE_TPOT_S,
        "median_tpot_s": round(statistics.median(tpots), 6),
        "off_by": round(off, 5),
        "allowed": ALLOWED,
        "slowest_tpot_s": round(tpots[-1], 6),
        "client_cpu_share": round(cpu_s / (record.phases.warmup_s + record.phases.load_s), 3),
        "problems": problems,
    }
    print(json.dumps(result))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
