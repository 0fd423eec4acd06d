"""Texts for the artifact: what is taken out, and what stays."""

from __future__ import annotations

import pytest

from tuner.export.artifact_text import Cleaner

CLEANER = Cleaner({"0003-candidate-good-k8-fb22feb6": "good K=8"}, ("/tmp/models/target", "1", "chat"))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("left out: trials/0003-candidate-good-k8-fb22feb6/record.json", "left out: good K=8"),
        ("0007-final-none-k0-44136fa3: lost", "a trial: lost"),
        ("cannot write /tmp/x-1/engine.log: full", "cannot write a scratch path: full"),
        ("/tmp: full", "a scratch path: full"),
        ("http://127.0.0.1:8123/metrics gave 404", "an address of the run gave 404"),
        ("127.0.0.1:8001: refused", "an address of the run: refused"),
        ("port 8123 is taken", "an address of the run is taken"),
        ("rejection_sample_method: synthetic accepts tokens", "a test-only setting accepts tokens"),
        ("/tmp/models/target/config.json, /tmp/models/other", "/tmp/models/target/config.json, a scratch path"),
    ],
)
def test_what_belongs_to_the_run_is_taken_out(text: str, cleaned: str) -> None:
    assert CLEANER.text(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "at concurrency 16: 1.90x (1.85-1.95), 12:30, T=0.7",
        "/models/tmp/x, ./tmp/y and /opt/tmpfs",
        "rejection_sample_method: standard; a synthetic prompt set",
        "a report of 2026-12-01, 0003 of 0004",
        "the port of the draft's weights to bf16",
    ],
)
def test_what_does_not_stays(text: str) -> None:
    assert CLEANER.text(text) == text


def test_in_a_document_what_the_user_gave_stays() -> None:
    given = {"environment": {"VLLM_CACHE_ROOT": "/tmp/cache"}, "target": "/tmp/t", "engine_args": {"x": "/tmp/x"}}
    document = {**given, "warnings": ["/tmp/a"], "answers": [{"speculation": {"draft": "/tmp/d"}, "why": "/tmp/b"}]}
    assert CLEANER.document(document) == {  # type: ignore[arg-type]
        **given,
        "warnings": ["a scratch path"],
        "answers": [{"speculation": {"draft": "/tmp/d"}, "why": "a scratch path"}],
    }
