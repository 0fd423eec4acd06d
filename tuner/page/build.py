"""The page's table of contents: a section is a row here."""

from __future__ import annotations

from tuner.page.given import Given
from tuner.page.rows import Row, sections
from tuner.page.sections.acceptance import acceptance_blocks
from tuner.page.sections.answer import answer_blocks, deploy_blocks
from tuner.page.sections.basis import memory_blocks, repeat_blocks, sure_blocks
from tuner.page.sections.categories import category_blocks
from tuner.page.sections.causes import cause_blocks, warning_blocks
from tuner.page.sections.curves import curve_blocks
from tuner.page.sections.surface import surface_blocks
from tuner.page.sections.times import latency_blocks, step_blocks
from tuner.page.sections.told import explained_blocks, output_blocks, part
from tuner.page.view import Page

_SECTIONS = (
    Row("answer", answer_blocks),
    Row("deploy", deploy_blocks),
    Row("why", cause_blocks),
    Row("mind", warning_blocks),
    Row("curves", curve_blocks),
    Row("concurrency", surface_blocks),
    Row("acceptance", acceptance_blocks),
    Row("steps", step_blocks),
    Row("latencies", latency_blocks),
    Row("categories", category_blocks),
    Row("goal", part("goal", headed=True)),
    Row("schedule", part("schedule")),
    Row("sure", sure_blocks),
    Row("outputs", output_blocks),
    Row("changed", part("changed")),
    Row("memory", memory_blocks),
    Row("device", part("device", folded="device_table")),
    Row("explained", explained_blocks),
    Row("failed", part("failed")),
    Row("repeat", repeat_blocks),
)


def page_view(given: Given) -> Page:
    """Return everything that stands on the page of a run."""
    words = given.words
    return Page(
        title=words("page_title", target=given.manifest.target),
        subtitle=given.subtitle,
        source=words("source_report"),
        loads=tuple((load.key, load.label) for load in given.manifest.load_points),
        sections=sections(_SECTIONS, given, words),
    )
