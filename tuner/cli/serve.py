"""`tuner serve`: answers for deployments and people, and a queue of sweeps, over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from tuner.cli.options import registry_option

PACKAGES = ("fastapi", "uvicorn")
EXTRA = 'pip install "spec-tuner[serve]"'


@click.command(
    epilog="""\b
Examples:
  tuner serve                                   (http://127.0.0.1:8765, reading only)
  tuner serve --allow-list sweeps.yaml --token-file tokens
  tuner serve --host 0.0.0.0 --allow-host tuner.example.com --token-file tokens
"""
)
@registry_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; another needs a token.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port; 0 for any free one."
)
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("serve"),
    show_default=True,
    help="Directory of the queue and of the runs that it starts.",
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Where other runs are, to be shown.",
)
@click.option(
    "--allow-list",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML file of what may be swept, by name. Without it nothing may.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of tokens, mode 600: lines of NAME SCOPES TOKEN. TUNER_SERVE_TOKEN is one more, with both scopes.",
)
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="A further name of this server, as in its URL. May be repeated.",
)
@click.option(
    "--ray-jobs",
    metavar="URL",
    envvar="TUNER_RAY_JOBS",
    show_envvar=True,
    help="Run sweeps as jobs of the Ray cluster with this dashboard [default: on this machine].",
)
@click.option(
    "--engine", metavar="PATH|sim[:PROFILE]", help="The engine that answers are held against [default: this one]."
)
@click.option(
    "--check/--no-check",
    "compare",
    default=True,
    show_default=True,
    help="Whether answers are held against this machine, as `tuner check` does.",
)
def serve(
    registry: str,
    host: str,
    port: int,
    state: Path,
    runs: Path,
    allow_list: Path | None,
    token_file: Path | None,
    allow_hosts: tuple[str, ...],
    ray_jobs: str | None,
    engine: str | None,
    compare: bool,
) -> None:
    """Serve the registry: pages for people, best_config for deployments, and a queue of sweeps.

    It listens on this machine alone unless told otherwise, and starts only sweeps that the allow-list names
    (docs/serving.md). SIGTERM or Ctrl-C ends it; a sweep that runs on this machine stops cleanly and is gone on with
    by the next server.
    """
    _check_packages()
    from tuner.service.serving import serve as run
    from tuner.service.settings import ServeRequest

    request = ServeRequest(
        registry=registry,
        state=state,
        host=host,
        port=port,
        allow_list=allow_list,
        token_file=token_file,
        allow_hosts=allow_hosts,
        runs=runs,
        ray_jobs=ray_jobs,
        engine=engine,
        compare=compare,
    )
    run(request)


def _check_packages() -> None:
    """Raise UsageError with the command that installs what is missing."""
    from importlib.util import find_spec

    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise click.UsageError(f"`tuner serve` needs {' and '.join(missing)}, which this Python does not have: {EXTRA}")
