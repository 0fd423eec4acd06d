"""What a request may not ask of an engine that speculates, by vLLM release.

Read from the code of vLLM 0.9.2, 0.10.2, 0.11.2 to 0.17.1, 0.20.2, 0.24.0, 0.28.0 to 0.30.0 and 0.32.0: the engine's
input validation, the list of requests that are never drafted for, and the logits processors that it loads.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuner.artifact.beside import RequestEffect, RequestFeature
from tuner.records import Speculation
from tuner.space.versions import release


@dataclass(frozen=True)
class _Row:
    """since: the first release that does so; until: the first that does not any more.  option: only with that set."""

    name: str
    effect: RequestEffect
    what: str
    since: str
    until: str = ""
    option: str = ""


_REFUSED = "HTTP 400: not yet supported with speculative decoding"
_SLOW = "answered without drafts: no faster than without speculation, or slower"
_UNSEEN = "has no effect, with a warning at start alone: the answer may break it"
_FIRST = "0.9.2"
_ROWS = (
    _Row("min_p", RequestEffect.REFUSED, _REFUSED, "0.14.0"),
    _Row("logit_bias", RequestEffect.REFUSED, _REFUSED, "0.14.0"),
    _Row("min_tokens", RequestEffect.REFUSED, f"{_REFUSED}, for more than 1", "0.14.0", "0.17.0"),
    _Row(
        "logprobs",
        RequestEffect.REFUSED,
        "HTTP 400: not supported with confidence-based verification",
        "0.28.0",
        "0.29.0",
        "enable_adaptive_verification",
    ),
    _Row("min_p", RequestEffect.NOT_DRAFTED, _SLOW, _FIRST, "0.11.2"),
    _Row("min_p", RequestEffect.IGNORED, f"{_UNSEEN}; and {_SLOW}", "0.11.2", "0.14.0"),
    _Row("logit_bias", RequestEffect.IGNORED, _UNSEEN, "0.11.2", "0.14.0"),
    _Row("min_tokens", RequestEffect.IGNORED, _UNSEEN, "0.11.2", "0.14.0"),
    _Row("logprobs", RequestEffect.NOT_DRAFTED, _SLOW, _FIRST, "0.14.0"),
    _Row("frequency_penalty", RequestEffect.NOT_DRAFTED, _SLOW, _FIRST, "0.14.0"),
    _Row("presence_penalty", RequestEffect.NOT_DRAFTED, _SLOW, _FIRST, "0.14.0"),
    _Row("repetition_penalty", RequestEffect.NOT_DRAFTED, _SLOW, _FIRST, "0.14.0"),
)


def request_features(speculation: Speculation | None, version: str) -> tuple[RequestFeature, ...]:
    """Return the request parameters that do not go together with this speculation in vLLM `version`.

    A release newer than the newest that was read is taken to do as that one.
    """
    if speculation is None:
        return ()
    return tuple(
        RequestFeature(name=row.name, effect=row.effect, what=row.what)
        for row in _ROWS
        if release(version) >= release(row.since)
        and (not row.until or release(version) < release(row.until))
        and (not row.option or speculation.options.get(row.option))
    )
