"""`tuner sweep --engine OLD --engine NEW`: two engines one after the other on the same devices, then compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.records import slug
from tuner.words import engine_words

if TYPE_CHECKING:
    from tuner.cli.options import SessionArguments
    from tuner.compare import Comparison
    from tuner.prepare import Prepared, SweepRequest
    from tuner.progress import SweepView
    from tuner.records import Json
    from tuner.sweep import SweepResult


def run_directories(out: Path, versions: Sequence[str]) -> list[Path]:
    """Return a run directory for each engine: OUT/engine-VERSION, numbered from the second of one version on."""
    names = [slug(f"engine-{version.replace('+', '-')}") for version in versions]
    return [
        out / (name if name not in names[:place] else f"{name}-{names[:place].count(name) + 1}")
        for place, name in enumerate(names)
    ]


def prepare_both(requests: Sequence[SweepRequest]) -> list[Prepared]:
    """Return the checked requests: what is wrong with either is found before the first engine starts."""
    from tuner.prepare import prepare

    return [prepare(request) for request in requests]


def sweep_both(both: Sequence[Prepared], session: SessionArguments, view: SweepView) -> list[SweepResult]:
    """Sweep with each engine in turn; each search begins with what the sweep before it found best.

    Called again after an interruption, what is finished is not measured again.
    """
    from tuner.sweep import run_sweep
    from tuner.upgrade import last_of_run

    out = session.out or both[0].default_out
    directories = run_directories(out, [prepared.engine.version for prepared in both])
    results: list[SweepResult] = []
    for place, (prepared, directory) in enumerate(zip(both, directories, strict=True), start=1):
        view.message(f"engine {place} of {len(both)}: {engine_words(prepared.engine.version, prepared.engine.build)}")
        for note in prepared.notes:
            view.message(note)
        last = last_of_run(results[-1].report.run) if results and results[-1].report.findings.finished else None
        options = replace(session.options(prepared), out=directory)
        results.append(run_sweep(prepared, options, view, last=last))
    return results


def compared(old: SweepResult, new: SweepResult) -> Comparison:
    """Return how the second sweep differs from the first."""
    from tuner.compare import compare, read_side

    before, after = (read_side(str(result.report.artifact), "").side for result in (old, new))
    return compare(before, after)


def both_summary(results: Sequence[SweepResult], found: Comparison) -> dict[str, Json]:
    """Return the closing JSON object: one for each engine as a sweep alone would end with, and the comparison."""
    from tuner.cli.closing import summary
    from tuner.cli.compare import exit_code
    from tuner.compare.document import document

    return {
        "engines": [{**summary(result), "engine_version": result.report.manifest.engine_version} for result in results],
        "comparison": document(found, exit_code(found.outcome)),
    }
