"""The memory plans of a space as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tuner.preflight.memory import Planned, by_draft
from tuner.preflight.memory_need import Part, Source, gib
from tuner.preflight.memory_plan import MOST_K, MOST_SEQS, MemoryPlan, Verdict

_COLOURS = {Verdict.FITS: "green", Verdict.TIGHT: "yellow", Verdict.DOES_NOT_FIT: "red"}
WORDS = (
    "~ is an estimate. The KV cache is what is left of the share. 'fits up to' changes one setting and keeps the "
    "others. Each draft is shown at the K that leaves least."
)


def memory_table(plans: Sequence[Planned], width: int | None = None) -> str:
    """Return what print_memory prints; "" without plans."""
    console = Console(width=width)
    with console.capture() as capture:
        print_memory(console, plans)
    return capture.get()


def print_memory(console: Console, plans: Sequence[Planned]) -> None:
    """Print a row for each draft and set of engine arguments, with reasons for all but "fits"."""
    if not plans:
        return
    shown = by_draft(plans)
    console.print(_heading(shown[0].plan), markup=False, highlight=False)
    console.print(_table(shown))
    for one in shown:
        console.print(f"  {_name(one, shown)} fits up to: {_largest(one.plan)}", markup=False, highlight=False)
        for reason in one.plan.reasons:
            console.print(f"  {_name(one, shown)}: {reason}", markup=False, highlight=False)
    console.print(WORDS, markup=False, highlight=False)


def _heading(plan: MemoryPlan) -> str:
    settings, total = plan.settings, gib(plan.device.total)
    of = f"memory of {plan.device.name}, {total}"
    if settings.kv_bytes is not None:
        return f"{of}; the KV cache is given {gib(settings.kv_bytes)}"
    parallel = f" on each of {settings.tensor_parallel} GPUs" if settings.tensor_parallel > 1 else ""
    return f"{of}; gpu_memory_utilization {settings.utilization:g} of it is {gib(plan.limit)}{parallel}"


def _table(shown: Sequence[Planned]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for name in ("", "weights", "rest", "KV cache", "tokens", "requests", "verdict"):
        # Folded where it is narrow: a cut number is a wrong one.
        table.add_column(name, justify="left" if name in ("", "verdict") else "right", overflow="fold")
    for one in shown:
        plan, colour = one.plan, _COLOURS[one.plan.verdict]
        table.add_row(
            escape(_name(one, shown)),
            _sum([part for part in plan.parts if part.name.endswith("weights")]),
            _sum([part for part in plan.parts if not part.name.endswith("weights")]),
            f"{_mark(plan.kv_source)}{gib(plan.kv_bytes)}",
            f"{_mark(plan.kv_source)}{plan.kv_tokens}",
            f"{plan.requests:.1f} x {plan.settings.max_model_len}",
            f"[{colour}]{plan.verdict.value}[/]{'' if plan.certain or plan.verdict is Verdict.FITS else ' (estimate)'}",
        )
    return table


def _name(one: Planned, shown: Sequence[Planned]) -> str:
    """Return the candidate's label, with its share of the device where several are tried."""
    shares = {other.plan.settings.utilization for other in shown}
    return f"{one.candidate.label} at {one.plan.settings.utilization:g}" if len(shares) > 1 else one.candidate.label


def _mark(source: Source) -> str:
    return "~" if source is Source.ESTIMATE else ""


def _sum(parts: Sequence[Part]) -> str:
    estimated = any(part.source is Source.ESTIMATE for part in parts)
    return f"{'~' if estimated else ''}{gib(sum(part.size for part in parts))}"


def _largest(plan: MemoryPlan) -> str:
    largest = plan.largest
    values = [
        ("K", largest.k, MOST_K),
        ("max_num_seqs", largest.max_num_seqs, MOST_SEQS),
        ("max_model_len", largest.max_model_len, None),
    ]
    told = [f"{name} {value}{'+' if value == most else ''}" for name, value, most in values if value]
    return ", ".join(told) or "nothing"
