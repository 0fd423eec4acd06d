"""Where time goes: the parts of a step, and how latencies of single requests are spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.analysis.latency_spread import LatencySpread, latency_spreads
from tuner.analysis.step_split import StepSplit, step_splits
from tuner.page.given import Given, by_k
from tuner.page.view import Block, Cell, Part, Strip, Table, Text, texts
from tuner.records import LoadPoint
from tuner.words import full_label, times

PARTS = ("plain", "draft", "verification", "rest")
"""Parts of a step, in the order in which they are drawn."""


def step_blocks(given: Given) -> Iterator[Block]:
    """Yield a table of bars for each load point; nothing where the time of no step is known."""
    splits = step_splits(given.findings.trials, given.apart)
    if not splits:
        return
    yield Text(given.words("steps_about"))
    if all(split.draft_s is None for split in splits):
        yield Text(given.words("steps_together"))
    for load in given.manifest.load_points:
        at = [split for split in splits if split.load.load_point.key == load.key]
        if at:
            yield _steps(given, load, sorted(at, key=lambda s: by_k(s.candidate)))


def _steps(given: Given, load: LoadPoint, splits: Sequence[StepSplit]) -> Table:
    words, longest = given.words, max(split.step_s for split in splits)
    apart = any(split.draft_s is not None for split in splits)
    names = [name for name in PARTS if name == "plain" or any(_part(s, name) for s in splits)]
    legend = tuple((name, words(f"step_{name}" if apart or name == "plain" else "step_beyond")) for name in names)
    columns = ("col_candidate", "col_step_bar", "col_growth", "col_step", *(f"col_step_{name}" for name in names))
    rows = []
    for split in splits:
        bar, start = [], 0.0
        for name in names:
            width = 100 * (_part(split, name) or 0.0) / longest
            bar.append(Part(name, round(start, 2), round(width, 2)))
            start += width
        figures = [
            times(split.growth).replace("x", ""),
            _ms(split.step_s),
            *(_ms(_part(split, name)) for name in names),
        ]
        cells = (Cell(full_label(split.candidate, given.names)), Cell("", bar=tuple(bar)))
        rows.append((*cells, *texts(figures, numbers_from=0)))
    head = [words(name) for name in columns]
    if not apart:
        head = [words("col_step_beyond") if name == "col_step_rest" else words(name) for name in columns]
    return Table(load.label, texts(head, numbers_from=2), tuple(rows), load.key, legend)


def _part(split: StepSplit, name: str) -> float | None:
    parts = {
        "plain": split.plain_s,
        "draft": split.draft_s,
        "verification": split.verification_s,
        "rest": split.rest_s,
    }
    return parts[name]


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.4g} ms"


def latency_blocks(given: Given) -> Iterator[Block]:
    """Yield two tables for each load point: time to first token, and time per output token."""
    spreads = latency_spreads(given.trials, given.manifest.load_points)
    if not spreads:
        return
    yield Text(given.words("latencies_about"))
    for load in given.manifest.load_points:
        for metric in ("tpot_s", "ttft_s"):
            rows = [s for s in spreads if (s.load_point.key, s.metric) == (load.key, metric)]
            if rows:
                yield _latencies(given, load, metric, sorted(rows, key=lambda s: by_k(s.candidate)))


def _latencies(given: Given, load: LoadPoint, metric: str, spreads: Sequence[LatencySpread]) -> Table:
    words, widest = given.words, max(spread.percentiles[4] for spread in spreads)
    rows = []
    for spread in spreads:
        name = full_label(spread.candidate, given.names)
        told = words("in_lives", what=name, lives=spread.lives) if spread.lives > 1 else name
        low, quarter, middle, three_quarters, high, top = spread.percentiles
        drawn = Strip(*(round(100 * value / widest, 2) for value in (low, quarter, middle, three_quarters, high)))
        figures = (*map(_ms, (middle, high, top)), str(spread.n))
        rows.append((Cell(told), Cell("", strip=drawn), *texts(figures, numbers_from=0)))
    columns = [words(name) for name in ("col_p50", "col_p95", "col_p99", "col_requests")]
    head = [words("col_candidate"), words("col_spread", widest=_ms(widest)), *columns]
    return Table(words(f"latency_{metric}", load=load.label), texts(head, numbers_from=2), tuple(rows), load.key)
