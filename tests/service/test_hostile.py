"""Requests that mean harm: refused in words, and nothing is done."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.matrix import Group, fault
from tests.registry.conftest import build_config, keep_config
from tests.service.conftest import BOTH, ORDER, READ, SLUG, SWEEP, Served
from tuner.registry import Registry
from tuner.service.allowed import Order
from tuner.service.guard.body import MOST_BYTES
from tuner.service.guard.rates import GUESSING, READING, Limiter, Rate
from tuner.service.queue.waiting import MOST_WAITING

NAMES = [
    "%2e%2e",
    "..%2f..%2fetc%2fpasswd",
    "%2fetc%2fpasswd",
    "%00",
    f"{SLUG}%00",
    "a%0d%0ab",
    "-x",
    "%5c..",
]
PLACES = [
    "/v1/targets/{}/best-config",
    "/v1/targets/{}/history",
    "/v1/sweeps/{}",
    "/targets/{}",
    f"/targets/{SLUG}/sweeps/{{}}/report",
    "/sweeps/{}/report",
]


def refused(answer: Any, status: int, name: str) -> None:
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:tuner:{name}"), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def waiting(served: Served) -> int:
    return len(served.parts.waiting.newest_first())


@fault(
    Group.SECURITY,
    "a request names a path (.., absolute, encoded slash, null byte)",
    sees="There is no such target, sweep or report.",
    keeps="Everything: names are looked up among those that are there, no path is made of them.",
)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_a_path_in_place_of_a_name_is_nothing_that_is_there(served: Served, place: str, name: str) -> None:
    answer = served.ask("GET", place.format(name))
    assert answer.status_code == 404
    assert "passwd" not in answer.text and "root:" not in answer.text


@fault(
    Group.SECURITY,
    "a page on the web reaches the server by a name of its own (DNS rebinding)",
    sees="The Host header does not name this server.",
    keeps="Everything; nothing is told.",
)
@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "a b", ""]
)
def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    refused(served.ask("GET", "/v1/targets", headers={"Host": host}), 400, "unknown-host")
    refused(served.ask("GET", "/healthz", None, headers={"Host": host}), 400, "unknown-host")


@fault(
    Group.SECURITY,
    "a page of another site sends a request with the reader's credentials (CSRF)",
    sees="A page of another site may not change anything here.",
    keeps="The queue is as it was.",
)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost:8765@evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_foreign_origin_changes_nothing(served: Served, headers: dict[str, str]) -> None:
    refused(served.ask("POST", "/v1/sweeps", json=ORDER, headers=headers), 403, "foreign-origin")
    assert waiting(served) == 0


@fault(
    Group.SECURITY,
    "no token, a wrong one, or one without the scope",
    sees="This needs a valid token, or one with the scope.",
    keeps="The queue is as it was; nothing is told.",
)
@pytest.mark.parametrize(
    ("method", "path", "token", "status", "name"),
    [
        ("GET", "/v1/targets", None, 401, "no-valid-token"),
        ("GET", "/", None, 401, "no-valid-token"),
        ("GET", "/openapi.json", None, 401, "no-valid-token"),
        ("GET", "/metrics", None, 401, "no-valid-token"),
        ("GET", "/no/such/path", None, 401, "no-valid-token"),
        ("GET", "/v1/targets", "x" * 32, 401, "no-valid-token"),
        ("GET", "/v1/targets", READ[:-1], 401, "no-valid-token"),
        ("GET", "/v1/targets", SWEEP, 403, "missing-scope"),
        ("POST", "/v1/sweeps", READ, 403, "missing-scope"),
        ("DELETE", "/v1/sweeps/20261201T000000Z-00000000", READ, 403, "missing-scope"),
        ("POST", "/v1/sweeps", None, 401, "no-valid-token"),
    ],
)
def test_who_may_not_is_refused(
    served: Served, method: str, path: str, token: str | None, status: int, name: str
) -> None:
    body = {"json": ORDER} if method == "POST" else {}
    refused(served.ask(method, path, token, **body), status, name)
    assert waiting(served) == 0


def test_a_browsers_credentials_read_and_change_nothing(served: Served) -> None:
    basic = {"Authorization": "Basic " + base64.b64encode(f"me:{BOTH}".encode()).decode()}
    assert served.ask("GET", "/", None, headers=basic).status_code == 200
    refused(served.ask("POST", "/v1/sweeps", None, json=ORDER, headers=basic), 401, "no-valid-token")


@fault(
    Group.SECURITY,
    "a request for a sweep with a path, a command, an unknown field or a name that is not allowed",
    sees="The name is not on the server's allow-list, or the field is not known.",
    keeps="The queue is as it was; no process is started.",
)
@pytest.mark.parametrize(
    "change",
    [
        {"target": "/models/other"},
        {"target": "../small"},
        {"target": "--engine"},
        {"target": "small; rm -rf /"},
        {"space": "default"},
        {"engine": "/tmp/python"},
        {"eval_set": "/etc/passwd"},
        {"trust_remote_code": True},
        {"engine_args": {"trust_remote_code": True}},
        {"command": ["sh", "-c", "id"]},
        {"out": "/tmp/x"},
        {"target": None},
        {"target": {"model": "x"}},
        {"if_stale": "no"},
    ],
    ids=str,
)
def test_only_names_on_the_allow_list_are_swept(served: Served, change: dict[str, Any]) -> None:
    answer = served.ask("POST", "/v1/sweeps", json={**ORDER, **change})
    assert (answer.status_code, answer.json()["type"]) in (
        (422, "urn:tuner:not-valid"),
        (403, "urn:tuner:not-on-the-allow-list"),
    )
    assert waiting(served) == 0


@fault(
    Group.SECURITY,
    "a body that is too large, no JSON, or of another type",
    sees="The body is too large, or not application/json, or not valid.",
    keeps="The queue is as it was; the body is not read further.",
)
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (json.dumps({**ORDER, "x": "y" * MOST_BYTES}), "application/json", 413),
        (json.dumps(ORDER), "text/plain", 415),
        (json.dumps(ORDER), "application/x-www-form-urlencoded", 415),
        ("{", "application/json", 422),
        ("[" * 5000, "application/json", 400),
        ("\0", "application/json", 422),
        ("", "application/json", 422),
        ("null", "application/json", 422),
    ],
    ids=["large", "plain", "form", "broken", "deep", "null byte", "empty", "null"],
)
def test_a_body_that_is_no_order_is_refused(served: Served, body: str, kind: str, status: int) -> None:
    answer = served.ask("POST", "/v1/sweeps", content=body, headers={"Content-Type": kind})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert waiting(served) == 0


def test_a_body_without_a_length_is_read_no_further_than_the_limit(served: Served) -> None:
    sent = 0

    def pieces() -> Any:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b" " * 1024

    refused(
        served.ask("POST", "/v1/sweeps", content=pieces(), headers={"Content-Type": "application/json"}),
        413,
        "too-large",
    )


@fault(
    Group.SECURITY,
    "a client asks too often, guesses tokens, or fills the queue",
    sees="Too many requests, and when to ask again.",
    keeps="Other clients are served; what waits goes on waiting.",
)
@pytest.mark.parametrize(("token", "rate", "status"), [("wrong" * 8, GUESSING, 401), (READ, READING, 404)])
def test_a_client_that_asks_too_often_waits(
    serve: Callable[..., Served], setup: dict[str, Any], token: str, rate: Rate, status: int
) -> None:
    served = serve(setup, Limiter(clock=lambda: 0.0))  # all in one moment, however long this machine takes
    answers = [served.ask("GET", "/v1/sweeps/x", token) for _ in range(rate.burst + 1)]
    assert [answer.status_code for answer in answers] == [status] * rate.burst + [429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert served.ask("GET", "/v1/sweeps", BOTH).status_code == 200


def test_a_full_queue_takes_no_more(served: Served) -> None:
    for number in range(MOST_WAITING):
        served.parts.waiting.add(Order(target=f"t{number}", space="two", engine="sim"), "test")
    refused(served.ask("POST", "/v1/sweeps", json=ORDER), 429, "queue-full")


@fault(
    Group.SECURITY,
    "an artifact has HTML or a template in its texts",
    sees="The text, as it is written.",
    keeps="The page: nothing in it runs, and its policy would refuse what did.",
)
def test_what_artifacts_say_is_text(serve: Callable[..., Served], setup: dict[str, Any]) -> None:
    name, why = '"><script>alert(1)</script>', "<img src=x onerror=alert(1)> {{ 7 * 7 }} {% raw %}"
    keep_config(Registry(setup["registry"]), build_config(target=name, why=why), 3)
    served = serve(setup)
    found = served.ask("GET", "/v1/targets").json()["targets"]
    (slug,) = [one["slug"] for one in found if one["target"] == name]
    for path in ("/", f"/targets/{slug}"):
        html = served.ask("GET", path).text
        assert "alert(1)" in html
        assert "<script>alert" not in html and "<img" not in html and "49" not in html.partition("onerror")[2][:40]


@fault(
    Group.SECURITY,
    "a stored report.html was changed, or written by somebody else",
    sees="The page without its scripts, or that it is not what was written.",
    keeps="The reader's credentials: a report has an origin of its own in the browser.",
)
def test_a_report_of_somebody_else_runs_nothing(served: Served, setup: dict[str, Any]) -> None:
    run = Path(setup["runs"]) / "target" / "space"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (run / "report.html").write_text("<script>fetch('/v1/targets')</script>")
    (found,) = served.ask("GET", "/v1/sweeps").json()["sweeps"]
    policy = served.ask("GET", f"/sweeps/{found['id']}/report").headers["content-security-policy"]
    assert "script-src" not in policy and policy.startswith("default-src 'none'")
    assert policy.endswith("; sandbox")


def test_every_answer_has_the_headers_that_protect_it(served: Served) -> None:
    for path, token in [("/", BOTH), ("/v1/targets", BOTH), ("/v1/targets", None), ("/nope", BOTH), ("/healthz", None)]:
        headers = served.ask("GET", path, token).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


def test_the_log_has_who_and_what_but_no_secret(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    served.ask("GET", "/v1/targets", READ, params={"name": "in-the-query"})
    served.ask("GET", "/v1/targets/%1b%5b31m%0aforged", READ)
    served.ask("GET", "/v1/targets", "guessed" * 6)
    log = capfd.readouterr().err
    lines = [json.loads(line) for line in log.splitlines()]
    assert [(line["who"], line["status"]) for line in lines] == [("reader", 200), ("reader", 404), ("", 401)]
    assert all(secret not in log for secret in (READ, "in-the-query", "guessed", "\x1b", "Bearer"))
