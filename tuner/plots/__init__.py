"""Pictures of a run: curves in, matplotlib figures out. The only door to matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.analysis.breakeven import Breakeven
from tuner.plots.acceptance import longest, plot_acceptance
from tuner.plots.breakeven import plot_breakeven
from tuner.plots.speedup import plot_speedup
from tuner.plots.surface import plot_surface
from tuner.records import Answer, Findings, KCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_acceptance", "plot_breakeven", "plot_speedup", "plot_surface", "save_breakeven", "save_plots"]

PANELS_PER_FIGURE = 6


def save_plots(findings: Findings, out_dir: Path, *, subtitle: str = "") -> tuple[Path, ...]:
    """Write every picture of a run as PNG and SVG into `out_dir` (created if missing) and return the paths.

    Names are speedup-t0.png, acceptance-t0.7.svg, surface-t0.png (from two concurrencies on) and so on: one set for
    each temperature, numbered from 2 where a run has more load points or drafts than one picture holds, with the
    arguments' key where it has several sets of engine arguments.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for answer in findings.answers:
        args = list(dict.fromkeys(curve.args_key for curve in answer.curves))
        for key in args:
            curves = [curve for curve in answer.curves if curve.args_key == key]
            several = len(args) > 1
            words = "; ".join(filter(None, [subtitle, _args_words(findings, key) if several else ""]))
            stem = f"t{answer.temperature:g}" + (f"-{key}" if several else "")
            for number, page in enumerate(_pages(curves), 1):
                name = stem + (f"-{number}" if number > 1 else "")
                paths += _save(plot_speedup(page, subtitle=words, finals=findings.finals), out_dir / f"speedup-{name}")
                if any(longest(curve) for curve in page):
                    paths += _save(plot_acceptance(page, subtitle=words), out_dir / f"acceptance-{name}")
            for number, figure in enumerate(_surfaces(findings, answer, key, words), 1):
                paths += _save(figure, out_dir / f"surface-{stem}{f'-{number}' if number > 1 else ''}")
    return tuple(paths)


def save_breakeven(found: Sequence[Breakeven], path: Path, *, subtitle: str = "") -> None:
    """Write what a draft would need into `path`, as PNG or SVG by its ending."""
    _write(plot_breakeven(found, subtitle=subtitle), path)


def _save(figure: Figure, stem: Path) -> list[Path]:
    paths = [stem.with_name(stem.name + ending) for ending in (".png", ".svg")]
    for path in paths:
        _write(figure, path)
    return paths


def _write(figure: Figure, path: Path) -> None:
    from matplotlib import rc_context

    # No date and a fixed salt: the same findings give the same bytes.
    with rc_context({"svg.hashsalt": "tuner"}):
        if path.suffix == ".png":
            figure.savefig(path, dpi=150)
        else:
            figure.savefig(path, metadata={"Date": None})


def _surfaces(findings: Findings, answer: Answer, args_key: str, words: str) -> Iterator[Figure]:
    """Yield maps of K x concurrency, where there is more than one concurrency."""
    surface, covered = answer.surface, findings.traffic.get(answer.temperature)
    if surface is None or len(surface.concurrencies) < 2:
        return
    drafts = [draft for draft in surface.drafts if draft.args_key == args_key and draft.cells]
    for i in range(0, len(drafts), PANELS_PER_FIGURE):
        page = drafts[i : i + PANELS_PER_FIGURE]
        shares = covered.shares if covered else None
        yield plot_surface(surface, page, subtitle=words, shares=shares, metric=findings.goal.metric)


def _pages(curves: Sequence[KCurve]) -> list[list[KCurve]]:
    loads = list(dict.fromkeys(curve.load_point for curve in curves))
    chunks = [loads[i : i + PANELS_PER_FIGURE] for i in range(0, len(loads), PANELS_PER_FIGURE)]
    return [[curve for curve in curves if curve.load_point in chunk] for chunk in chunks]


def _args_words(findings: Findings, args_key: str) -> str:
    args = next(t.candidate.engine_args for t in findings.trials if t.candidate.args_key == args_key)
    return ", ".join(f"{name} {value}" for name, value in args.items())
