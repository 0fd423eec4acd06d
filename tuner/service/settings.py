"""How a server is started."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.errors import InputError
from tuner.service.allowed import AllowList, read_allowed
from tuner.service.guard.hosts import LOOPBACK, host_name, is_loopback
from tuner.service.guard.tokens import TOKEN_VARIABLE, Token, read_tokens


@dataclass(frozen=True)
class ServeRequest:
    """What the command line says.

    registry: directory or URL.  state: directory of the queue and its runs.  runs: where else to look for runs to show.
    allow_hosts: names of this server beside the loopback ones and `host`.  ray_jobs: address of a cluster's dashboard.
    engine, compare: see tuner.service.holding.
    """

    registry: str
    state: Path
    host: str = "127.0.0.1"
    port: int = 8765
    allow_list: Path | None = None
    token_file: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    runs: Path = Path("runs")
    ray_jobs: str | None = None
    engine: str | None = None
    compare: bool = True


@dataclass(frozen=True)
class Settings:
    """The same, checked, with its files read.  allowed: None where nothing may be swept.  hosts: in lower case."""

    request: ServeRequest
    tokens: tuple[Token, ...]
    allowed: AllowList | None
    hosts: frozenset[str]


def settings(request: ServeRequest, environ: Mapping[str, str]) -> Settings:
    """Check how a server is to be started.

    InputError: an address that others reach without a token, a token or allow-list file that cannot be used, a name
    that is none.
    """
    tokens = read_tokens(request.token_file, environ)
    if not is_loopback(request.host) and not tokens:
        raise InputError(
            f"--host {request.host} can be reached from other machines, and there is no token",
            f"Give --token-file FILE, or set {TOKEN_VARIABLE} (docs/serving.md).",
        )
    names = [name for given in request.allow_hosts if (name := host_name(given)) is not None]
    if len(names) < len(request.allow_hosts):
        raise InputError(
            f"--allow-host: not a host name among {', '.join(request.allow_hosts)}", "Give it as in a URL."
        )
    allowed = None if request.allow_list is None else read_allowed(request.allow_list)
    own = set() if _any_address(request.host) else {request.host.lower()}
    # A sweep on a cluster has another working directory.
    registry = request.registry if "://" in request.registry else str(Path(request.registry).expanduser().absolute())
    return Settings(replace(request, registry=registry), tokens, allowed, frozenset({*LOOPBACK, *names, *own}))


def _any_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
