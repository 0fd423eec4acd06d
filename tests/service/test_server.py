"""A real server: a sweep that is asked for survives its servers, ends in an artifact, and is served."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.matrix import Group, fault
from tests.service.conftest import ORDER, write_setup
from tests.service.running import Server, until
from tuner.artifact import load_best_config
from tuner.registry import target_slug

SLUG = target_slug("any-name")
RAW_PATHS = ("/v1/targets/../../etc/passwd/history", "/targets/..", "/targets/.", "//etc/passwd", "/v1/sweeps/%2e%2e")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Server]]:
    options = {**write_setup(tmp_path), "engine": "sim"}
    servers: list[Server] = []

    def started() -> Server:
        servers.append(Server(options, tmp_path / "serve.log"))
        return servers[-1]

    yield started
    for server in servers:
        if server.process.poll() is None:
            server.end()


def trials(root: Path) -> dict[str, int]:
    """Return when each trial was written, by its name."""
    files = (root / "serve" / "runs").glob("*/trials/*/record.json")
    return {file.parent.name: file.stat().st_mtime_ns for file in files}


def process_of(root: Path) -> psutil.Process | None:
    """Return the process of the only sweep."""
    (file,) = (root / "serve" / "sweeps").glob("*.json")
    pid = json.loads(file.read_text())["pid"]
    return psutil.Process(pid) if pid else None


@fault(
    Group.DRIVER,
    "`tuner serve` ends by SIGTERM, then by SIGKILL, while its sweep runs",
    sees="The next server goes on with the sweep, or takes over the process that is still at it.",
    keeps="Every finished trial; none is measured twice. The sweep ends in the registry and is served.",
)
def test_a_sweep_outlives_its_servers_and_is_served(start: Callable[[], Server], tmp_path: Path) -> None:
    server = start()
    place = server.order(**ORDER)
    until(lambda: trials(tmp_path))
    assert server.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert process_of(tmp_path) is None  # it was told to stop, and did
    before = trials(tmp_path)
    assert len(before) < 3

    server = start()
    process = until(lambda: process_of(tmp_path))
    server.end(signal.SIGKILL)
    assert process.is_running()

    server = start()
    done = server.when(place, "done", "failed")
    assert (done["state"], done["outcome"]["measured"], done["report"]) == ("done", True, True), done
    assert (tmp_path / "serve.log").read_text().count('"sweep started"') == 2  # the third server took it over
    assert {name: at for name, at in trials(tmp_path).items() if name in before} == before
    assert len(trials(tmp_path)) == 3

    (target,) = server.json("/v1/targets")["targets"]
    assert (target["slug"], target["freshness"]["state"]) == (SLUG, "fresh")
    best, wants = f"/v1/targets/{SLUG}/best-config", {"Accept": "application/yaml"}
    status, headers, body = server.ask("GET", best, **wants)
    assert (status, headers["tuner-freshness"]) == (200, "fresh")
    (tmp_path / "best_config.yaml").write_bytes(body)
    assert load_best_config(tmp_path).target == "any-name"
    assert server.ask("GET", best, **wants, **{"If-None-Match": headers["etag"]})[0] == 304
    assert [server.ask("GET", path)[0] for path in RAW_PATHS] == [404] * len(RAW_PATHS)

    again = server.when(server.order(**ORDER), "done", "failed")
    assert (again["state"], again["outcome"]["measured"]) == ("done", False)  # nothing had changed
    assert server.end(signal.SIGINT) == 128 + signal.SIGINT


@fault(
    Group.DRIVER,
    "a sweep that `tuner serve` started is cancelled while it measures",
    sees="It is stopping, then cancelled; asked for again, it goes on.",
    keeps="Every finished trial; no engine is left.",
)
def test_a_cancelled_sweep_stops_cleanly_and_is_gone_on_with(start: Callable[[], Server], tmp_path: Path) -> None:
    server, order = start(), {**ORDER, "space": "tiny"}
    place = server.order(**order)
    process = until(lambda: process_of(tmp_path))
    engines = until(lambda: process.children(recursive=True))
    status, _, body = server.ask("DELETE", place)
    assert (status, json.loads(body)["stopping"]) == (202, True)
    assert server.when(place, "cancelled")["outcome"]["exit_code"] in (128 + signal.SIGINT, -signal.SIGINT)
    assert not [engine for engine in (process, *engines) if engine.is_running()]
    again = server.order(**order)
    assert again != place
    runs = {json.loads(file.read_text())["run"] for file in (tmp_path / "serve" / "sweeps").glob("*.json")}
    assert len(runs) == 1
    server.ask("DELETE", again)
