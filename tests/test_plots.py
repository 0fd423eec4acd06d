from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import BboxBase

from tuner.analysis.findings import findings
from tuner.plots import plot_acceptance, plot_speedup, save_plots
from tuner.records import Findings, KCurve, LoadPoint, Protocol, Role, Sampling, Trial

LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
C1, C8 = LoadPoint("chat", 1, 33), LoadPoint("chat", 8, 33)
Make = Callable[..., Trial]
SUBTITLE = "target demo, vLLM 0.32.0"


@pytest.fixture
def result(make_trial: Make) -> Findings:
    """Two drafts at two load points: "good" has K = 1, 3 and 5 (best 3), "weak" K = 1, and K = 3 failed."""

    def run(number: int, k: int, draft: str, speed: float) -> Trial:
        return make_trial(
            number, k=k, draft=draft, loads=(C1, C8), tpot=lambda _l, i, _r: 0.02 / speed * (1 + 0.01 * (i % 3))
        )

    return findings(
        [
            make_trial(0, loads=(C1, C8)),
            run(1, 1, "good", 1.2),
            run(2, 3, "good", 1.6),
            run(3, 5, "good", 1.4),
            run(4, 1, "weak", 0.9),
            make_trial(5, k=3, draft="weak", failure="out of memory"),
        ],
        (C1, C8),
    )


def curves_of(result: Findings) -> Sequence[KCurve]:
    return result.answers[0].curves


def texts(figure: Figure) -> str:
    figure.draw_without_rendering()
    legends = [legend for axes in figure.axes if (legend := axes.get_legend())] + list(figure.legends)
    parts = [text.get_text() for text in figure.texts]
    for legend in legends:
        parts += [legend.get_title().get_text(), *(text.get_text() for text in legend.get_texts())]
    return "\n".join(parts)


def data(line: Line2D) -> list[tuple[float, float]]:
    xs, ys = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
    return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]


def points(axes: Axes, marker: str) -> list[tuple[float, float]]:
    """Return the points of all lines in the panel with that marker."""
    return [point for line in axes.lines if line.get_marker() == marker for point in data(line)]


def test_speedup_has_a_panel_for_each_load_point_on_one_scale(result: Findings) -> None:
    figure = plot_speedup(curves_of(result), subtitle=SUBTITLE)
    assert len(figure.axes) == 2
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    for axes in figure.axes:
        assert axes.get_ylabel() == "TPOT speedup over no speculation (x)"
        assert axes.get_xlabel().startswith("K = draft tokens")
        assert list(axes.get_xticks()) == [0, 1, 3, 5]


def test_speedup_draws_the_curves_values(result: Findings) -> None:
    axes = plot_speedup(curves_of(result), subtitle=SUBTITLE).axes[0]
    good = next(curve for curve in curves_of(result) if curve.draft_name == "good")
    line = next(points for line in axes.lines if line.get_marker() == "o" and len(points := data(line)) == 4)
    assert [y for _, y in line] == [point.speedup.value for point in good.points]
    assert [round(x) for x, _ in line] == [0, 1, 3, 5]
    dashed = [data(line) for line in axes.lines if line.get_linestyle() == "--" and line.get_marker() == "None"]
    assert [y for line in dashed for _, y in line] == [1.0, 1.0]


def test_intervals_are_drawn_from_low_to_high(result: Findings) -> None:
    axes = plot_speedup(curves_of(result), subtitle=SUBTITLE).axes[0]
    good = next(curve for curve in curves_of(result) if curve.draft_name == "good")
    ends = {round(y, 9) for _, y in points(axes, "_")}
    for point in good.points[1:]:
        assert round(point.speedup.low or 0, 9) in ends
        assert round(point.speedup.high or 0, 9) in ends


def test_an_interval_that_leaves_the_panel_ends_in_an_arrow(make_trial: Make) -> None:
    def wild(_load: LoadPoint, i: int, _r: int) -> float:
        return 0.002 if i else 0.06

    result = findings([make_trial(prompts=2), make_trial(1, k=2, tpot=wild, prompts=2)], (C1,))
    axes = plot_speedup(curves_of(result), subtitle=SUBTITLE).axes[0]
    bottom, top = axes.get_ylim()
    point = curves_of(result)[0].points[1].speedup
    assert (point.high or 0) > top
    assert [y for _, y in points(axes, "^")] == [top]
    assert [y for _, y in points(axes, "v")] == [bottom]


