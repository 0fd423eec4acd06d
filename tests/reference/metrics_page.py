"""docs/reference/metrics.md from the table of figures."""

from __future__ import annotations

from tests.reference.markdown import code, table
from tuner.analysis.metric_table import METRICS

HEAD = """# Metrics

Every figure of an engine life at one load point, by the name that it has in `best_config.yaml` (`figures`), in
`tuner.frames.figures_frame` and in the report. How intervals come about, what is paired and what a figure does not
claim: [measuring](../measuring.md#figures).

Counters are vLLM's on `/metrics`, without `vllm:` and `_total`, as differences over the valid repeats, summed before
dividing: D drafts, T draft tokens, A accepted tokens, A_i those accepted at position i, C generation tokens, R finished
requests, S decode steps. A figure without a value is null and its `note` says why; it is never 0 and never NaN.
"""


def metrics_page() -> str:
    """Return the page."""
    parts = [HEAD]
    for theme, rows in METRICS.items():
        cells = (
            [code(name), row.meaning, row.unit, row.estimator, row.source, row.undefined] for name, row in rows.items()
        )
        parts.append(f"## {theme}\n\n" + table(["name", "meaning", "unit", "formula", "from", "null when"], cells))
    return "\n".join(parts)
