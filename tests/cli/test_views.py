import io
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from tuner.cli.views import Dashboard, PlainView, QuietView, RichView
from tuner.progress import Progress, WorkerProgress
from tuner.records import Candidate, Failure, FailureKind, PhaseTimes, Role, Speculation, TrialRecord, WorkerFacts

GOOD = Candidate({}, Speculation("draft_model", 4, "good", "/models/good"))
PROGRESS = Progress(
    planned=5,
    done=2,
    failed=0,
    elapsed_s=60,
    left_s=90,
    best="good K=4 1.70x",
    workers=(WorkerProgress("GPU [0]", "good K=4", "chat c=1 repeat 1/3", 12),),
)


def record(failure: Failure | None = None) -> TrialRecord:
    phases = PhaseTimes(total_s=65)
    return TrialRecord(7, Role.CANDIDATE, GOOD, WorkerFacts("d", "cpu", "n"), "t", phases, failure=failure)


def test_the_live_view_keeps_finished_trials_above_the_present_ones() -> None:
    screen = io.StringIO()
    with RichView(Console(file=screen, force_terminal=True, width=100, color_system=None)) as view:
        view.update(PROGRESS)
        view.trial_done(record(), "TPOT 8 ms [x]")
        view.trial_done(record(Failure(FailureKind.CRASHED, "boom")), "failed (crashed): boom")
        view.message("trial 8: [bold]literally[/]")
        view.update(PROGRESS)
    shown = screen.getvalue()
    assert "done trial 7  good K=4  TPOT 8 ms [x]" in shown
    assert "failed trial 7" in shown
    assert "[bold]literally[/]" in shown
    assert "2/5 trials, about 1 min 30 s left" in shown and "best so far: good K=4 1.70x" in shown


def test_the_plain_view_is_a_line_an_event_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainView()
    view.message("hello")
    view.trial_done(record(), "TPOT 8 ms")
    view.update(PROGRESS)  # too soon for a sign of life
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == ["hello", "trial 7 done in 1 min 05 s: good K=4: TPOT 8 ms"]


def test_a_sign_of_life_comes_when_nothing_else_was_said_for_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.cli.views.PLAIN_EVERY_S", 0.0)
    PlainView().update(PROGRESS)
    assert "2/5 trials, good K=4: chat c=1 repeat 1/3, about 1 min 30 s left" in capsys.readouterr().err


def test_the_quiet_view_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    view = QuietView()
    view.message("hello")
    view.trial_done(record(), "TPOT")
    view.update(PROGRESS)
    told = capsys.readouterr()
    assert told.out == told.err == ""


def drawn(width: int, workers: int = 1) -> list[str]:
    worker = WorkerProgress("NVIDIA H200", "Qwen3-0.6B K=4", "chat c=32 T=0 repeat 2/3 (GPU 97%) 12/32", 75, 190)
    screen = io.StringIO()
    progress = replace(PROGRESS, left_s=4000, workers=(worker,) * workers)
    Console(file=screen, width=width, color_system=None).print(Dashboard(progress))
    return screen.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_live_view_fits_the_terminal_line_by_line(width: int, workers: int) -> None:
    lines = drawn(width, workers)
    assert len(lines) == workers + 2
    assert max(map(len, lines)) <= width
    assert all("Qwen3-0." in line and "1 min 15 s" in line for line in lines[:workers])
    assert "2/5 trials, about 1 h 06 min left" in lines[workers]


def test_what_a_wide_terminal_says_more() -> None:
    assert "NVIDIA H200" not in drawn(60)[0] and "NVI" in drawn(60, 2)[0]  # which of two workers
    assert "NVIDIA H200" in drawn(80)[0] and "of about" not in drawn(80)[0]
    assert "1 min 15 s of about 3 min 10 s" in drawn(100)[0]


@pytest.mark.parametrize("best", ["", "good K=4 1.70x with quite a long name of its draft"])
def test_a_terminals_own_ctrl_c_fits_behind_the_last_line(best: str) -> None:
    screen = io.StringIO()
    with RichView(Console(file=screen, force_terminal=True, width=40, color_system=None)) as view:
        view.update(replace(PROGRESS, best=best))
    lines = [line.rstrip() for line in re.split(r"[\r\n]+|\x1b\[[0-9?]*[A-Za-z]", screen.getvalue())]
    assert any("2/5 trials" in line for line in lines)
    assert max(map(len, lines)) == 38


ON_A_TERMINAL = """
from tuner.cli.views import open_view
from tuner.progress import Progress, WorkerProgress
with open_view(quiet=False) as view:
    view.update(Progress(5, 2, 0, 60, 90, "good K=4 1.70x", (WorkerProgress("GPU", "good K=4", "loading", 12),)))
    view.message("trial 3 starts")
"""


def on_a_terminal(code: str = ON_A_TERMINAL, ends: int = 0, **env: str) -> str:
    """Return what a program whose standard error is a terminal writes there.  ends: its exit code."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen([sys.executable, "-c", code], env={**kept, **env}, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        assert process.wait() == ends
    os.close(ours)
    return shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux says so when the other end is closed
        return b""


def test_a_terminal_gets_the_live_view_in_colours_unless_it_wants_none() -> None:
    cyan = "\x1b[36m"
    assert cyan in on_a_terminal(TERM="xterm-256color")
    plain = on_a_terminal(TERM="xterm-256color", NO_COLOR="1")
    assert cyan not in plain and "2/5 trials" in plain


STOPPED_ON_A_TERMINAL = """
import os, signal, time
from tuner.cli.signals import ending_cleanly
from tuner.cli.views import open_view
from tuner.progress import Progress, WorkerProgress
signal.signal(signal.SIGINT, signal.default_int_handler)
with ending_cleanly("Kept.", lambda: "tuner sweep x"), open_view(quiet=False) as view:
    view.update(Progress(5, 2, 0, 60, 90, "good K=4 1.70x", (WorkerProgress("GPU", "good K=4", "loading", 12),)))
    time.sleep(0.5)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    finally:
        view.update(Progress(5, 2, 0, 60, 90, "good K=4 1.70x", (WorkerProgress("GPU", "good K=4", "late", 12),)))
        time.sleep(0.5)  # engines end
"""


def test_a_stopped_sweep_leaves_no_half_of_the_live_view_behind() -> None:
    """A line written between two redraws would be taken for a part of the first, and the rest of it stay."""
    shown = on_a_terminal(STOPPED_ON_A_TERMINAL, 130, TERM="xterm-256color", NO_COLOR="1", COLUMNS="60")
    before, _, after = shown.partition("stopping: engines are ended first")
    assert "2/5 trials" in before
    assert "trials" not in after and "late" not in after
    assert before.endswith("\x1b[2K")  # in the place of the live part, not below it
    _, _, last = after.rpartition("\x1b[2K")  # the live part is taken away, then comes the word
    assert "stopping" not in last
    assert "stopped. Kept. Resume with: tuner sweep x" in last


def test_a_terminal_that_cannot_move_its_cursor_gets_lines() -> None:
    assert on_a_terminal(TERM="dumb").split() == ["trial", "3", "starts"]


def test_errors_are_red_unless_no_colours_are_wanted() -> None:
    code = "from tuner.cli import main; main(['status', '/proc'])"
    assert "\x1b[31m" in on_a_terminal(code, 2, TERM="xterm")
    assert on_a_terminal(code, 2, TERM="xterm", NO_COLOR="1").startswith("error: /proc is not a run of tuner")
