"""The map of K x concurrency."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from tuner.analysis.findings import findings
from tuner.plots import plot_surface, save_plots
from tuner.plots.surface import EDGE_LINE, FAILED_COLOUR, FRAME, OPEN_LINE, Map, boundary
from tuner.records import Border, Findings, LoadPoint, Metric, Role, Surface, Trial

Make = Callable[..., Trial]
C1, C8, C32 = LOADS = tuple(LoadPoint("chat", c, 33) for c in (1, 8, 32))
SPEEDS = {1: (1.2, 1.1, 1.05), 3: (1.8, 1.3, 0.8)}  # K -> at concurrency 1, 8, 32


def trial(make: Make, number: int, k: int, speeds: tuple[float, ...], draft: str = "good", **how: object) -> Trial:
    by_load = dict(zip((load.key for load in LOADS), speeds, strict=True))
    return make(
        number,
        k=k,
        draft=draft,
        loads=LOADS,
        tpot=lambda load, i, r: 0.02 / by_load[load.key] * (1 + 0.002 * (i % 2)),
        **how,
    )


@pytest.fixture
def result(make_trial: Make) -> Findings:
    """K = 1 and 3 measured, 5 failed, 6 preempted, 2 and 4 not tried."""
    return findings(
        [
            make_trial(0, loads=LOADS),
            *(trial(make_trial, k, k, speeds) for k, speeds in SPEEDS.items()),
            make_trial(7, k=5, loads=LOADS, failure="out of memory"),
            trial(make_trial, 8, 6, (2.5, 2.0, 0.5), preemptions=3),
            make_trial(9, loads=LOADS, role=Role.BASELINE_AGAIN),
        ],
        LOADS,
        ks={"good": range(1, 7)},
    )


def surface_of(result: Findings) -> Surface:
    surface = result.answers[0].surface
    assert surface is not None
    return surface


def drawn(result: Findings, **how: object) -> tuple[Figure, Axes]:
    surface = surface_of(result)
    figure = plot_surface(surface, surface.drafts, subtitle="demo", **how)  # type: ignore[arg-type]
    figure.draw_without_rendering()
    return figure, figure.axes[0]


def cells(axes: Axes) -> dict[tuple[int, int], Rectangle]:
    """Return the cells by their place (column, row)."""
    found = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_width() == 1]
    return {(round(p.get_x() + 0.5), round(p.get_y() + 0.5)): p for p in found}


def words(axes: Axes) -> dict[tuple[int, int], list[str]]:
    found: dict[tuple[int, int], list[str]] = {}
    for text in axes.texts:
        assert isinstance(text, Annotation)
        x, y = text.xy
        found.setdefault((round(x), round(y)), []).append(text.get_text())
    return found


def test_each_cell_says_its_speedup_and_interval(result: Findings) -> None:
    _, axes = drawn(result)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1", "2", "3", "4", "5", "6"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "8", "32"]
    said = words(axes)
    assert said[0, 0] == ["1.00"]
    assert said[0, 3][0] == "1.80"
    low, high = map(float, said[0, 3][1].split("-"))
    assert low <= 1.80 <= high
    assert said[2, 3][0] == "0.80"
    assert said[1, 5] == ["failed"]
    assert said[0, 6] == ["2.50", "may not win"]
    assert (0, 2) not in said


def test_brighter_is_faster_and_the_rest_has_looks_of_its_own(result: Findings) -> None:
    _, axes = drawn(result)
    by_place = cells(axes)
    grey = {place: sum(to_rgb(patch.get_facecolor())) for place, patch in by_place.items()}
    order = [(2, 6), (2, 3), (0, 0), (2, 1), (1, 1), (0, 1), (1, 3), (0, 3), (1, 6), (0, 6)]  # 0.5 ... 2.5
    luminance = [
        0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (to_rgb(by_place[p].get_facecolor()) for p in order)
    ]
    assert all(one < other for one, other in pairwise(luminance))
    assert by_place[0, 2].get_hatch()
    assert grey[0, 2] == 3.0
    assert not by_place[0, 5].get_hatch()
    assert to_rgb(by_place[0, 5].get_facecolor()) == to_rgb(FAILED_COLOUR)


def framed(axes: Axes) -> list[tuple[int, int]]:
    """Return the places of the frames."""
    frames = [
        p
        for p in axes.patches
        if isinstance(p, Rectangle) and p.get_width() < 1 and p.get_linewidth() == FRAME["linewidth"]
    ]
    return [(round(p.get_x() + p.get_width() / 2), round(p.get_y() + p.get_height() / 2)) for p in frames]


def test_the_best_k_is_framed_at_each_concurrency(result: Findings, make_trial: Make) -> None:
    """Not the one that may not win, K = 6; and no speculation where every K is slower."""
    _, axes = drawn(result)
    assert framed(axes) == [(0, 3), (1, 3), (2, 1)]
    _, axes = drawn(findings([make_trial(0, loads=LOADS), trial(make_trial, 1, 2, (1.5, 0.9, 0.8))], LOADS))
    assert framed(axes) == [(0, 1), (1, 0), (2, 0)]


def test_the_crossover_runs_between_faster_and_not_faster(result: Findings) -> None:
    """K = 3 stops paying between 8 and 32 (columns 1 and 2), and so does K = 6; K = 1 pays everywhere."""
    (draft,) = surface_of(result).drafts
    shown = Map(draft, (0, 1, 3, 6), (1, 8, 32))
    lines = {((1.5, 1.5), (1.5, 2.5)), ((1.5, 2.5), (1.5, 3.5)), ((1.5, 1.5), (2.5, 1.5))}
    assert set(boundary(shown)) == {(*line, Border.PROVEN) for line in lines}
    _, axes = drawn(result)
    assert sum(line.get_color() == EDGE_LINE["color"] for line in axes.lines) == 2  # nothing between K not adjacent


def test_a_crossover_within_noise_is_dashed_and_called_not_proven(make_trial: Make) -> None:
    """The baseline's lives differ by more than any effect: no interval lies on one side of 1."""
    again = make_trial(9, loads=LOADS, role=Role.BASELINE_AGAIN, tpot=0.06)
    noisy = findings([make_trial(0, loads=LOADS), trial(make_trial, 1, 1, (1.2, 0.7, 0.4)), again], LOADS)
    figure, axes = drawn(noisy)
    crossing = [line for line in axes.lines if line.get_color() == EDGE_LINE["color"]]
    assert [line.get_linestyle() for line in crossing] == ["--"]
    assert crossing[0].get_linewidth() == OPEN_LINE["linewidth"]
    said = "\n".join(text.get_text() for text in figure.legends[0].get_texts())
    assert "not proven" in said and "crossover: faster on one side" not in said


