"""Request parameters that do not go together with speculation, by release."""

from __future__ import annotations

import pytest

from tuner.artifact.beside import RequestEffect
from tuner.export.artifact_requests import request_features
from tuner.records import Speculation

DRAFT = Speculation("draft_model", 3, "good", "/models/good")
REFUSED, IGNORED, SLOW = RequestEffect.REFUSED, RequestEffect.IGNORED, RequestEffect.NOT_DRAFTED


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.8.5", {}),
        ("0.11.0", {"min_p": SLOW, "logprobs": SLOW, "repetition_penalty": SLOW}),
        ("0.13.0", {"min_p": IGNORED, "logit_bias": IGNORED, "min_tokens": IGNORED, "logprobs": SLOW}),
        ("0.14.0", {"min_p": REFUSED, "logit_bias": REFUSED, "min_tokens": REFUSED}),
        ("0.17.0", {"min_p": REFUSED, "logit_bias": REFUSED}),
        ("0.32.0", {"min_p": REFUSED, "logit_bias": REFUSED}),
        ("99.0.0", {"min_p": REFUSED, "logit_bias": REFUSED}),
    ],
)
def test_by_release(version: str, expected: dict[str, RequestEffect]) -> None:
    found = {feature.name: feature.effect for feature in request_features(DRAFT, version)}
    penalties = {"frequency_penalty", "presence_penalty", "repetition_penalty"}
    assert {name: effect for name, effect in found.items() if name in expected} == expected
    assert found.keys() - penalties == expected.keys() - penalties
    assert len(request_features(DRAFT, version)) == len(found), "each parameter has one effect"


def test_no_speculation_refuses_nothing() -> None:
    assert request_features(None, "0.32.0") == ()


def test_an_option_can_refuse_more() -> None:
    adaptive = Speculation("dspark", 3, "x", "/x", {"enable_adaptive_verification": True})
    assert "logprobs" in {feature.name for feature in request_features(adaptive, "0.28.0")}
    assert "logprobs" not in {feature.name for feature in request_features(adaptive, "0.29.0")}
    assert "logprobs" not in {feature.name for feature in request_features(DRAFT, "0.28.0")}
