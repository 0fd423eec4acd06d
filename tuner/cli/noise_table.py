"""The noise of an engine as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tuner.analysis.noise import ArmNoise
from tuner.records import Protocol
from tuner.report_sections.noise import NOISE_WORDS, noise_cells, noise_columns

_NAMED = 2
"""The first columns name the row."""


def noise_table(arms: Sequence[ArmNoise], protocol: Protocol, width: int | None = None) -> str:
    """Return a block of lines for each arm and load point: what is told, and its figure."""
    console = Console(width=width)
    columns = noise_columns(protocol)[_NAMED:]
    with console.capture() as capture:
        for arm in arms:
            console.print(f"[bold]{escape(arm.candidate.label)}[/] on {escape(arm.device_key)}, against itself")
            for load in arm.loads:
                _, where, *cells = noise_cells(arm, load, protocol)
                console.print(f"  {where}", markup=False, highlight=False)
                table = Table.grid(padding=(0, 2))
                for name, cell in zip(columns, cells, strict=True):
                    if cell:
                        table.add_row("  ", name, cell)
                console.print(table)
        console.print(NOISE_WORDS, highlight=False)
    return capture.get()
