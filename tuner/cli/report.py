"""`tuner report`: everything that follows from a run's records, written again."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from tuner.cli.options import language_option

Printed = Literal["table", "html", "md", "pr"]


@click.command(
    epilog="\b\nExamples:\n  tuner report runs/demo-target/demo\n"
    "  tuner report runs/demo-target/demo --format pr | gh pr comment 12 --body-file -\n"
    "  tuner report runs/demo-target/demo --lang zh"
)
@click.argument("run", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option(
    "--format",
    "printed",
    type=click.Choice(["table", "html", "md", "pr"]),
    default="table",
    show_default=True,
    help="What to print: a table, the HTML page, the Markdown report, or a short Markdown for a pull request. All of "
    "them but the table are written into RUN, whatever is printed.",
)
@language_option
def report(run: Path, printed: Printed, lang: str) -> None:
    """Write the answer of RUN again, from its records alone.

    Written are best_config.yaml, the serve files, plots, report.html, report.md and pull_request.md. report.html is one
    file that needs nothing else: it can be mailed, or kept as an artifact of CI. The pages are in the language that was
    asked for last; best_config.yaml and the plots are in English always.
    """
    from tuner.cli.closing import closing_table
    from tuner.page.languages import LANGUAGES
    from tuner.page.pages import PAGE, PULL_REQUEST
    from tuner.report import REPORT, write_report

    words = LANGUAGES[lang]
    written = write_report(run, words=words)
    names = {"html": PAGE, "md": REPORT, "pr": PULL_REQUEST}
    if printed in names:
        click.echo((run / names[printed]).read_text(encoding="utf-8"), nl=False)
    else:
        click.echo(closing_table(written, words=words))
