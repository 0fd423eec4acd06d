"""What people look at: targets, their history, sweeps, reports."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.requests import Request

from tuner.page.english import ENGLISH
from tuner.page.past.build import history_view
from tuner.page.past.given import Over
from tuner.page.sections.answer import TONES
from tuner.page.view import Code
from tuner.service.documents import Shown
from tuner.service.pages.render import page
from tuner.service.pages.reports import report_policy
from tuner.service.parts import Slug, Stamp, SweepId, WithParts
from tuner.service.problems import Problem

router = APIRouter(include_in_schema=False)
_MOST = 50
_EVERY_S = 5


@router.get("/")
def targets_page(parts: WithParts) -> Response:
    """Show every target with its verdict and whether that still holds."""
    found = parts.answers.targets()
    return _html("targets.html.j2", found=found, tones=TONES, registry=parts.answers.url)


@router.get("/targets/{target}")
def target_page(target: Slug, parts: WithParts, request: Request) -> Response:
    """Show what was measured of a target over time, and how to deploy the newest answer."""
    newest = parts.answers.newest(target)
    view = history_view(Over(parts.answers.past(target), ENGLISH))
    url = f"{request.url.scheme}://{request.headers['host']}/v1/targets/{target}/best-config"
    token = '-H "Authorization: Bearer $TOKEN" ' if parts.settings.tokens else ""
    command = f"curl -fsS {token}-H 'Accept: application/yaml' \\\n  {url} -o best_config.yaml"
    return _html(
        "target.html.j2",
        slug=target,
        newest=newest,
        freshness=parts.answers.freshness(newest),
        view=view,
        deploy=Code("Fetch it where it is deployed", command),
        reports=parts.answers.reports(target),
    )


@router.get("/targets/{target}/sweeps/{stamp}/report")
def target_report(target: Slug, stamp: Stamp, parts: WithParts) -> Response:
    """Show the report of a sweep that the registry has."""
    return _report(parts.answers.report(target, stamp))


@router.get("/sweeps")
def sweeps_page(parts: WithParts, refresh: Annotated[bool, Query()] = False) -> Response:
    """Show what runs, what waits and what ended."""
    listed = parts.runs.listed(_MOST)
    live = [one for one in listed if one.state is Shown.RUNNING]
    waiting = [one for one in reversed(listed) if one.state is Shown.QUEUED]
    ended = [one for one in listed if one.state not in (Shown.RUNNING, Shown.QUEUED)]
    return _html("sweeps.html.j2", refresh, live=live, waiting=waiting, ended=ended, refresh=refresh)


@router.get("/sweeps/{sweep}")
def sweep_page(sweep: SweepId, parts: WithParts, refresh: Annotated[bool, Query()] = False) -> Response:
    """Show one sweep."""
    return _html("sweep.html.j2", refresh, sweep=parts.runs.get(sweep), refresh=refresh)


@router.get("/sweeps/{sweep}/report")
def sweep_report(sweep: SweepId, parts: WithParts) -> Response:
    """Show the report in a sweep's run directory."""
    return _report(parts.runs.report(sweep))


def problem_page(problem: Problem, headers: dict[str, str]) -> Response:
    """Show what went wrong."""
    html, policy = page("problem.html.j2", problem=problem)
    return Response(html, problem.status, {**headers, "Content-Security-Policy": policy}, "text/html")


def _html(template: str, again: bool = False, **told: object) -> Response:
    """Return a page.  again: have the browser ask again every few seconds, which a reader turned on."""
    html, policy = page(template, **told)
    headers = {"Content-Security-Policy": policy, **({"Refresh": str(_EVERY_S)} if again else {})}
    return Response(html, headers=headers, media_type="text/html")


def _report(found: bytes) -> Response:
    return Response(found, headers={"Content-Security-Policy": report_policy(found)}, media_type="text/html")
