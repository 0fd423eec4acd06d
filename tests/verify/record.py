"""The kept result of `make verify-client`, and the part of docs/real-runs.md that is written from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.verify.agreement import METRICS

DOCS = Path(__file__).parents[2] / "docs"
RESULT = DOCS / "verify-client.json"
PAGE = DOCS / "real-runs.md"
BEGIN, END = "<!-- verify-client: written by tests/verify/client.py -->", "<!-- verify-client: end -->"


def section(result: dict[str, Any]) -> str:
    """Return the section's text for a result: what was run, and each figure's difference with its noise."""
    loads = result["comparisons"]
    head = ["speculation", "concurrency", "requests a round", *METRICS.values(), "TTFT, E2E against the engine's clock"]
    lines = [
        f"`{result['command']}`, {result['date']}, {result['machine']} (load average"
        f" {result['load_before']} before the start), vLLM {result['vllm']}, target"
        f" {result['target']}, {result['rounds']} rounds by each client: difference of the tuner's median from that of"
        f" `vllm bench serve`, and in brackets how far the rounds of one and the same client lie apart"
        f" (A/A). {_verdict(result)}"
        " Last column: the means of one more round by the tuner's client against what the engine counted for the same"
        " requests.",
        "",
        f"| {' | '.join(head)} |",
        f"|---|{'---:|' * (len(head) - 1)}",
        *(f"| {' | '.join(_cells(load))} |" for load in loads),
    ]
    return "\n".join(lines)


def with_section(page: str, result: dict[str, Any]) -> str:
    """Return the page with the section between the markers replaced.  Raises ValueError if it has no markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{section(result)}\n\n{END}{after}"


def _verdict(result: dict[str, Any]) -> str:
    figures = [figure for load in result["comparisons"] for figure in load["figures"].values()]
    outside = sum(not figure["within"] for figure in figures)
    close = sum(abs(figure["difference"]) <= result["tolerance"] for figure in figures)
    words = f"{close} of {len(figures)} figures are within {result['tolerance']:.0%}"
    if outside:
        return f"{words}; {outside} are outside both that and the noise."
    return f"{words}, the others within the noise." if close < len(figures) else f"{words}."


def _cells(load: dict[str, Any]) -> list[str]:
    cells = [load["candidate"], str(load["concurrency"]), str(load["requests"])]
    for metric in METRICS:
        figure = load["figures"].get(metric)
        mark = "" if figure is None or figure["within"] else " outside"
        cells.append("" if figure is None else f"{figure['difference']:+.1%} ({figure['floor']:.1%}){mark}")
    clock = load["above_engine_clock"]
    return [*cells, f"{clock['ttft_s']:+.1%}, {clock['e2e_s']:+.1%}"]
