"""`tuner diagnose`: why speculation pays or does not."""

from __future__ import annotations

import json
from typing import Any

import click

from tuner.cli.options import (
    SessionArguments,
    auto_fix_option,
    json_option,
    keeping_options,
    same_runner_option,
    sampler_option,
    session_options,
    space_options,
)


@click.command(
    epilog="""\b
Examples:
  tuner diagnose /models/Qwen3-14B --draft /models/Qwen3-0.6B --space quick --same-runner-baseline
  tuner diagnose any-name --space tiny --engine sim     (simulated engine)
"""
)
@space_options
@same_runner_option
@click.option(
    "--drafts-alone/--no-drafts-alone",
    default=True,
    show_default=True,
    help="Serve each draft model alone too: one more engine start a draft.",
)
@sampler_option
@auto_fix_option
@session_options
@keeping_options
@json_option
def diagnose(as_json: bool, **options: Any) -> None:
    """Sweep SPACE for TARGET, serve each draft alone too, and say what stands behind the answer.

    Draft and target timed apart, the growth of verification (from n-gram), acceptance by draft, and the settings that
    speculation makes the engine change. It works in the run directory of a sweep of SPACE and uses what that measured.
    """
    from tuner.cli.closing import summary
    from tuner.cli.diagnosis import diagnosis
    from tuner.cli.signals import work_is_done
    from tuner.cli.sweep import command_line, swept
    from tuner.cli.terminal import show_lines, show_markdown
    from tuner.prepare import SweepRequest
    from tuner.report import explanation_sections
    from tuner.report_sections.diagnoses import diagnoses_section
    from tuner.words import verdict_words

    session, asked = SessionArguments.apart(options)
    result = swept(SweepRequest(**asked, command=command_line()), session)
    work_is_done()
    for answer in result.report.findings.answers:
        words = f"At temperature {answer.temperature:g}: {verdict_words(answer)}. {answer.why}"
        show_lines([words, ""], err=as_json)
    causes = diagnoses_section(result.report.findings.diagnoses)
    sections = explanation_sections(result.report.explanation, result.report.manifest)
    show_markdown("\n".join([*causes, *sections]), err=as_json)
    click.echo(f"report: {result.report.run / 'report.md'}", err=as_json)
    if as_json:
        click.echo(json.dumps({**summary(result), **diagnosis(result.report)}))
