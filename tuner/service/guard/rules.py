"""What a request needs before any route sees it. Pure but for the counting of rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tuner.service.guard.hosts import SAFE_METHODS, host_allowed, origin_allowed
from tuner.service.guard.rates import CHANGING, GUESSING, READING, Limiter, Rate
from tuner.service.guard.tokens import Scope, Token, find, presented
from tuner.service.problems import Refused

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Asked by what watches the process; they tell nothing but that."""
FOR_SCRIPTS = ("/v1/", "/metrics", "/openapi.json")
"""What paths begin with that no person looks at in a browser."""
ANONYMOUS = "anonymous"


@dataclass(frozen=True)
class Asked:
    """A request as far as the rules look at it.  client: address of the peer."""

    method: str
    path: str
    client: str
    hosts: Sequence[str]
    origins: Sequence[str]
    fetch_site: str
    authorization: str

    @property
    def safe(self) -> bool:
        """Whether it only reads."""
        return self.method in SAFE_METHODS


@dataclass(frozen=True)
class Rules:
    """hosts: names of this server.  tokens: () where none is set; then reading is free and sweeping impossible."""

    hosts: frozenset[str]
    tokens: tuple[Token, ...] = ()
    limiter: Limiter = field(default_factory=Limiter)

    def admit(self, asked: Asked) -> str:
        """Return the name of who asks.  Refused: 400 host, 403 origin or scope, 401 token, 429 rate."""
        if not host_allowed(asked.hosts, self.hosts):
            step = "Use a name that this server has: tuner serve --allow-host NAME adds one."
            raise Refused(400, "unknown-host", "The Host header does not name this server.", step)
        if not origin_allowed(asked.method, asked.origins, asked.fetch_site, asked.hosts[0]):
            raise Refused(403, "foreign-origin", "A page of another site may not change anything here.")
        if asked.safe and asked.path in OPEN_PATHS:
            return ANONYMOUS
        who = self._who(asked)
        self._count(who.name if who else asked.client, READING if asked.safe else CHANGING)
        return who.name if who else ANONYMOUS

    def _who(self, asked: Asked) -> Token | None:
        if not self.tokens:
            if asked.safe:
                return None
            step = "Start the server with --token-file, with a token that has the scope sweep (docs/serving.md)."
            raise Refused(403, "no-token-set", "This server has no tokens, so it only reads.", step)
        given = presented(asked.authorization)
        token = find(self.tokens, given[1]) if given else None
        if given is None or token is None or (given[0] == "basic" and not asked.safe):
            if given is not None:
                self._count(f"guess {asked.client}", GUESSING)
            raise _unauthorized(asked.path)
        scope = Scope.READ if asked.safe else Scope.SWEEP
        if scope not in token.scopes:
            raise Refused(403, "missing-scope", f"This token does not have the scope {scope}.", "Use one that has it.")
        return token

    def _count(self, client: str, rate: Rate) -> None:
        wait_s = self.limiter.wait_s(client, rate)
        if wait_s:
            after = {"Retry-After": str(math.ceil(wait_s))}
            raise Refused(429, "too-many-requests", "Too many requests.", "Wait as Retry-After says.", after)


def _unauthorized(path: str) -> Refused:
    # Browsers ask a person for Basic credentials; what scripts read does not invite them to.
    scheme = "Bearer" if path.startswith(FOR_SCRIPTS) else "Basic"
    challenge = {"WWW-Authenticate": f'{scheme} realm="tuner"'}
    step = "Send `Authorization: Bearer TOKEN`; in a browser, the token is the password."
    return Refused(401, "no-valid-token", "This needs a valid token.", step, challenge)
