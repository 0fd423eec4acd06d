"""A run directory: whole trials or none, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.matrix import Group, fault
from tuner.errors import OutputError
from tuner.records import (
    Candidate,
    Counters,
    EngineFacts,
    Failure,
    FailureKind,
    Fix,
    Json,
    LoadMeasurement,
    LoadPoint,
    PhaseTimes,
    Repeat,
    RequestSample,
    Role,
    Speculation,
    Trial,
    TrialRecord,
    WorkerFacts,
)
from tuner.store import RunStore, read_run
from tuner.store.codec import Damaged, StoredRecord, decode_record, decode_samples, encode_record, encode_samples

FINGERPRINT: dict[str, Json] = {"engine": {"version": "0.32.0"}, "load_points": ["chat-t0"]}
OTHER: dict[str, Json] = {"engine": {"version": "0.33.0"}, "load_points": ["chat-t0"]}
MANIFEST: dict[str, Json] = {"target": "demo:target", "repeat_with": ["tuner", "sweep", "x y"]}


def sample(index: int = 0, text: str = "Grüße, 你好") -> RequestSample:
    return RequestSample(
        "chat-t0",
        0,
        index,
        f"p{index}",
        "chat",
        0.5,
        0.625,
        1.75,
        17,
        3,
        "stop",
        text,
        (1, 2, 3),
        (1, 2),
        (0.625, 1.75),
    )


def trial(number: int = 0, k: int = 0, samples: int = 2) -> Trial:
    speculation = Speculation("draft_model", k, "good", "demo:good", {"a": [1, {"b": None}]}) if k else None
    point = LoadPoint("chat")
    counters = Counters(generation_tokens=6, prompt_tokens=34, requests=2, accepted_per_pos=(3, 1))
    record = TrialRecord(
        number=number,
        role=Role.CANDIDATE if k else Role.BASELINE,
        candidate=Candidate({"gpu_memory_utilization": 0.9, "enforce_eager": True}, speculation),
        worker=WorkerFacts("host/cpu", "a CPU", "host", cpu_cores=(0, 1)),
        started_at="2026-11-30T12:00:00Z",
        phases=PhaseTimes(1.0, 2.0, 3.0, 4.0, 10.0),
        engine=EngineFacts("0.32.0", ("python", "-m", "x"), {"A": "b"}, 1.0, 2048),
        loads=(LoadMeasurement(point, (Repeat(0, 1.5, counters, 2, 0, ("foreign traffic",)),), 0.5),),
    )
    return Trial(record, tuple(sample(index) for index in range(samples)))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "my run ü"


def open_run(out: Path, fingerprint: Mapping[str, Json] = FINGERPRINT) -> RunStore:
    return RunStore.open(out, fingerprint, MANIFEST)


@pytest.fixture
def run(out: Path) -> Iterator[RunStore]:
    with open_run(out) as store:
        yield store


# ---- what goes in comes out


def test_saved_trials_come_back_equal_and_in_order(out: Path, run: RunStore) -> None:
    trials = [trial(10, 3), trial(2), replace(trial(1, 1), samples=())]
    for each in trials:
        directory = run.save(each)
        assert (directory / "record.json").is_file()
    assert run.trials() == (trials[2], trials[1], trials[0])
    assert [record.number for record in run.records()] == [1, 2, 10]
    manifest, read = read_run(out)
    assert read == run.trials()
    assert (manifest.fingerprint, manifest.details) == (FINGERPRINT, MANIFEST)
    assert (manifest.broken, manifest.summary) == ((), None)


def test_a_saved_trial_is_never_overwritten(run: RunStore) -> None:
    run.save(trial())
    with pytest.raises(ValueError, match="saved already"):
        run.save(trial(samples=5))
    assert run.trials() == (trial(),)


def test_a_resumed_run_has_what_was_saved(out: Path) -> None:
    with open_run(out) as store:
        store.save(trial())
        assert store.earlier_manifest is None
    with RunStore.open(out, FINGERPRINT, {"target": "renamed"}) as again:
        assert again.records() == (trial().record,)
        assert again.earlier_manifest == MANIFEST
    assert read_run(out)[0].details == {"target": "renamed"}


def test_finished_until_another_trial_is_saved(out: Path, run: RunStore) -> None:
    assert not run.finished
    run.finish({"verdict": "do_not"})
    assert run.finished
    assert read_run(out)[0].summary == {"verdict": "do_not"}
    run.save(trial())
    assert not run.finished


def test_text_files_stay_inside_the_run(run: RunStore) -> None:
    assert run.write_text("best_config.yaml", "k: 3\n").read_text() == "k: 3\n"
    assert run.write_text("plots/notes.txt", "x").parent.name == "plots"
    with pytest.raises(ValueError, match="outside"):
        run.write_text("../elsewhere", "x")
    with pytest.raises(ValueError, match="not a trial's name"):
        run.trial_dir("../elsewhere")


def test_lone_surrogates_in_engine_text_do_not_cost_the_trial(run: RunStore) -> None:
    failure = Failure(FailureKind.CRASHED, "log says \udcff", log_tail=("\ud800",))
    strange = replace(trial(), record=replace(trial().record, failure=failure), samples=(sample(text="a\ud800"),))
    run.save(strange)
    (read,) = run.trials()
    assert read.samples[0].text == "a\\ud800"
    assert read.record.failure is not None
    assert read.record.ok is False


def test_an_undefined_number_is_refused_before_anything_is_written(run: RunStore) -> None:
    bad = replace(trial().record, phases=PhaseTimes(start_s=float("nan")))
    with pytest.raises(ValueError, match="JSON compliant"):
        run.save(Trial(bad))
    assert run.trials() == ()


finite = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
whole = st.integers(-(2**63), 2**63 - 1)
json_values = st.recursive(
    st.none() | st.booleans() | whole | finite | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
speculations = st.none() | st.builds(
    Speculation, words, st.integers(1, 16), words, st.none() | words, st.dictionaries(words, json_values, max_size=2)
)
request_samples = st.builds(
    RequestSample,
    *(words, whole, whole, words, words, finite, st.none() | finite, st.none() | finite),
    *(st.none() | whole, st.none() | whole, st.none() | words, words),
    *(st.lists(whole, max_size=4).map(tuple), st.lists(whole, max_size=4).map(tuple)),
    st.lists(finite, max_size=4).map(tuple),
    st.none() | words,
)


@st.composite
def records(draw: st.DrawFn) -> TrialRecord:
    for kind, strategy in ((float, finite), (str, words), (int, whole)):
        st.register_type_strategy(kind, strategy)
    env = st.dictionaries(words, words, max_size=2)
    return TrialRecord(
        number=draw(st.integers(0, 9999)),
        role=draw(st.sampled_from(Role)),
        candidate=Candidate(draw(st.dictionaries(words, json_values, max_size=3)), draw(speculations)),
        worker=draw(st.from_type(WorkerFacts)),
        started_at=draw(words),
        phases=draw(st.from_type(PhaseTimes)),
        engine=draw(st.none() | st.builds(EngineFacts, env=env)),
        loads=tuple(draw(st.lists(st.from_type(LoadMeasurement), max_size=2))),
        failure=draw(st.none() | st.builds(Failure, change=st.dictionaries(words, json_values, max_size=2))),
        fix=draw(st.none() | st.from_type(Fix)),
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records())
def test_any_record_survives_json(record: TrialRecord) -> None:
    assert decode_record(encode_record(StoredRecord(record, "run", "abc"))) == StoredRecord(record, "run", "abc")


@settings(max_examples=60, deadline=None)
@given(st.lists(request_samples, max_size=3).map(tuple))
def test_any_samples_survive_parquet(samples: tuple[RequestSample, ...]) -> None:
    assert decode_samples(encode_samples(samples)) == samples


# ---- killed in the middle

FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def _die_at(step: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the process end, as by SIGKILL, at the `step`-th system call that changes what is on disk."""
    calls = [0]

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            if calls[0] == step:
                os._exit(9)
            return real(*args, **kwargs)

        return call

    for name in ("replace", "fsync", "unlink", "mkdir"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    real_open = Path.open

    def half_written(path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        stream = real_open(path, mode, *args, **kwargs)
        if "w" in mode:
            calls[0] += 1
            if calls[0] == step:
                os.write(stream.fileno(), b'{"record": ')
                os._exit(9)
        return stream

    monkeypatch.setattr(Path, "open", half_written)
    return calls


def _in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked child and return its exit status (0 when it came to its end)."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - a forked child must not go on with pytest's own code
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@fault(
    Group.DRIVER,
    "killed at any system call of saving a trial",
    sees="nothing",
    keeps="that trial whole or not at all, and all others",
)
@FORKS
def test_killed_at_any_step_of_save_leaves_the_whole_trial_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = trial(0), trial(1, 3)
    encode_samples(first.samples)  # imports pyarrow here, once, not in each child
    outcomes = []
    for step in range(1, 40):
        out = tmp_path / str(step)
        with open_run(out) as store:
            store.save(first)
            store.finish({"verdict": "do_not"})

        def work(out: Path = out, step: int = step) -> None:
            with open_run(out) as store:
                _die_at(step, monkeypatch)
                store.save(second)

        status = _in_child(work)
        with open_run(out) as again:
            assert again.broken == ()
            kept = again.trials()
            assert kept in ((first,), (first, second))
            assert read_run(out)[1] == kept
            assert not [path for path in out.rglob("*") if path.name.endswith(".tmp")]
            if second not in kept:
                again.save(second)
            assert again.trials() == (first, second)
        outcomes.append((status, len(kept)))
        if status == 0:
            break
    assert outcomes[-1] == (0, 2)
    assert {status for status, _ in outcomes[:-1]} == {9}
    assert len(outcomes) >= 9
    assert outcomes[0] == (9, 1)


@fault(
    Group.DRIVER,
    "killed while the run directory is made",
    sees="nothing; the next call makes it",
    keeps="what was saved",
)
@FORKS
def test_killed_while_the_run_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in range(1, 40):
        out = tmp_path / str(step)

        def work(out: Path = out, step: int = step) -> None:
            _die_at(step, monkeypatch)
            open_run(out).save(trial())

        status = _in_child(work)
        with open_run(out) as again:
            assert again.trials() in ((), (trial(),))
            assert again.broken == ()
        if status == 0:
            return
    pytest.fail("never came to the end")


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(run: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.replace, []

    def full(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="No space left"):
        run.save(trial())
    assert run.records() == ()
    run.save(trial())
    assert run.trials() == (trial(),)


# ---- damage


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    position = random.Random(len(data)).randrange(len(data) // 3, len(data) - 80)
    data[position] ^= 1
    path.write_bytes(bytes(data))


def _garbage(path: Path) -> None:
    path.write_bytes(b"\xff\x00[[[[")


DAMAGE = pytest.mark.parametrize("damage", [_truncate, _empty, _flip, _garbage])


@DAMAGE
@pytest.mark.parametrize("file", ["record.json", "samples.parquet"])
def test_a_damaged_trial_is_set_aside_by_name_and_the_rest_used(
    out: Path, damage: Callable[[Path], None], file: str
) -> None:
    with open_run(out) as store:
        store.save(trial(0))
        bad = store.save(trial(1, 3))
    damage(bad / file)

    manifest, read = read_run(out)
    assert read == (trial(0),)
    assert [broken.path for broken in manifest.broken] == [bad]
    assert file in manifest.broken[0].reason
    assert bad.exists(), "reading changes nothing"

    with open_run(out) as again:
        assert again.trials() == (trial(0),)
        (broken,) = again.broken
        assert broken.moved_to == out / "quarantine" / bad.name
        assert file in str(broken)
        assert (out / "quarantine" / f"{bad.name}.reason.txt").read_text().strip() == broken.reason
        again.save(trial(1, 3))
        assert len(again.trials()) == 2
    assert read_run(out)[0].broken == ()


def test_a_trial_damaged_while_the_run_is_open(run: RunStore) -> None:
    run.save(trial(0))
    _flip(run.save(trial(1, 3)) / "samples.parquet")
    assert run.trials() == (trial(0),)
    assert run.records() == (trial(0).record,)
    assert len(run.broken) == 1


def test_damaged_twice_keeps_both(out: Path) -> None:
    for _ in range(2):
        with open_run(out) as store:
            _empty(store.save(trial()) / "record.json")
    open_run(out).close()
    assert len([path for path in (out / "quarantine").iterdir() if path.is_dir()]) == 2


@DAMAGE
def test_a_damaged_run_file_is_restored_because_the_trials_say_whose_they_are(
    out: Path, damage: Callable[[Path], None]
) -> None:
    with open_run(out) as store:
        store.save(trial())
    damage(out / "run.json")
    with pytest.raises(OutputError, match=r"run\.json cannot be used"):
        read_run(out)
    with pytest.raises(OutputError, match="another sweep's"):
        open_run(out, OTHER)
    with open_run(out) as again:
        assert again.trials() == (trial(),)
        assert [broken.path.name for broken in again.broken] == ["run.json"]
    assert read_run(out)[0].fingerprint == FINGERPRINT


@DAMAGE
def test_a_damaged_summary_means_not_finished(out: Path, damage: Callable[[Path], None]) -> None:
    with open_run(out) as store:
        store.finish({"verdict": "speculate", "padding": "x" * 200})
    damage(out / "summary.json")
    manifest, _ = read_run(out)
    assert manifest.summary is None
    assert [broken.path.name for broken in manifest.broken] == ["summary.json"]
    with open_run(out) as again:
        assert not again.finished
        assert [broken.path.name for broken in again.broken] == ["summary.json"]


@fault(
    Group.CORRUPTION,
    "a trial of another run is copied into this one",
    sees="the trial, named and set aside",
    keeps="the trials of this run",
)
def test_a_trial_copied_from_another_run_is_not_used(out: Path) -> None:
    with open_run(out, OTHER) as store:
        foreign = store.save(trial())
    with open_run(out) as beside:
        target = beside.trial_dir(foreign.name)
        shutil.copytree(foreign, target, dirs_exist_ok=True)
    with open_run(out) as again:
        assert again.trials() == ()
        assert "another run" in again.broken[0].reason


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 10**6), st.integers(0, 7))
def test_no_damage_to_a_record_goes_unnoticed(noise: bytes, position: int, bit: int) -> None:
    whole_record = encode_record(StoredRecord(trial(1, 3).record, "run", "abc"))
    flipped = bytearray(whole_record)
    flipped[position % len(flipped)] ^= 1 << bit
    for data in (noise, bytes(flipped), whole_record[: position % len(whole_record)]):
        with contextlib.suppress(Damaged):
            assert decode_record(data).record == trial(1, 3).record  # white space may change


# ---- which directory, and who may write there


def test_another_fingerprint_gets_a_run_beside(out: Path) -> None:
    with open_run(out) as store, open_run(out, OTHER) as other:
        assert store.path == out
        assert other.path.parent == out.parent
        assert other.path.name.startswith(f"{out.name}-")
        other.save(trial())
        assert store.trials() == ()
    with open_run(out, OTHER) as resumed:
        assert resumed.trials() == (trial(),)


def test_the_order_of_keys_is_no_difference(out: Path) -> None:
    open_run(out).close()
    with open_run(out, dict(reversed(FINGERPRINT.items()))) as again:
        assert again.path == out


def test_a_second_sweep_is_refused_and_told_who_holds_it(out: Path, run: RunStore) -> None:
    who = rf"another sweep \(process {os.getpid()} on .*, since 20.*tuner sweep 'x y'"
    with pytest.raises(OutputError, match=who) as caught:
        open_run(out)
    assert caught.value.next_step
    run.close()
    run.close()
    open_run(out).close()


def test_the_lock_of_a_killed_sweep_is_free(out: Path) -> None:
    code = (
        "import sys, os, pathlib, time; from tuner.store import RunStore;"
        "store = RunStore.open(pathlib.Path(sys.argv[1]), {'a': 1}, {}); print('open', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(out)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(OutputError, match=f"process {holder.pid} "):
            open_run(out, {"a": 1})
        holder.kill()
        holder.wait()
    open_run(out, {"a": 1}).close()


def test_a_directory_that_is_no_run_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(OutputError, match=r"thesis\.tex"):
        open_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(OutputError, match="is a file"):
        open_run(tmp_path / "thesis.tex")
    with pytest.raises(OutputError, match="not a run of tuner"):
        read_run(tmp_path)


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    with open_run(tmp_path) as store:
        assert store.path == tmp_path


def test_a_directory_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot write in"):
        open_run(tmp_path / "file" / "run")


@fault(
    Group.MACHINE,
    "no file descriptor is left while a run is opened",
    sees="one error; exit code 2",
    keeps="everything: it is not taken for damage",
)
def test_no_file_descriptor_left_is_not_damage(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_run(out) as store:
        store.save(trial())

    def none_left(path: Path) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched, pytest.raises(OutputError, match="Too many open files"):
        patched.setattr(Path, "read_bytes", none_left)
        open_run(out)
    with open_run(out) as again:
        assert again.trials() == (trial(),)
