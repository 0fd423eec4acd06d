"""The application: parts, routes, and the gate around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from tuner.errors import TunerError
from tuner.pool.jobs import RayJobs
from tuner.registry import Registry
from tuner.service.answers import Answers
from tuner.service.guard.gate import Gate
from tuner.service.guard.rates import Limiter
from tuner.service.guard.rules import FOR_SCRIPTS, Rules
from tuner.service.holding import Holding
from tuner.service.parts import Parts
from tuner.service.problems import Refused
from tuner.service.queue.cluster import ClusterRunner
from tuner.service.queue.local import LocalRunner
from tuner.service.queue.runner import Runner, sweep_command
from tuner.service.queue.sweeps import Sweep, SweepState
from tuner.service.queue.waiting import RUNS, Waiting
from tuner.service.queue.working import Working
from tuner.service.routes import operations, pages, sweeps, targets
from tuner.service.runs import Runs
from tuner.service.settings import Settings
from tuner.service.watching import Watching
from tuner.version import tuner_version

STOP_WITHIN_S = 90.0
"""What a sweep may take to stop its engines when the server ends."""
_ABOUT = """\
What the registry holds, for deployments, and a queue of sweeps.

Errors are `application/problem+json` (RFC 9457) with a `next_step`. Where the server has tokens, every path but
`/healthz` and `/readyz` needs one: `Authorization: Bearer TOKEN`, with the scope `read`; `sweep` to change anything.
"""


@dataclass(frozen=True)
class Service:
    """asgi: what a server runs, the gate with everything behind it."""

    asgi: ASGIApp
    app: FastAPI
    parts: Parts


def service(settings: Settings, limiter: Limiter | None = None) -> Service:
    """Return the whole service, ready to be run.  limiter: counts requests; one of this service's own if None.

    OutputError where registry or queue cannot be used.
    """
    asked = settings.request
    registry = Registry(asked.registry)
    waiting = Waiting(asked.state)
    watching = Watching(waiting)
    runner: Runner = ClusterRunner(RayJobs(asked.ray_jobs)) if asked.ray_jobs else LocalRunner(waiting.root)
    made = Parts(
        settings=settings,
        answers=Answers(
            registry,
            Holding(asked.engine, compare=asked.compare),
            sweeps_done=lambda: waiting.counts().get(SweepState.DONE, 0),
        ),
        waiting=waiting,
        working=Working(waiting, runner, partial(_arguments, settings, waiting), watching.log),
        runs=Runs(waiting, asked.runs),
        watching=watching,
    )
    made.answers.check()
    app = _app(made)
    return Service(Gate(app, Rules(settings.hosts, settings.tokens, limiter or Limiter()), watching), app, made)


def _arguments(settings: Settings, waiting: Waiting, sweep: Sweep) -> tuple[str, ...]:
    if settings.allowed is None:
        raise Refused(403, "no-allow-list", "This server has no allow-list any more.", "Start it with --allow-list.")
    return sweep_command(
        settings.allowed.arguments(sweep.order), waiting.root / RUNS / sweep.run, settings.request.registry
    )


def _app(made: Parts) -> FastAPI:
    app = FastAPI(
        title="tuner",
        version=tuner_version(),
        description=_ABOUT,
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.parts = made
    for routes in (targets.router, sweeps.router, operations.router, pages.router):
        app.include_router(routes)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(TunerError, _unreachable)
    app.add_exception_handler(500, _unexpected)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    made: Parts = app.state.parts
    for line in made.waiting.set_aside:
        made.watching.log("set aside", what=line)
    made.working.start()
    yield
    ended = await anyio.to_thread.run_sync(made.working.stop, STOP_WITHIN_S)
    made.watching.log("ended", sweep_ended=ended)
    made.waiting.close()


# ---- every error is a problem


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(FOR_SCRIPTS)
    return pages.problem_page(error.problem, error.headers) if wants_page else error.response()


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if all(one["loc"][0] == "path" for one in found):
        return await _refused(request, Refused(404, "no-such-path", "There is nothing of that name."))
    # Where and why, but not what was sent.
    told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:5])
    return await _refused(request, Refused(422, "not-valid", told, "GET /openapi.json has the fields."))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    name = {404: "no-such-path", 405: "no-such-method"}.get(error.status_code, "refused")
    return await _refused(request, Refused(error.status_code, name, f"{error.detail}.", headers=error.headers))


async def _unreachable(request: Request, error: Exception) -> Response:
    assert isinstance(error, TunerError)
    refused = Refused(503, "not-reachable", error.message, error.next_step, {"Retry-After": "30"})
    return await _refused(request, refused)


async def _unexpected(request: Request, error: Exception) -> Response:
    return Refused(500, "unexpected", "Something went wrong here.", "The server's log has it.").response()
