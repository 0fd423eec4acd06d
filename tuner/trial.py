"""One trial: start an engine, measure it, stop it, and say what was seen. An expected failure is a record too."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tuner.engine import logscan
from tuner.engine.api_key import engine_api_key
from tuner.engine.argv import engine_command
from tuner.engine.client import Endpoint
from tuner.engine.device.monitor import DeviceMonitor
from tuner.engine.failures import Ending, Phase, failure_cause
from tuner.engine.load import Work
from tuner.engine.measure import Measured, measure
from tuner.engine.process import Launch, RunningEngine, free_port, launched_facts, running_engine
from tuner.engine.resolve import Engine
from tuner.errors import (
    EngineCrashed,
    EngineError,
    EngineRefused,
    EngineStuck,
    EngineTimeout,
    MeasurementInvalid,
    PoolError,
    SpeculationInactive,
    WrongServer,
)
from tuner.records import (
    Candidate,
    EngineFacts,
    EvalSet,
    Failure,
    FailureKind,
    Fix,
    LoadPoint,
    PhaseTimes,
    Protocol,
    Role,
    Trial,
    TrialRecord,
    WorkerFacts,
)
from tuner.space.model_refs import user_cache
from tuner.space.versions import version_row

_KINDS: Mapping[type[EngineError], FailureKind] = {
    EngineCrashed: FailureKind.CRASHED,
    EngineTimeout: FailureKind.TIMEOUT,
    EngineStuck: FailureKind.STUCK,
    WrongServer: FailureKind.WRONG_SERVER,
    EngineRefused: FailureKind.REFUSED,
    SpeculationInactive: FailureKind.SPECULATION_INACTIVE,
    MeasurementInvalid: FailureKind.INVALID,
}


@dataclass(frozen=True)
class TrialSpec:
    """Everything that one trial needs; can be pickled, so that a worker elsewhere can run it.

    number: position in the run.  target: as the user gave it.  log_dir: directory of this trial's own; the engine's
    log becomes `engine.log` in it, on the machine where the trial runs.  env: for the engine.  served: the model that
    runs instead of the target.  fix: why the candidate has other arguments than the space gave it.
    """

    number: int
    role: Role
    candidate: Candidate
    engine: Engine
    target: str
    load_points: tuple[LoadPoint, ...]
    eval_sets: Mapping[str, EvalSet]
    protocol: Protocol
    log_dir: str
    env: Mapping[str, str]
    round: int | None = None
    served: str = ""
    fix: Fix | None = None


def run_trial(spec: TrialSpec, worker: WorkerFacts, report: Callable[[str], None]) -> Trial:
    """Run one trial and return its record and samples.

    report: gets the phase in words as it changes. An EngineError becomes the record's failure; anything else that is
    raised is a fault of ours, or an interruption, and propagates (the engine is stopped on the way).
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    life = _EngineLife(launch_of(spec, worker), spec.candidate, worker)
    life.launch.log_path.unlink(missing_ok=True)  # An interrupted attempt's log must not explain this one's failure.
    failure = None
    try:
        life.run(Work(spec.candidate, spec.load_points, spec.eval_sets, spec.protocol, spec.role), report)
    except EngineError as error:
        failure = describe_failure(error, life.launch.log, life.ending(spec.engine.version))
    measured = life.measured if failure is None else None
    record = TrialRecord(
        number=spec.number,
        role=spec.role,
        candidate=spec.candidate,
        worker=worker,
        started_at=started_at,
        phases=life.phases(),
        engine=life.facts,
        loads=measured.loads if measured else (),
        failure=failure,
        round=spec.round,
        served=spec.served,
        fix=spec.fix,
    )
    return Trial(record, measured.samples if measured else ())


def unmeasured(
    number: int,
    role: Role,
    candidate: Candidate,
    worker: WorkerFacts,
    failure: Failure,
    round_: int | None = None,
    served: str = "",
    fix: Fix | None = None,
) -> TrialRecord:
    """Return the record of a trial for which no engine could be started."""
    return TrialRecord(
        number=number,
        role=role,
        candidate=candidate,
        worker=worker,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        phases=PhaseTimes(),
        failure=failure,
        round=round_,
        served=served,
        fix=fix,
    )


def describe_failure(error: EngineError, log: str, ending: Ending | None = None) -> Failure:
    """Return a failed trial's reason.

    log: the engine's log, for its cause and its end.  ending: what else is known of the engine's end; what the error
    tells is put into it here.
    """
    kind = _KINDS[type(error)]
    code = error.code if isinstance(error, EngineCrashed) else None
    found = failure_cause(log, replace(ending or Ending(), kind=kind, code=code, said=error.message))
    return Failure(
        kind=kind,
        message=error.message,
        next_step=error.next_step,
        cause=logscan.first_cause(log),
        log_tail=logscan.last_lines(log),
        code=found.code if found else "",
        what=found.what if found else "",
        advice=found.advice if found else error.next_step,
        change=found.change if found else {},
    )


