import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.recording_view import RecordingView
from tuner.cli.status import status_lines
from tuner.errors import OutputError
from tuner.progress import Progress, WorkerProgress
from tuner.status import KeepingStatus, State, Status, read_status, status_json
from tuner.store import RunStore
from tuner.store.lock import HOLDER_FILE, RunLock
from tuner.store.reading import STATUS_FILE

WORKING = Progress(5, 2, 1, 60.0, 90.0, "good K=4 1.70x", (WorkerProgress("GPU", "good K=4", "loading", 12.0, 95.0),))
IDLE = Progress(5, 5, 1, 60.0, 0.0, "good K=4 1.70x", (WorkerProgress("GPU"),))


def keep(run: Path, *states: Progress, earlier: int = 0) -> RecordingView:
    shown = RecordingView()
    view = KeepingStatus(shown, run, earlier)
    for state in states:
        view.update(state)
    return shown


def lines(status: Status) -> str:
    return "\n".join(status_lines(status))


def test_who_watches_still_sees_everything(tmp_path: Path) -> None:
    view = KeepingStatus(shown := RecordingView(), tmp_path)
    view.message("hello")
    view.update(WORKING)
    assert shown.messages == ["hello"] and shown.states == [WORKING]


def test_the_state_is_kept_once_a_second_and_at_once_when_a_trial_ended_or_nothing_runs(tmp_path: Path) -> None:
    kept = tmp_path / STATUS_FILE

    def done_in(path: Path) -> int:
        found = json.loads(path.read_text())["progress"]["done"]
        assert isinstance(found, int)
        return found

    view = KeepingStatus(RecordingView(), tmp_path)
    view.update(WORKING)
    view.update(replace(WORKING, done=3))
    assert done_in(kept) == 2
    view.update(IDLE)
    assert done_in(kept) == 5
    always = KeepingStatus(RecordingView(), tmp_path, every_s=0.0)
    always.update(WORKING)
    always.update(replace(WORKING, done=4))
    assert done_in(kept) == 4


def test_a_disk_that_is_full_does_not_stop_the_sweep(tmp_path: Path) -> None:
    assert keep(tmp_path / "not there", WORKING).states == [WORKING]


def test_a_running_sweep(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with RunStore.open(run, {"a": 1}, {}):
        assert read_status(run).state is State.STARTING
        keep(run, WORKING, earlier=3)
        found = read_status(run)
        assert (found.state, found.alive, found.progress, found.earlier) == (State.MEASURING, True, WORKING, 3)
        assert found.pid == os.getpid()
        told = lines(found)
        keep(run, replace(WORKING, left_between_s=(70.0, 130.0)))
        assert "left     1 min 10 s to 2 min 10 s, then the report" in lines(read_status(run))
        keep(run, IDLE)
        assert read_status(run).state is State.FINISHING
    assert "trials   2 of about 5 done, 1 of them failed; 3 more in earlier sessions" in told
    assert "best     good K=4 1.70x so far" in told
    assert "left     about 1 min 30 s" in told
    assert "worker   GPU: good K=4, loading, 12 s of about 1 min 35 s" in told


def test_a_finished_sweep(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with RunStore.open(run, {"a": 1}, {}) as store:
        keep(run, IDLE)
        store.finish({"verdict": "do_not"})
    found = read_status(run)
    assert (found.state, found.alive, found.pid) == (State.FINISHED, False, None)
    assert "state    finished: do_not" in lines(found)
    assert "worker" not in lines(found)


def test_an_interrupted_sweep(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with RunStore.open(run, {"a": 1}, {}):
        keep(run, WORKING)
    assert read_status(run).state is State.STOPPED
    assert "nobody is measuring: the same command goes on" in lines(read_status(run))


def test_a_killed_driver_is_not_taken_for_alive(tmp_path: Path) -> None:
    run = tmp_path / "run"
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom tuner.store import RunStore\n"
        "store = RunStore.open(Path(sys.argv[1]), {'a': 1}, {})\nos.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(run)], check=False)
    found = read_status(run)
    assert (found.state, found.alive) == (State.STOPPED, False)
    assert "ended without a word" in lines(found)


def test_another_process_with_the_same_number_is_not_the_driver(tmp_path: Path) -> None:
    lock = RunLock.acquire(tmp_path)
    keep(tmp_path, WORKING)
    os.utime(tmp_path / HOLDER_FILE, (1_000_000_000, 1_000_000_000))  # long before this process began
    assert read_status(tmp_path).alive is False
    lock.release()


def test_a_driver_on_another_host_is_known_by_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = RunLock.acquire(tmp_path)
    keep(tmp_path, WORKING)
    written_s = (tmp_path / STATUS_FILE).stat().st_mtime
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    assert read_status(tmp_path, now_s=written_s + 2).alive is True
    silent = read_status(tmp_path, now_s=written_s + 100)
    assert silent.alive is None and silent.state is State.MEASURING
    assert "not known to live: last word 1 min 40 s ago" in lines(silent)
    lock.release()


def test_what_an_earlier_session_wrote_says_nothing_of_this_one(tmp_path: Path) -> None:
    lock = RunLock.acquire(tmp_path)
    keep(tmp_path, WORKING)
    written = json.loads((tmp_path / STATUS_FILE).read_text())
    (tmp_path / STATUS_FILE).write_text(json.dumps({**written, "pid": 1}))
    assert read_status(tmp_path).state is State.STARTING
    (tmp_path / STATUS_FILE).write_text("{half a fi")
    assert read_status(tmp_path).state is State.STARTING
    lock.release()


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="not a run of tuner"):
        read_status(tmp_path)


def test_scripts_get_the_same(tmp_path: Path) -> None:
    with RunStore.open(tmp_path / "run", {"a": 1}, {}):
        keep(tmp_path / "run", WORKING)
        told = json.loads(json.dumps(status_json(read_status(tmp_path / "run"))))
    assert told["run"] == str(tmp_path / "run")
    assert (told["state"], told["alive"], told["progress"]["left_s"]) == ("measuring", True, 90.0)
    assert told["progress"]["workers"][0]["usual_s"] == 95.0


def test_a_run_that_lost_its_description_is_still_ours(tmp_path: Path) -> None:
    keep(tmp_path, WORKING)
    with RunStore.open(tmp_path, {"a": 1}, {}) as store:
        assert store.path == tmp_path
