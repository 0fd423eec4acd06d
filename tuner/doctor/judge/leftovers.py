"""Judges what earlier sweeps left behind. Pure: it says which command ends or removes it, and does neither."""

from __future__ import annotations

from tuner.doctor.check import Check, State, gib
from tuner.doctor.facts import LeftFiles, Leftovers, ProcessFacts, RunFacts
from tuner.records import Json

MUCH = 2**30


def judge_leftovers(facts: Leftovers) -> tuple[Check, ...]:
    """Engines that outlived their sweep, locks, files."""
    lost = [process for process in facts.processes if _is_lost(process)]
    living = [process for process in facts.processes if process.role == "supervisor" and process.parent_alive]
    found = [_lost(process) for process in lost]
    found += [_busy(living)] if living else []
    found += [_run(run) for run in facts.runs]
    found += [_files(files) for files in facts.files]
    return tuple(found) or (Check("leftovers", State.OK, "nothing is left of earlier sweeps"),)


def _is_lost(process: ProcessFacts) -> bool:
    if process.role == "supervisor":
        return not process.parent_alive
    return not process.supervised and not process.parent_alive


def _lost(process: ProcessFacts) -> Check:
    what = {
        "supervisor": "a sweep's supervisor outlived its sweep; its engine's processes cannot be ended, it seems",
        "engine": "an engine of a sweep runs without its sweep and holds memory",
        "engine core": "a vLLM process runs without its server (perhaps of a killed sweep) and holds memory",
    }[process.role]
    age = f"for {process.age_s / 3600:.1f} h" if process.age_s >= 3600 else f"for {process.age_s / 60:.0f} min"
    step = f"If it is not wanted: kill {process.pid}; sleep 10; kill -9 {process.pid}"
    values: dict[str, Json] = {"pid": process.pid, "role": process.role, "age_s": process.age_s}
    return Check("lost_process", State.WARN, f"process {process.pid}, {age}: {what}", step, values)


def _busy(living: list[ProcessFacts]) -> Check:
    pids = ", ".join(str(process.pid) for process in living)
    what = f"{len(living)} engine(s) of a running sweep (supervisor process {pids}): measure one thing at a time"
    return Check("running_engines", State.INFO, what, "", {"pids": [process.pid for process in living]})


def _run(run: RunFacts) -> Check:
    values: dict[str, Json] = {"path": run.path, "held": run.held}
    if run.held:
        by = run.holder or "a process that did not say who it is"
        return Check("run_locked", State.INFO, f"{run.path} is being written by {by}", "", values)
    what = f"{run.path}: its sweep ({run.holder}) was killed. The lock is free, and finished trials are kept"
    return Check("run_interrupted", State.INFO, what, "The same command goes on where it ended.", values)


def _files(files: LeftFiles) -> Check:
    size = f", {gib(files.size_bytes)}" if files.size_bytes else ""
    what = f"{files.where}: {files.count} {files.kind} of processes that ended{size}"
    step = f"To remove them: {files.command}"
    if files.in_use:
        step = f"To remove them, once nothing of the kind runs here any more: {files.command}"
    values: dict[str, Json] = {
        "path": files.where,
        "count": files.count,
        "size_bytes": files.size_bytes,
        "in_use": files.in_use,
    }
    state = State.WARN if files.size_bytes >= MUCH else State.INFO
    return Check(f"left_{files.kind.replace(' ', '_').lower()}", state, what, step, values)