def lost_worker(error: PoolError) -> Failure:
    """Return the failure of a trial whose worker was lost."""
    kind = FailureKind.WORKER_LOST
    found = failure_cause("", Ending(kind=kind, said=error.message))
    assert found is not None  # only what served has no cause
    return Failure(kind, error.message, error.next_step, code=found.code, what=found.what, advice=found.advice)


class _Repeated:
    """Tells the phase, and tells it again: whoever listens may end the trial by raising, within a second."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._phase = ""

    def __call__(self, phase: str) -> None:
        self._phase = phase
        self._report(phase)

    def again(self) -> None:
        if self._phase:
            self._report(self._phase)


@dataclass
class _EngineLife:
    """One engine from start to stop: what it was, what was measured in it, and when. Times are monotonic seconds."""

    launch: Launch
    candidate: Candidate
    worker: WorkerFacts
    facts: EngineFacts | None = None
    measured: Measured | None = None
    began_s: float = field(default_factory=time.monotonic)
    ready_s: float | None = None
    done_s: float | None = None
    ended_s: float = 0.0

    def run(self, work: Work, report: Callable[[str], None]) -> None:
        try:
            with running_engine(self.launch, on_phase=report) as engine:
                self.ready_s = time.monotonic()
                try:
                    self._measure(engine, work, report)
                finally:
                    self.done_s = time.monotonic()
        finally:
            self.ended_s = time.monotonic()
            if self.facts is None:
                self.facts = launched_facts(self.launch)

    def _measure(self, engine: RunningEngine, work: Work, report: Callable[[str], None]) -> None:
        self.facts = note_context_length(engine.facts, self.candidate)
        endpoint = Endpoint(engine.base_url, engine.served_name, engine.api_key)
        repeated = _Repeated(report)

        def check_alive() -> None:
            repeated.again()
            engine.check_alive()

        with DeviceMonitor(self.worker.gpu_ids, engine.supervised.supervisor_pid, self.worker.cpu_cores) as monitor:
            self.measured = asyncio.run(measure(endpoint, work, check_alive, repeated, monitor))

    def ending(self, version: str) -> Ending:
        """Return what is known of the engine's end from here.  version: of vLLM."""
        return Ending(
            phase=Phase.STARTING if self.ready_s is None else Phase.UNDER_LOAD,
            arguments=self.candidate.engine_args,
            k=self.candidate.k,
            default_memory_share=version_row(version).gpu_memory_utilization,
        )

    def phases(self) -> PhaseTimes:
        """Return the seconds of each phase. A start that failed is all start, a measurement that failed all load."""
        total_s = self.ended_s - self.began_s
        if self.ready_s is None or self.done_s is None:
            return PhaseTimes(start_s=total_s, total_s=total_s)
        return PhaseTimes(
            start_s=self.ready_s - self.began_s,
            warmup_s=self.measured.warmup_s if self.measured else 0.0,
            load_s=self.measured.load_s if self.measured else self.done_s - self.ready_s,
            stop_s=self.ended_s - self.done_s,
            total_s=total_s,
        )


def note_context_length(facts: EngineFacts, candidate: Candidate) -> EngineFacts:
    """Add to the changed settings that the engine serves another max_model_len than it was asked for."""
    asked = candidate.engine_args.get("max_model_len")
    if not isinstance(asked, int) or facts.max_model_len in (None, asked):
        return facts
    changed = f"max_model_len: {asked} was asked for, the engine serves {facts.max_model_len}"
    return replace(facts, changed_settings=(*facts.changed_settings, changed))


def launch_of(spec: TrialSpec, worker: WorkerFacts) -> Launch:
    """Return how to start the trial's engine.

    All lives get one and the same environment, but for the key of releases that do not name their compile cache by it:
    a variable that differs may make an engine compile everything again.
    """
    port = free_port()
    served_name = f"trial-{spec.number}-{secrets.token_hex(4)}"
    # Ray's numbers are NVML's, which go by PCI bus; CUDA's own default order goes by speed.
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    devices = {"CUDA_VISIBLE_DEVICES": ",".join(worker.gpu_ids), **order} if worker.gpu_ids else {}
    return Launch(
        command=engine_command(spec.engine, spec.served or spec.target, served_name, port, spec.candidate),
        env={**spec.env, **devices},
        log_path=Path(spec.log_dir) / "engine.log",
        port=port,
        served_name=served_name,
        api_key=engine_api_key(spec.engine.version, user_cache()),
        start_timeout_s=spec.protocol.start_timeout_s,
        stall_timeout_s=spec.protocol.stall_timeout_s,
        version=spec.engine.version,
    )
