"""What an engine counts after a single question."""

from __future__ import annotations

import json
import urllib.request

from tuner.engine.process import Launch, running_engine


def metrics_after_one_question(launch: Launch) -> str:
    """Start an engine, ask it one question that it has to answer, and return its /metrics."""
    with running_engine(launch) as engine:
        body = {"model": engine.served_name, "messages": [{"role": "user", "content": "Count: one, two, three, one,"}]}
        request = urllib.request.Request(
            f"{engine.base_url}/v1/chat/completions",
            data=json.dumps({**body, "max_tokens": 16, "temperature": 0}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            assert json.load(response)["usage"]["completion_tokens"] > 0
        with urllib.request.urlopen(f"{engine.base_url}/metrics", timeout=30) as response:
            return str(response.read().decode())
