"""The OpenAPI document, and requests generated from it: every answer is one that the document has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.service.conftest import BOTH, SLUG, Served, write_setup
from tuner.service.guard.rates import Limiter

AT_MOST = 15
"""Generated requests for each operation and way of generating."""
ASKED = {"Authorization": f"Bearer {BOTH}", "Host": "localhost"}
OPERATIONS = [
    "GET /v1/targets",
    "GET /v1/targets/{target}/best-config",
    "GET /v1/targets/{target}/history",
    "GET /v1/sweeps",
    "POST /v1/sweeps",
    "GET /v1/sweeps/{sweep}",
    "DELETE /v1/sweeps/{sweep}",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
]


@pytest.fixture(scope="module")
def reading(answers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = write_setup(tmp_path_factory.mktemp("openapi"))
    often = Limiter(clock=itertools.count(step=1000).__next__)
    made = Served({**options, "registry": str(answers)}, often)
    made.parts.working.start()  # on nothing: no generated order has names that are allowed
    yield made
    made.parts.working.stop(10.0)
    made.parts.waiting.close()


@pytest.fixture(scope="module")
def api(reading: Served) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", without_lifespan(reading.http.app), headers=ASKED)


def without_lifespan(app: ASGIApp) -> ASGIApp:
    """Return the application as one that is begun and ended for each request without anybody working on its queue."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for part in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{part}.complete"})

    return asked


def test_the_document_has_every_operation_and_each_says_how_it_fails(reading: Served) -> None:
    document = reading.ask("GET", "/openapi.json").json()
    found = {f"{method.upper()} {path}": one for path, of in document["paths"].items() for method, one in of.items()}
    assert list(found) == OPERATIONS
    for name, one in found.items():
        assert one.get("security", []) == ([] if name.endswith("z") else [{"HTTPBearer": []}])
        assert {"400", "401", "403", "429", "503"} <= set(one["responses"])
        assert all("description" in response for response in one["responses"].values())


def test_the_examples_of_the_document_hold(reading: Served) -> None:
    document = reading.ask("GET", "/openapi.json").json()
    (order,) = document["components"]["schemas"]["Order"]["examples"]
    assert reading.ask("POST", "/v1/sweeps", json=order).json()["type"] == "urn:tuner:not-on-the-allow-list"
    (slug,) = document["paths"]["/v1/targets/{target}/history"]["get"]["parameters"][0]["schema"]["examples"]
    assert reading.ask("GET", f"/v1/targets/{slug}/history").json()["type"] == "urn:tuner:no-such-target"


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        (operation, mode)
        for operation in OPERATIONS
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        if mode is GenerationMode.POSITIVE or not operation.endswith("z")  # which take nothing that could be wrong
    ],
)
def test_every_answer_is_one_that_the_document_has(api: Any, operation: str, mode: GenerationMode) -> None:
    method, path = operation.split()
    strategy = api[path][method].as_strategy(generation_mode=mode)

    # In a query every value is text, and the token is ours again: what was made wrong may be right when it is sent.
    excluded: list[Any] = [CHECKS.get_one("negative_data_rejection")] if method == "GET" else []

    @settings(max_examples=AT_MOST, suppress_health_check=list(HealthCheck), deadline=None, derandomize=True)
    @given(case=strategy)
    def ask(case: Case[Any]) -> None:
        case.call_and_validate(headers=ASKED, excluded_checks=excluded)

    ask()


def test_generated_requests_reach_what_is_there(reading: Served) -> None:
    assert reading.ask("GET", f"/v1/targets/{SLUG}/history").status_code == 200
