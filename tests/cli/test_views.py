import io

import pytest
from rich.console import Console

from tuner.cli.views import PlainView, QuietView, RichView
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
    assert "2/5" in shown and "best so far: good K=4 1.70x, about 1 min 30 s left" in shown


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