def test_fresh_lives_stand_beside_the_single_life_and_are_named(make_trial: Make) -> None:
    def lives(number: int, k: int, tpot: float) -> list[Trial]:
        return [
            make_trial(number + i, k=k, tpot=tpot * (1 + 0.01 * i * (k > 0)), role=Role.FINAL, final_round=i)
            for i in range(3)
        ]

    trials = [make_trial(0), make_trial(1, k=2, tpot=0.01), *lives(2, 0, 0.02), *lives(5, 2, 0.0125)]
    found = findings(trials, (LOAD,), protocol=Protocol(lives=3, max_lives=3))
    figure = plot_speedup(curves_of(found), subtitle="", finals=found.finals)
    fresh = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    ((x, y),) = data(fresh[0])
    assert y == pytest.approx(0.02 / (0.0125 * (1.0 * 1.01 * 1.02) ** (1 / 3)))
    assert 2 < x < 2.5
    assert "over 3 fresh engine lives, 95 % interval: the answer's figure" in texts(figure)
    assert "fresh" not in texts(plot_speedup(curves_of(found), subtitle=""))
    begun = findings(
        [trial for trial in trials if not trial.record.round], (LOAD,), protocol=Protocol(lives=3, max_lives=3)
    )
    assert "one fresh engine life: too few for an interval" in texts(
        plot_speedup(curves_of(begun), subtitle="", finals=begun.finals)
    )


