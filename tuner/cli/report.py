"""`tuner report`: everything that follows from a run's records, written again."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="\b\nExample:\n  tuner report runs/demo-target/demo")
@click.argument("run", type=click.Path(path_type=Path, file_okay=False, exists=True))
def report(run: Path) -> None:
    """Write best_config.yaml, the serve files, plots and report.md of RUN again, from its records alone."""
    from tuner.cli.closing import closing_table
    from tuner.report import write_report

    click.echo(closing_table(write_report(run)))
