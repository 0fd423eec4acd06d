"""What a draft would need as a table for people, in words, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from tuner.analysis.breakeven import SPEEDUPS, Breakeven, Cell, Need, Reach
from tuner.analysis.step_growth import Basis
from tuner.records import Figure, Json
from tuner.words import distinguishing, milliseconds, plain, times

_BOUNDS = {Basis.AT_LEAST: ">= ", Basis.AT_MOST: "<= "}
MEANING = (
    "First lines: the probability with which each draft token has to be accepted, the same at every position, with its "
    '95 % interval (the speedup\'s: within one engine life, for finalists over their lives); "from" where that reaches '
    'into what is impossible, "-" where the mean is there already. Second lines: the tokens that a step has to give on '
    'average, of at most K + 1. "has": the measured draft in the same terms. Last column: every token accepted.'
)


def breakeven_table(where: str, found: Sequence[Breakeven], width: int | None = None) -> str:
    """Return a table for each draft and load point, and what follows from it in words."""
    console = Console(width=width)
    with console.capture() as capture:
        console.print(f"What a draft would need: {where}", style="bold", markup=False, highlight=False)
        for row, name in zip(found, _names(found), strict=True):
            console.print()
            console.print(f"{name}, {row.load_point.label}", style="bold", markup=False, highlight=False)
            console.print(_about(row), markup=False, highlight=False)
            console.print(_table(row), highlight=False)
            for sentence in sentences(row):
                console.print(f"- {sentence}", markup=False, highlight=False)
        console.print()
        console.print(MEANING, style="dim", markup=False, highlight=False)
    return capture.get()


def _names(found: Sequence[Breakeven]) -> list[str]:
    """Return each row's draft, with its engine arguments where they differ."""
    arguments = distinguishing(row.candidate for row in found)
    given = [[f"{name} {row.candidate.engine_args.get(name, 'default')}" for name in arguments] for row in found]
    return [
        f"{row.draft_name} ({', '.join(words)})" if words else row.draft_name
        for row, words in zip(found, given, strict=True)
    ]


def _about(row: Breakeven) -> str:
    lives = f" ({row.plain_tpot.note})" if row.plain_tpot.note else ""
    parts = [f"no speculation: {milliseconds(row.plain_tpot)} a token{lives}"]
    if row.draft_speed is not None:
        parts.append(f"as if the draft were {row.draft_speed:g} times as fast as the measured one")
    if row.draft_time is not None:
        parts.append(
            f"one draft token takes {plain(row.draft_time)} of such a step, as measured ({row.draft_time.note})"
        )
    return "; ".join(parts)


def _table(row: Breakeven) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("")
    for heading in ("has", *(_asked(speedup) for speedup in SPEEDUPS), "perfect\ndraft"):
        table.add_column(heading, justify="right")
    for cell in row.cells:
        has = "" if cell.has_tokens is None else f"{_share(cell.has_acceptance)}\n{cell.has_tokens:.2f}"
        table.add_row(
            f"K = {cell.k}\n{cell.basis.value}",
            has,
            *(_need(cell, one) for one in cell.needs),
            f"{plain(cell.ceiling)}x",
        )
    return table


def _asked(speedup: float) -> str:
    return "to pay" if speedup == 1 else f"for {speedup:g}x"


def _share(alpha: float | None) -> str:
    return "-" if alpha is None else f"{alpha:.2f}"


def _need(cell: Cell, one: Need) -> str:
    bound = _BOUNDS.get(cell.basis, "")
    return f"{_acceptance(one, bound)}\n{bound}{plain(one.tokens)}"


def _acceptance(one: Need, bound: str) -> str:
    low, high = one.acceptance.low, one.acceptance.high
    if one.reach is Reach.UNKNOWN:
        return "not known"
    if one.reach is Reach.ALWAYS or (one.reach is Reach.IMPOSSIBLE and (low is None or bound)):
        return one.reach.value
    if bound or low is None:
        return f"{bound}{plain(one.acceptance)}"
    return f"{plain(one.acceptance)} ({f'from {low:.2f}' if high is None else f'{low:.2f}-{high:.2f}'})"


