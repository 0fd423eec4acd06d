import os
import signal
import time

import pytest

from tuner.cli.signals import ending_cleanly


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_with_its_code_after_the_clean_up(
    signum: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    cleaned = []
    with pytest.raises(SystemExit) as exit_, ending_cleanly("Resume with: tuner sweep x"):
        try:
            os.kill(os.getpid(), signum)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), signum)  # impatient: must not cut the clean-up short
            cleaned.append(True)
    assert exit_.value.code == code
    assert cleaned
    assert "Resume with: tuner sweep x" in capsys.readouterr().err


def test_a_signal_that_a_c_extension_turned_into_its_own_error_is_still_an_orderly_end() -> None:
    def wait_in_c() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except BaseException as error:
            raise SystemError("returned a result with an exception set") from error

    with pytest.raises(SystemExit) as exit_, ending_cleanly(""):
        wait_in_c()
    assert exit_.value.code == 143


def test_an_error_without_a_signal_is_left_alone() -> None:
    with pytest.raises(SystemError), ending_cleanly(""):
        raise SystemError from ValueError()


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ending_cleanly(""):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
