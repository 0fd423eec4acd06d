"""The page's table of contents: a section is a row here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tuner.page.given import Given
from tuner.page.sections.acceptance import acceptance_blocks
from tuner.page.sections.answer import answer_blocks, deploy_blocks
from tuner.page.sections.basis import memory_blocks, repeat_blocks, sure_blocks
from tuner.page.sections.categories import category_blocks
from tuner.page.sections.causes import cause_blocks, warning_blocks
from tuner.page.sections.curves import curve_blocks
from tuner.page.sections.surface import surface_blocks
from tuner.page.sections.times import latency_blocks, step_blocks
from tuner.page.sections.told import explained_blocks, output_blocks, part
from tuner.page.view import Block, Page, Section


@dataclass(frozen=True)
class _Row:
    """name: anchor; its title is the sentence "title_NAME".  A section without blocks is left out."""

    name: str
    blocks: Callable[[Given], Iterator[Block]]


_SECTIONS = (
    _Row("answer", answer_blocks),
    _Row("deploy", deploy_blocks),
    _Row("why", cause_blocks),
    _Row("mind", warning_blocks),
    _Row("curves", curve_blocks),
    _Row("concurrency", surface_blocks),
    _Row("acceptance", acceptance_blocks),
    _Row("steps", step_blocks),
    _Row("latencies", latency_blocks),
    _Row("categories", category_blocks),
    _Row("goal", part("goal", headed=True)),
    _Row("schedule", part("schedule")),
    _Row("sure", sure_blocks),
    _Row("outputs", output_blocks),
    _Row("changed", part("changed")),
    _Row("memory", memory_blocks),
    _Row("device", part("device", folded="device_table")),
    _Row("explained", explained_blocks),
    _Row("failed", part("failed")),
    _Row("repeat", repeat_blocks),
)


def page_view(given: Given) -> Page:
    """Return everything that stands on the page of a run."""
    words = given.words
    found = [(row.name, tuple(row.blocks(given))) for row in _SECTIONS]
    return Page(
        title=words("page_title", target=given.manifest.target),
        subtitle=given.subtitle,
        loads=tuple((load.key, load.label) for load in given.manifest.load_points),
        sections=tuple(Section(name, words(f"title_{name}"), blocks) for name, blocks in found if blocks),
    )