def sentences(row: Breakeven) -> list[str]:
    """Return what the table of one draft at one load point comes to."""
    measured = [cell for cell in row.cells if cell.has_tokens is not None]
    found = []
    if measured and row.draft_speed is None:
        best = max(measured, key=lambda cell: (cell.has_tokens or 0.0) / (cell.growth.value or 1.0))
        found.append(_has(row, best))
    told: dict[str, list[str]] = {}
    for speedup in SPEEDUPS:
        told.setdefault(_least(row, speedup), []).append(_asked(speedup).removeprefix("for "))
    for words, asked in told.items():
        heading = " and ".join(asked)
        found.append(f"{'To pay' if heading == 'to pay' else f'For {heading}'}: {words}")
    return found


def _has(row: Breakeven, cell: Cell) -> str:
    need = cell.needs[0]
    has = f"{row.draft_name} has {_share(cell.has_acceptance)}"
    if need.acceptance.value is None:
        return f"{has} at K = {cell.k}, where a draft that is always right comes to {times(cell.ceiling)}."
    return f"{has}, needs {_acceptance(need, '')} to pay at K = {cell.k}."


def _least(row: Breakeven, speedup: float) -> str:
    easiest = row.easiest(speedup)
    if easiest is not None:
        cell, need = easiest
        return f"least at {_where(cell)}, an acceptance of {_acceptance(need, '')}."
    open_ks = row.not_told(speedup)
    if open_ks:
        return f"nothing but bounds is known at K = {', '.join(map(str, open_ks))}: measure another K."
    best = row.highest
    perfect = f"a draft that is always right comes to {times(best.ceiling)} at {_where(best)}"
    return f"out of reach with a draft of this cost, K up to {row.cells[-1].k}; {perfect}."


def _where(cell: Cell) -> str:
    return f"K = {cell.k}" + ("" if cell.basis is Basis.MEASURED else f" ({cell.basis.value})")


def breakeven_json(where: str, found: Sequence[Breakeven]) -> dict[str, Json]:
    """Return everything as JSON; times in seconds, `growth` in plain steps."""
    return {
        "measured_on": where,
        "model": "tokens = (1 - acceptance^(K+1)) / (1 - acceptance)",
        "rows": [_row_json(row) for row in found],
    }


def _row_json(row: Breakeven) -> Json:
    return {
        "draft": row.draft_name,
        "method": row.candidate.speculation.method if row.candidate.speculation else None,
        "engine_args": dict(row.candidate.engine_args),
        "load_point": row.load_point.label,
        "concurrency": row.load_point.concurrency,
        "temperature": row.load_point.sampling.temperature,
        "plain_tpot_s": _figure(row.plain_tpot),
        "draft_time_per_token": None if row.draft_time is None else _figure(row.draft_time),
        "draft_speed": row.draft_speed,
        "findings": list(sentences(row)),
        "cells": [_cell_json(cell) for cell in row.cells],
    }


def _cell_json(cell: Cell) -> Json:
    return {
        "num_speculative_tokens": cell.k,
        "basis": cell.basis.value,
        "growth": _figure(cell.growth),
        "step_s": cell.step_s,
        "ceiling": _figure(cell.ceiling),
        "has_tokens_per_step": cell.has_tokens,
        "has_acceptance": cell.has_acceptance,
        "needs": [
            {
                "speedup": need.speedup,
                "reach": need.reach.value,
                "tokens_per_step": _figure(need.tokens),
                "acceptance": _figure(need.acceptance),
            }
            for need in cell.needs
        ],
    }


def _figure(figure: Figure) -> Json:
    return {
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "n": figure.n,
        "estimator": figure.estimator,
        "note": figure.note,
    }
