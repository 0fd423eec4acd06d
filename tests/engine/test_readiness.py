import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.engine.readiness import (
    Answer,
    Progress,
    Served,
    check_patience,
    fetch,
    identify,
    other_version,
    said_version,
    wait_until_ready,
)
from tuner.errors import EngineCrashed, EngineStuck, EngineTimeout, WrongServer


def models(*names: str, **facts: object) -> bytes:
    return json.dumps({"data": [{"id": name, **facts} for name in names]}).encode()


def test_our_name_is_ready_with_its_context_length() -> None:
    assert identify(Answer(200, models("a", "ours", max_model_len=512)), "ours", 1) == Served(512)
    assert identify(Answer(200, models("ours")), "ours", 1) == Served(None)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (Answer(200, b'{"version": "0.32.0"}'), "0.32.0"),
        (Answer(200, b'{"version": 3}'), None),
        (Answer(200, b'{"data": []}'), None),
        (Answer(200, b"[]"), None),
        (Answer(200, b"<html>"), None),
        (Answer(404, b'{"version": "0.32.0"}'), None),
        (None, None),
    ],
)
def test_the_version_that_an_engine_says(answer: Answer | None, version: str | None) -> None:
    assert said_version(answer) == version


@pytest.mark.parametrize(
    ("resolved", "said", "differs"),
    [
        ("0.32.0", "0.32.0", False),
        ("0.32.0", "0.32.0+cpu", False),
        ("0.33.0+sim", "0.33.0", False),
        ("0.12.0.post2", "0.12.0", False),
        ("0.32.0", None, False),
        ("0.32.0", "0.31.0", True),
        ("0.1.dev1+gabc", "0.33.0", True),
        ("dev", "0.33.0", True),
        ("dev", "dev", False),
    ],
)
def test_another_release_than_the_installed_one_is_noted(resolved: str, said: str | None, differs: bool) -> None:
    words = other_version(resolved, said)
    assert (words is not None) is differs
    assert not differs or (resolved in (words or "") and str(said) in (words or ""))


@pytest.mark.parametrize("answer", [None, Answer(503, b""), Answer(500, models("theirs"))])
def test_not_yet(answer: Answer | None) -> None:
    assert identify(answer, "ours", 1) is None


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, models("theirs")),
        Answer(200, b"<html>"),
        Answer(200, b'{"data": 3}'),
        Answer(200, b'{"data": [{"object": "model"}]}'),
        Answer(200, b"[]"),
        Answer(401, models("ours")),
        Answer(404, b""),
    ],
)
def test_a_stranger(answer: Answer) -> None:
    with pytest.raises(WrongServer, match="Port 8123"):
        identify(answer, "ours", 8123)


@settings(deadline=None)  # Times of a loaded machine say nothing.
@given(
    st.binary(max_size=40)
    | st.recursive(st.none() | st.text(), lambda s: st.dictionaries(st.just("data"), st.lists(s))).map(
        lambda v: json.dumps(v).encode()
    )
)
def test_no_body_is_taken_for_ours(body: bytes) -> None:
    with pytest.raises(WrongServer):
        identify(Answer(200, body), "ours-4711", 1)


@settings(deadline=None)  # Times of a loaded machine say nothing.
@given(silent_s=st.floats(0, 100), total_s=st.floats(0, 100))
def test_patience(silent_s: float, total_s: float) -> None:
    progress = Progress(started_s=1000, log_bytes=5, last_change_s=1000 + max(total_s - silent_s, 0))
    now_s = 1000 + total_s
    silent = now_s - progress.last_change_s

    def check() -> None:
        check_patience(progress, now_s, start_timeout_s=60, stall_timeout_s=30)

    if silent > 30:
        with pytest.raises(EngineStuck):
            check()
    elif now_s - 1000 > 60:
        with pytest.raises(EngineTimeout):
            check()
    else:
        check()


def test_only_a_changed_size_is_progress() -> None:
    start = Progress(0, 10, 0)
    assert start.seen(10, 5) == start
    assert start.seen(11, 5) == Progress(0, 11, 5)
    assert start.seen(9, 6) == Progress(0, 9, 6)


@contextmanager
def serving(respond: Callable[[str, str | None], tuple[int, bytes]]) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = respond(self.path, self.headers["Authorization"])
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_fetch_sends_the_key_and_ignores_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving(lambda path, key: (200, f"{path} {key}".encode())) as port:
        assert fetch(port, "/v1/models", "sesame") == Answer(200, b"/v1/models Bearer sesame")


def test_nobody_there_is_not_yet_and_no_http_is_a_stranger() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def greet() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(b"SSH-2.0-x\r\n")

        thread = Thread(target=greet)
        thread.start()
        with pytest.raises(WrongServer, match="does not speak HTTP"):
            fetch(port, "/", "")
        thread.join()
    assert fetch(port, "/", "") is None


def test_a_socket_connected_with_itself_is_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port = own.getsockname()[1]

    def connect(connection: HTTPConnection) -> None:
        connection.sock = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.1", port))

    monkeypatch.setattr(HTTPConnection, "connect", connect)
    assert fetch(port, "/", "") is None


def never_ends() -> None:
    pass


def test_ready_needs_health_as_well() -> None:
    asked: list[str] = []

    def respond(path: str, _: str | None) -> tuple[int, bytes]:
        asked.append(path)
        return (200, models("ours", max_model_len=64)) if path != "/health" else (200 if len(asked) > 4 else 503, b"")

    with serving(respond) as port:
        served = wait_until_ready(
            port, "ours", "k", start_timeout_s=20, stall_timeout_s=20, log_bytes=lambda: 0, check_alive=never_ends
        )
    assert served == Served(64)
    assert asked == [*["/v1/models", "/health"] * 3, "/version"]


def test_a_crash_ends_the_wait() -> None:
    def crashed() -> None:
        raise EngineCrashed("gone")

    with pytest.raises(EngineCrashed):
        wait_until_ready(1, "x", "k", start_timeout_s=9, stall_timeout_s=9, log_bytes=lambda: 0, check_alive=crashed)


def test_questions_that_the_engine_writes_into_its_log_are_no_progress() -> None:
    asked: list[str] = []

    def respond(path: str, _: str | None) -> tuple[int, bytes]:
        asked.append(path)
        return (200, models("ours")) if path != "/health" else (503, b"")

    with serving(respond) as port, pytest.raises(EngineStuck, match="silent"):
        wait_until_ready(
            port,
            "ours",
            "k",
            start_timeout_s=60,
            stall_timeout_s=0.5,
            log_bytes=lambda: len(asked),
            check_alive=never_ends,
        )
