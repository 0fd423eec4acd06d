"""A service in this process over a registry with answers, and one in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.registry.conftest import build_config, keep_config
from tuner.registry import Registry, target_slug
from tuner.service.app import service
from tuner.service.guard.rates import Limiter
from tuner.service.parts import Parts
from tuner.service.settings import ServeRequest, settings

READ, SWEEP, BOTH = "r" * 32, "s" * 32, "b" * 32
QWEN = "Qwen/Qwen3-14B"
SLUG = target_slug(QWEN)
ALLOWED = """\
targets:
  small: {model: any-name}
spaces: {two: ./two.yaml, tiny: tiny}
eval_sets: {chat: chat}
engines: {sim: sim}
"""
TWO = """\
# Long enough answers for a trial to last while a server is told to end.
target: simulated
drafts:
  - {name: good, method: draft_model, model: good, k: [2]}
load_points:
  - {eval_set: chat, temperature: 0, concurrency: [1], max_tokens: 400, num_prompts: 2}
protocol: {repeats: 3, lives: 1}
"""
ORDER = {"target": "small", "space": "two", "engine": "sim"}


def write_setup(root: Path) -> dict[str, Any]:
    """Write allow-list, search space and tokens; return the options of a server that uses them."""
    (root / "allowed.yaml").write_text(ALLOWED)
    (root / "two.yaml").write_text(TWO)
    tokens = root / "tokens"
    tokens.write_text(f"# who may what\nreader read {READ}\n\nsweeper sweep {SWEEP}\nboth read,sweep {BOTH}\n")
    tokens.chmod(0o600)
    return {
        "registry": str(root / "artifacts"),
        "state": root / "serve",
        "runs": root / "runs",
        "allow_list": root / "allowed.yaml",
        "token_file": tokens,
        "compare": False,
    }


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry with two sweeps of one target, to be copied: writing an artifact takes a second."""
    root = tmp_path_factory.mktemp("answers")
    for day, version in enumerate(("0.25.0", "0.26.0"), 1):
        keep_config(Registry(str(root)), build_config(version, target=QWEN), day)
    return root


@pytest.fixture
def setup(tmp_path: Path, answers: Path) -> dict[str, Any]:
    shutil.copytree(answers, tmp_path / "artifacts")
    return write_setup(tmp_path)


class Served:
    """A service in this process whose queue nobody works on, and a client of it."""

    def __init__(self, options: dict[str, Any], limiter: Limiter | None = None) -> None:
        made = service(settings(ServeRequest(**options), {}), limiter)
        self.parts: Parts = made.parts
        self.http = TestClient(made.asgi, base_url="http://localhost:8765", raise_server_exceptions=False)

    def ask(self, method: str, path: str, token: str | None = BOTH, **options: Any) -> Any:
        """Return the answer to a request with a token."""
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **options.pop("headers", {})}
        return self.http.request(method, path, headers=headers, **options)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """`serve(options, limiter)` -> Served; closed in the end."""
    made: list[Served] = []

    def start(options: dict[str, Any], limiter: Limiter | None = None, **changes: Any) -> Served:
        made.append(Served({**options, **changes}, limiter))
        return made[-1]

    yield start
    for one in made:
        one.http.close()
        one.parts.waiting.close()


@pytest.fixture
def served(serve: Callable[..., Served], setup: dict[str, Any]) -> Served:
    return serve(setup)
