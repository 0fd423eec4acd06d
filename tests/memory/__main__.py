"""Write the table of predicted against logged memory into docs/memory.md.

.venv/bin/python -m tests.memory          # write it
.venv/bin/python -m tests.memory --check  # exit code 1 if the page has another
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.memory.held import Held, held

PAGE = Path(__file__).parents[2] / "docs" / "memory.md"
BEGIN, END = "<!-- table: python -m tests.memory -->\n", "<!-- end of table -->\n"
COLUMNS = ("engine", "weights, GiB", "KV cache, tokens", "error", "CUDA graphs, GiB")
"""All but the error are predicted / logged."""


def table(found: Sequence[Held]) -> str:
    """Return a row for each engine that was started, those that differ in K alone together."""
    groups: dict[tuple[str, str, bool], list[Held]] = {}
    for one in found:
        spec = one.case.candidate.speculation
        draft = spec.draft_name if spec else "no speculation"
        groups.setdefault((one.case.name.partition(",")[0], draft, bool(one.case.graphs)), []).append(one)
    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    return head + "".join(_row(engine, draft, group) for (engine, draft, _), group in groups.items())


def _row(engine: str, draft: str, group: Sequence[Held]) -> str:
    ks = sorted({one.case.candidate.k for one in group if one.case.candidate.k})
    name = f"{engine}, {draft}" + (f" K = {ks[0]}" + (f"-{ks[-1]}" if len(ks) > 1 else "") if ks else "")
    weights = _gib((one.plan.weights for one in group), (one.case.weights for one in group))
    graphs = _gib((_graphs(one) for one in group), (one.case.graphs for one in group))
    predicted = _span(one.plan.kv_tokens for one in group)
    logged = _span(one.case.kv_tokens for one in group if one.case.kv_tokens)
    worst = max((one.kv_error or 0.0 for one in group), key=abs)
    return f"| {name} | {weights} | {predicted} / {logged} | {worst:+.1%} | {graphs} |\n"


def _graphs(one: Held) -> int | None:
    return next((part.size for part in one.plan.parts if part.name == "CUDA graphs"), None)


def _gib(predicted: Iterable[int | None], logged: Iterable[int | None]) -> str:
    pairs = {(f"{a / 2**30:.2f}", f"{b / 2**30:.2f}") for a, b in zip(predicted, logged, strict=True) if a and b}
    return ", ".join(f"{a} / {b}" for a, b in sorted(pairs)) or "-"


def _span(values: Iterable[int]) -> str:
    found = sorted(values)
    return f"{found[0]}" if found[0] == found[-1] else f"{found[0]}-{found[-1]}"


def page_with(text: str, found: Sequence[Held]) -> str:
    """Return the page with its table made new."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(found)}\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Write or check the page."""
    with tempfile.TemporaryDirectory() as directory:
        found = held(Path(directory))
    old = PAGE.read_text(encoding="utf-8")
    new = page_with(old, found)
    if "--check" in arguments:
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
