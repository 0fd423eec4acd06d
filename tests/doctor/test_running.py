import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tuner.doctor import ROWS, Check, Examined, Row, State, examine
from tuner.doctor.check import gib
from tuner.doctor.examined import Once
from tuner.doctor.facts import EngineFacts, Gpus
from tuner.errors import EngineNotFound

GOOD = Check("good", State.OK, "fine")
SIM = EngineFacts("sim", "/p", "3.11.7", "0.33.0+sim", "sim")


def examined(*, deep: bool = False, engine: Callable[[], EngineFacts] = lambda: SIM) -> Examined:
    variables: Mapping[str, str] = {}
    return Examined(Path("runs"), deep, variables, None, engine, Gpus)


def row(name: str, look: Callable[[Examined], tuple[Check, ...]], **more: bool) -> Row:
    return Row("group", name, look, **more)


def failing(error: Exception) -> Callable[[Examined], tuple[Check, ...]]:
    def look(_: Examined) -> tuple[Check, ...]:
        raise error

    return look


def test_checks_come_in_the_order_of_their_rows() -> None:
    def slow(_: Examined) -> tuple[Check, ...]:
        time.sleep(0.1)
        return (Check("slow", State.OK, ""),)

    answers = examine(examined(), [row("slow", slow), row("good", lambda _: (GOOD,))])
    assert [check.name for answer in answers for check in answer.checks] == ["slow", "good"]


def test_an_expected_error_fails_its_own_row_with_its_next_step() -> None:
    rows = [row("engine", failing(EngineNotFound("No vLLM.", "Install it."))), row("good", lambda _: (GOOD,))]
    failed, good = (answer.checks[0] for answer in examine(examined(), rows))
    assert (failed.name, failed.state, failed.what, failed.next_step) == (
        "engine",
        State.FAIL,
        "No vLLM.",
        "Install it.",
    )
    assert good == GOOD


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), ValueError("odd line"), IndexError("list")])
def test_what_cannot_be_read_is_not_known_and_hides_nothing(error: Exception) -> None:
    unknown, good = examine(examined(), [row("disk", failing(error)), row("good", lambda _: (GOOD,))])
    assert unknown.checks[0].state is State.WARN
    assert "not known" in unknown.checks[0].what and type(error).__name__ in unknown.checks[0].what
    assert good.checks == (GOOD,)


def test_a_check_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Row, "limit_s", lambda row, deep: 0.2 if row.name == "driver" else 120.0)
    release = threading.Event()

    def hang(_: Examined) -> tuple[Check, ...]:
        release.wait(300)
        return (GOOD,)

    began_s = time.monotonic()
    hung, good = examine(examined(), [row("driver", hang), row("good", lambda _: (GOOD,))])
    left = [thread for thread in threading.enumerate() if thread.name == "doctor driver"]
    assert [thread.daemon for thread in left] == [True], "the interpreter would wait for it when it ends"
    release.set()
    assert time.monotonic() - began_s < 120
    assert hung.checks[0].state is State.WARN and "no answer within 0.2 s" in hung.checks[0].what
    assert good.checks == (GOOD,)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_a_check_is_said_to_be_one() -> None:
    (answer,) = examine(examined(), [row("cpu", failing(ZeroDivisionError()))])
    assert "the check itself failed" in answer.checks[0].what


def test_what_takes_long_is_left_out_unless_it_is_asked_for() -> None:
    rows = [row("slow", lambda _: (GOOD,), only_deep=True)]
    assert examine(examined(), rows) == ()
    assert [answer.checks for answer in examine(examined(deep=True), rows)] == [(GOOD,)]


def test_without_an_engine_only_its_own_row_fails() -> None:
    def none() -> EngineFacts:
        raise EngineNotFound("No vLLM.")

    rows = [row for row in ROWS if row.name in ("engine", "driver", "methods")]
    checks = [check for answer in examine(examined(engine=none), rows) for check in answer.checks]
    assert [(check.name, check.state) for check in checks] == [("engine", State.FAIL), ("methods", State.INFO)]


def test_what_several_rows_read_is_read_once() -> None:
    reads: list[int] = []

    def read() -> int:
        time.sleep(0.05)
        reads.append(1)
        return len(reads)

    once = Once(read)
    threads = [threading.Thread(target=once) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (once(), len(reads)) == (1, 1)


def test_an_error_is_kept_as_well() -> None:
    reads: list[int] = []

    def read() -> int:
        reads.append(1)
        raise EngineNotFound("No vLLM.")

    once = Once(read)
    for _ in range(2):
        with pytest.raises(EngineNotFound):
            once()
    assert len(reads) == 1


def test_rows_have_names_of_their_own() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("size", "words"), [(2**30, "1.0 GiB"), (2**20, "1 MiB"), (0, "0 MiB"), (1.5 * 2**40, "1536.0 GiB")]
)
def test_sizes_in_words(size: float, words: str) -> None:
    assert gib(size) == words