def test_the_colours_have_a_scale(result: Findings) -> None:
    """K = 6 is the fastest at 2.5x and at 0.5x the slowest: the scale reaches as far in both directions."""
    figure, _ = drawn(result)
    assert [text.get_text() for text in figure.texts[-3:]] == ["0.40x", "1.00x, as without", "2.50x"]


def test_shares_of_the_traffic_stand_below_the_columns(result: Findings) -> None:
    _, axes = drawn(result, shares={1: 0.5, 8: 0.25, 32: 0.25})
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1\n(50%)", "8\n(25%)", "32\n(25%)"]
    assert "share" in axes.get_xlabel()


def test_the_metric_is_named(result: Findings) -> None:
    figure, _ = drawn(result, metric=Metric.E2E)
    assert figure.texts[0].get_text() == "Speedup of speculative decoding (E2E) by K and concurrency"


def test_only_what_is_there_is_explained(result: Findings, make_trial: Make) -> None:
    def explained(figure: Figure) -> str:
        return "\n".join(text.get_text() for text in figure.legends[0].get_texts())

    figure, _ = drawn(result)
    assert "not measured" in explained(figure)
    assert "this K failed" in explained(figure)
    assert "crossover" in explained(figure)
    assert "fresh engine lives" not in explained(figure)
    whole = findings([make_trial(0, loads=LOADS), trial(make_trial, 1, 1, SPEEDS[1])], LOADS)
    figure, _ = drawn(whole)
    assert "not measured" not in explained(figure)
    assert "failed" not in explained(figure)
    assert "crossover" not in explained(figure)


def test_one_concurrency_has_no_map(make_trial: Make, tmp_path: Path) -> None:
    result = findings([make_trial(0), make_trial(1, k=2, tpot=0.01)], (LoadPoint("chat", 1, 33),))
    assert not [path for path in save_plots(result, tmp_path) if "surface" in path.name]


@pytest.mark.parametrize("panels", [1, 2, 6])
def test_words_stay_in_their_cells_and_in_the_picture(make_trial: Make, panels: int) -> None:
    loads = tuple(LoadPoint("chat", c, 33) for c in (1, 2, 4, 8, 16, 64, 128, 256))
    drafts = [f"Qwen3-0.6B-Instruct-of-mine-{i}" for i in range(panels)]
    candidates = [
        make_trial(
            i, k=8, draft=name, loads=loads, prompts=2, repeats=2, tpot=lambda load, i, r: 0.0015 * (1 + 0.01 * i)
        )
        for i, name in enumerate(drafts, 1)
    ]
    result = findings(
        [make_trial(0, loads=loads, prompts=2, repeats=2), *candidates], loads, ks=dict.fromkeys(drafts, range(1, 9))
    )
    figure, _ = drawn(result, shares=dict.fromkeys((1, 2, 4, 8, 16, 64, 128, 256), 0.125))
    for axes in figure.axes:
        width = axes.get_window_extent().width / len(loads)
        assert max(text.get_window_extent().width for text in axes.texts) < width
        labels = [label.get_window_extent() for label in axes.get_xticklabels()]
        assert all(one.x1 < other.x0 for one, other in pairwise(labels))
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    assert all(box.y1 < below.y0 for axes in figure.axes if (below := axes.get_tightbbox()))
