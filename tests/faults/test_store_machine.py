"""A run and its study, killed, damaged and resumed in any order: nothing finished is lost, nothing half is read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.faults.matrix import Group, fault
from tests.test_store import FINGERPRINT, MANIFEST, trial
from tuner.records import Candidate, Role, Speculation, Trial
from tuner.search.attributes import CANDIDATE
from tuner.search.database import open_storage
from tuner.search.samplers import Search
from tuner.search.study import Study
from tuner.store import RunStore, read_run

CANDIDATES = (
    Candidate({"max_model_len": 2048}),
    *(Candidate({"max_model_len": 2048}, Speculation("draft_model", k, "good", "demo:good")) for k in range(1, 5)),
)
LAST_STEP = 14
"""System calls of a `save` that change the disk, and some."""


class Killed(BaseException):
    """The process ends here."""


def dying_at(step: int, patched: pytest.MonkeyPatch) -> None:
    """Let the process end at the `step`-th system call that changes the disk; a file begun then is half written."""
    left = [step]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return real(*args, **kwargs)

        return call

    for name in ("replace", "fsync", "unlink", "mkdir"):
        patched.setattr(os, name, counted(getattr(os, name)))
    real_open = Path.open

    def opened(path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if "w" in mode:
            left[0] -= 1
            if left[0] == 0:
                with real_open(path, "wb") as stream:
                    stream.write(b'{"record": ')
                raise Killed
        return real_open(path, mode, *args, **kwargs)

    patched.setattr(Path, "open", opened)


class Sweeping(RuleBasedStateMachine):
    """What a driver does, and what happens to it.

    kept: what is finished, by name: saved whole, and not damaged since.  moved: damaged trials that a resume has met.
    """

    empty_database: Path

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="tuner-store-"))
        self.out = self.root / "run"
        self.store: RunStore | None = None
        self.study: Study | None = None
        self.kept: dict[str, Trial] = {}
        self.unsure: Trial | None = None
        self.untold: Trial | None = None
        self.damaged: set[str] = set()
        self.moved = 0
        self.number = 0

    @initialize()
    def begin(self) -> None:
        self.out.mkdir()
        self.resume()

    @precondition(lambda self: self.store is None)
    @rule()
    def resume(self) -> None:
        self.store = RunStore.open(self.out, FINGERPRINT, MANIFEST)
        found = {one.record.name: one for one in self.store.trials()}
        if self.unsure is not None and self.unsure.record.name in found:
            self.kept[self.unsure.record.name] = self.unsure
        self.unsure = self.untold = None
        self.moved += len(self.damaged)
        assert {broken.path.name for broken in self.store.broken} == self.damaged
        self.damaged = set()
        assert found == self.kept
        if not (self.out / "study.db").exists():
            shutil.copy(self.empty_database, self.out / "study.db")  # Optuna takes half a second to make its tables
        self.study = Study.open(f"sqlite:///{self.out}/study.db", "run", CANDIDATES, (0.0,), Search("grid"))
        self.study.reconcile([(one.candidate, [one.phases.total_s], {}) for one in self.store.records()])

    @precondition(lambda self: self.study is not None and self.untold is None)
    @rule(at=st.sampled_from(range(LAST_STEP + 1)))
    def measure_and_keep(self, at: int) -> None:
        """Ask, measure, save; at: the system call at which the process is killed and called again, 0 for none."""
        assert self.store is not None and self.study is not None
        candidate = self.study.ask().candidate
        if candidate is None:
            return
        assert all(candidate.key != one.record.candidate.key for one in self.kept.values()), "measured twice"
        made = trial(self.number, samples=1)
        record = replace(made.record, candidate=candidate, role=Role.CANDIDATE if candidate.k else Role.BASELINE)
        self.untold = Trial(replace(record, phases=replace(record.phases, total_s=1.0 + self.number)), made.samples)
        self.number += 1
        with pytest.MonkeyPatch.context() as patched:
            if at:
                dying_at(at, patched)
            try:
                self.store.save(self.untold)
            except Killed:
                self.unsure = self.untold
        if self.unsure is not None:
            self.kill()
            self.resume()
        else:
            self.kept[self.untold.record.name] = self.untold

    @precondition(lambda self: self.study is not None and self.untold is not None)
    @rule()
    def tell(self) -> None:
        assert self.study is not None and self.untold is not None
        self.study.tell(self.untold.record.candidate, [self.untold.record.phases.total_s], {})
        self.untold = None

    @precondition(lambda self: self.store is not None)
    @rule()
    def finish(self) -> None:
        assert self.store is not None
        self.store.finish({"verdict": "do_not"})
        assert self.store.finished

    @precondition(lambda self: self.store is not None)
    @rule()
    def kill(self) -> None:
        """End as by SIGKILL: the kernel frees the lock, and nothing else is put in order."""
        assert self.store is not None
        if self.study is not None:
            self.study.close()
        self.store._lock._lock.release(force=True)
        self.store = self.study = None

    @precondition(lambda self: self.store is None and self.kept.keys() - self.damaged and self.unsure is None)
    @rule(data=st.data(), file=st.sampled_from(["record.json", "samples.parquet"]))
    def damage(self, data: st.DataObject, file: str) -> None:
        if len(self.kept) == 1 and not (self.out / "run.json").exists():
            return  # one trial at least has to say whose the directory is
        name = data.draw(st.sampled_from(sorted(self.kept)))
        path = self.out / "trials" / name / file
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] = 0xFF  # in no JSON, and under the checksum of samples
        changed = bytes(content) != path.read_bytes()
        path.write_bytes(content)
        if changed:
            del self.kept[name]
            self.damaged.add(name)

    @precondition(lambda self: self.store is None)
    @rule(how=st.sampled_from([b"", b"no database", None]))
    def damage_the_study(self, how: bytes | None) -> None:
        path = self.out / "study.db"
        if how is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(how)

    @precondition(lambda self: self.store is None and self.kept)
    @rule()
    def lose_the_manifest(self) -> None:
        (self.out / "run.json").unlink(missing_ok=True)

    @invariant()
    def nothing_finished_is_lost_and_no_half_is_read(self) -> None:
        if self.store is None:
            return
        assert self.store.trials() == tuple(sorted(self.kept.values(), key=lambda one: one.record.number))
        assert read_run(self.out)[1] == self.store.trials()
        assert not list(self.out.rglob("*.tmp"))
        aside = self.out / "quarantine"
        assert self.moved == (sum(path.is_dir() for path in aside.iterdir()) if aside.exists() else 0)

    @invariant()
    def the_study_agrees_with_the_records(self) -> None:
        if self.store is None or self.study is None:
            return
        told = {one.user_attrs[CANDIDATE]: one.values for one in self.study._told()}
        untold = self.untold.record.candidate.key if self.untold else None
        records = {one.candidate.key: [one.phases.total_s] for one in self.store.records()}
        assert told == {key: values for key, values in records.items() if key != untold}

    def teardown(self) -> None:
        if self.store is not None:
            self.kill()
        shutil.rmtree(self.root)


@fault(
    Group.CORRUPTION,
    "kills between any two writes, damaged trials, a damaged or lost study and resumes, in any order",
    sees="what was damaged, by name",
    keeps="every trial that was finished and not damaged; the study says what the records say",
)
def test_a_run_in_any_order_of_kills_damage_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # what reached the disk is no matter: nothing loses power
    Sweeping.empty_database = tmp_path / "study.db"
    open_storage(f"sqlite:///{Sweeping.empty_database}").engine.dispose()
    run_state_machine_as_test(
        Sweeping,
        settings=settings(
            max_examples=int(os.environ.get("STORE_RUNS", "12")),
            stateful_step_count=10,
            phases=[Phase.generate],  # ten steps can be read without shrinking, which takes minutes here
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
