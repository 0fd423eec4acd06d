"""Which names this server answers to, and which pages may make a browser ask it. Pure.

A page on the web can make a browser send requests to 127.0.0.1. The Host check refuses those that reach us by a name
that the page's author controls (DNS rebinding); the Origin check refuses what a page of another site sends with the
browser's credentials (CSRF).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Whether an address to bind to can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(authority: str) -> str | None:
    """Return the host of "host", "host:port" or "[address]:port", in lower case; None where that is none of them."""
    parts = _split(authority)
    return parts[0] if parts else None


def host_allowed(headers: Sequence[str], allowed: Collection[str]) -> bool:
    """Whether a request's Host headers, exactly one, name this server."""
    return len(headers) == 1 and host_name(headers[0]) in allowed


def origin_allowed(method: str, origins: Sequence[str], fetch_site: str, host: str) -> bool:
    """Whether a request that may change something comes from ourselves, or from what is no browser.

    origins: its Origin headers.  fetch_site: its Sec-Fetch-Site, "" for none.  host: its Host.
    """
    if method in SAFE_METHODS:
        return True
    if fetch_site not in ("", "same-origin", "none"):
        return False
    return not origins or (len(origins) == 1 and _same(origins[0], host))


def _same(origin: str, host: str) -> bool:
    scheme, divider, authority = origin.partition("://")
    if not divider or scheme not in _DEFAULT_PORTS:
        return False  # "null" is one of these
    one, other = _split(authority), _split(host)
    if one is None or other is None or one[0] != other[0]:
        return False
    default = _DEFAULT_PORTS[scheme]
    return (one[1] or default) == (other[1] or default)


def _split(authority: str) -> tuple[str, int | None] | None:
    if authority.startswith("["):
        host, bracket, rest = authority[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            return None
        port = rest[1:]
    else:
        host, _, port = authority.partition(":")
    if not host or not (port == "" or (port.isascii() and port.isdigit() and len(port) <= 5)):
        return None
    return host.lower().rstrip("."), int(port) if port else None