def test_best_k_and_inflection_are_marked_and_named(result: Findings) -> None:
    figure = plot_speedup(curves_of(result), subtitle=SUBTITLE)
    axes = figure.axes[0]
    rings = [data(line) for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert [round(x) for ring in rings for x, _ in ring] == [3]
    bends = sorted(round(x) for x, _ in points(axes, "v"))
    assert bends == [0, 3]
    words = texts(figure)
    assert "good: best K = 3 (1.58x), inflection 3" in words
    assert "weak: no K clearly faster, inflection 0" in words
    assert "best K: fastest, or the smallest that noise cannot tell from it" in words
    assert "inflection: the next token gains less than 1 %" in words


def test_inflections_at_zero_do_not_hide_one_another(make_trial: Make) -> None:
    slow = [make_trial(i, k=1, draft=draft, tpot=0.04) for i, draft in enumerate(("good", "weak"), 1)]
    axes = plot_speedup(curves_of(findings([make_trial(), *slow], (C1,))), subtitle=SUBTITLE).axes[0]
    assert sorted(x for x, _ in points(axes, "v")) == pytest.approx([-0.05, 0.05])


def test_an_inflection_that_is_open_or_not_reached_has_no_mark(make_trial: Make) -> None:
    rising = [make_trial(k, k=k, tpot=0.02 / (1 + k / 3)) for k in (1, 2, 3)]
    figure = plot_speedup(curves_of(findings([make_trial(), *rising], (C1,))), subtitle=SUBTITLE)
    assert "good: best K = 3 (2.00x), no inflection up to 3" in texts(figure)
    assert points(figure.axes[0], "v") == []

    def unsure(_load: LoadPoint, i: int, _r: int) -> float:
        return 0.012 * (1 + 0.1 * (i % 3 - 1))

    noisy = [*rising[:2], make_trial(3, k=3, tpot=unsure)]
    figure = plot_speedup(curves_of(findings([make_trial(), *noisy], (C1,))), subtitle=SUBTITLE)
    assert "inflection open: 2-3" in texts(figure)
    assert points(figure.axes[0], "v") == []


def test_the_open_range_ends_on_the_line_where_its_k_was_not_measured(make_trial: Make) -> None:
    """K = 1 and 5 of 1-5 were measured, at 1.5 and 1.1: the inflection is anywhere from 1 to 4, on the line at 1.2."""
    trials = [make_trial(), make_trial(1, k=1, tpot=0.02 / 1.5), make_trial(2, k=5, tpot=0.02 / 1.1)]
    figure = plot_speedup(curves_of(findings(trials, (C1,), ks={"good": range(1, 6)})), subtitle=SUBTITLE)
    assert "inflection open: 1-4" in texts(figure)
    (band,) = [data(line) for line in figure.axes[0].lines if line.get_linewidth() == 13]
    assert [k for k, _ in band] == [1.0, 4.0]
    assert [speedup for _, speedup in band] == pytest.approx([1.5, 1.2])


def test_a_draft_that_failed_everywhere_says_so(make_trial: Make) -> None:
    trials = [make_trial(), make_trial(1, k=2), make_trial(2, k=2, draft="broken", failure="no such file")]
    figure = plot_speedup(curves_of(findings(trials, (C1,))), subtitle=SUBTITLE)
    assert "broken: every K failed" in texts(figure)
    assert "this K failed" in texts(figure)


def test_a_failed_k_is_a_cross_on_the_axis(result: Findings) -> None:
    figure = plot_speedup(curves_of(result), subtitle=SUBTITLE)
    axes = figure.axes[0]
    ((x, y),) = points(axes, "x")
    assert (round(x), y) == (3, axes.get_ylim()[0])
    assert "this K failed" in texts(figure)


def test_title_and_subtitle_and_n_are_there(result: Findings) -> None:
    words = texts(plot_speedup(curves_of(result), subtitle=SUBTITLE))
    assert "Speedup of speculative decoding" in words
    assert SUBTITLE in words
    assert "95 % interval within one engine life, 6 prompts" in words
    assert C1.label in words


@pytest.mark.parametrize("panels", [1, 2, 3, 6])
def test_no_text_leaves_the_picture_or_meets_another(make_trial: Make, panels: int) -> None:
    name = "a-rather-long-eval-set-name"
    loads = tuple(LoadPoint(name, c, 33, ignore_eos=True) for c in (1, 8, 16, 64, 128, 256)[:panels])
    drafts = ("Qwen3-0.6B-Instruct-of-mine", "n-gram", "eagle3-head-second-try")
    candidates = [make_trial(i, k=2, draft=name, loads=loads, tpot=0.01) for i, name in enumerate(drafts, 1)]
    failed = make_trial(9, k=4, draft="n-gram", failure="out of memory")
    curves = curves_of(findings([make_trial(loads=loads), *candidates, failed], loads))
    for plot in (plot_speedup, plot_acceptance):
        figure = plot(curves, subtitle="a long subtitle that has to be broken " * 6)
        figure.draw_without_rendering()
        heads = [legend for axes in figure.axes if (legend := axes.get_legend())]
        boxes = [part.get_window_extent() for part in (*figure.texts, *figure.legends, *heads)]
        boxes += [axes.get_window_extent() for axes in figure.axes]
        assert len(heads) == panels
        for i, box in enumerate(boxes):
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= figure.bbox.width
            assert box.y1 <= figure.bbox.height
            # A legend's frame, which is not drawn, has padding of a few pixels.
            assert not any(_overlap(box, other) for other in boxes[i + 1 :])


def _overlap(one: BboxBase, other: BboxBase, padding: float = 6.0) -> bool:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return width > padding and height > padding


def test_acceptance_draws_the_largest_k(result: Findings) -> None:
    figure = plot_acceptance(curves_of(result), subtitle=SUBTITLE)
    axes = figure.axes[0]
    good = next(curve for curve in curves_of(result) if curve.draft_name == "good")
    assert points(axes, "o") == [(float(i), f.value) for i, f in enumerate(good.points[-1].acceptance_by_position, 1)]
    assert axes.get_ylim() == (0.0, 1.0)
    assert "good at K = 5: 3.69 tokens per draft" in texts(figure)
    assert "position" in axes.get_xlabel()


def test_save_writes_png_and_svg_and_the_same_bytes_again(result: Findings, tmp_path: Path) -> None:
    first = save_plots(result, tmp_path / "a" / "plots", subtitle=SUBTITLE)
    second = save_plots(result, tmp_path / "b", subtitle=SUBTITLE)
    names = [f"{what}-t0.{ending}" for what in ("speedup", "acceptance", "surface") for ending in ("png", "svg")]
    assert [path.name for path in first] == names
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_save_separates_temperatures_pages_and_arguments(make_trial: Make, tmp_path: Path) -> None:
    cold = tuple(LoadPoint("chat", c, 33) for c in range(1, 8))
    loads = (*cold, LoadPoint("chat", 1, 33, Sampling(0.7)))
    args = {"max_num_seqs": 8}
    trials = [
        make_trial(0, loads=loads),
        make_trial(1, loads=loads, args=args),
        make_trial(2, k=2, loads=loads, method="ngram", acceptance=()),
        make_trial(3, k=2, loads=loads, method="ngram", acceptance=(), args=args),
    ]
    plain, other = (trial.record.candidate.args_key for trial in trials[:2])
    names = [p.name for p in save_plots(findings(trials, loads), tmp_path) if p.suffix == ".png"]
    assert names == [
        f"speedup-t0-{plain}.png",
        f"speedup-t0-{plain}-2.png",
        f"surface-t0-{plain}.png",
        f"speedup-t0-{other}.png",
        f"speedup-t0-{other}-2.png",
        f"surface-t0-{other}.png",
        f"speedup-t0.7-{plain}.png",
        f"speedup-t0.7-{other}.png",
    ]


def test_a_run_without_curves_has_no_pictures(make_trial: Make, tmp_path: Path) -> None:
    assert save_plots(findings([make_trial()], (C1,)), tmp_path) == ()
