import json
import os
import signal
import time
from collections.abc import Iterator

import pytest

from tuner.cli.signals import ending_cleanly, work_is_done


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """After a stop the signals stay ignored, as the process is about to end; this one goes on."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {signum: signal.getsignal(signum) for signum in signals}
    # A background job of a non-interactive shell inherits an ignored SIGINT, one of nohup an ignored SIGHUP.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def ending(*, as_json: bool = False) -> ending_cleanly:
    return ending_cleanly("Trials are kept.", lambda: "tuner sweep x", as_json=as_json)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_with_its_code_after_the_clean_up(
    signum: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    cleaned = []
    with pytest.raises(SystemExit) as exit_, ending():
        try:
            os.kill(os.getpid(), signum)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), signum)  # impatient: must not cut the clean-up short
            cleaned.append(True)
    assert exit_.value.code == code
    assert cleaned
    said = capsys.readouterr()
    assert said.err == "stopped. Trials are kept. Resume with: tuner sweep x\n"
    assert said.out == ""
    os.kill(os.getpid(), signum)  # in an exit handler: nothing is left that it could stop


def test_a_script_reads_the_end_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), ending(as_json=True):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    told = json.loads(capsys.readouterr().out)
    assert told == {"interrupted": "SIGTERM", "resume": "tuner sweep x", "exit_code": 143}


def test_a_signal_that_a_c_extension_turned_into_its_own_error_is_still_an_orderly_end() -> None:
    def wait_in_c() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except BaseException as error:
            raise SystemError("returned a result with an exception set") from error

    with pytest.raises(SystemExit) as exit_, ending():
        wait_in_c()
    assert exit_.value.code == 143


def test_an_error_without_a_signal_is_left_alone() -> None:
    with pytest.raises(SystemError), ending():
        raise SystemError from ValueError()


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ending():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_what_was_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    with ending():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_signal_comes_too_late_once_the_work_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with ending(as_json=True):
        work_is_done()
        os.kill(os.getpid(), signal.SIGINT)
        print("{}")
    assert capsys.readouterr().out == "{}\n"
