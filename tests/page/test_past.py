"""The history page: where points stand, which are joined, and what is marked."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.page.reading_html import read
from tests.registry.conftest import keep_config
from tuner.artifact import BestConfig, dump_best_config, load_best_config
from tuner.cli.history import history as command
from tuner.page.charts import BOTTOM, HEIGHT
from tuner.page.english import ENGLISH
from tuner.page.past.build import history_html, history_view
from tuner.page.past.charts import length_blocks, speedup_blocks, tpot_blocks
from tuner.page.past.given import Over, along
from tuner.page.view import Charts, Table
from tuner.page.view import Verdict as Card
from tuner.records import Verdict
from tuner.registry import Registry, history

MEASURED = load_best_config(Path(__file__).parents[1] / "golden" / "artifacts" / "v1-speculate-below.yaml")


def build_config(engine: str = "0.26.0") -> BestConfig:
    on = MEASURED.measured_on
    engine_of = on.engine.model_copy(update={"version": engine})
    return MEASURED.model_copy(update={"measured_on": on.model_copy(update={"engine": engine_of})})


def over(root: Path, configs: Sequence[BestConfig]) -> Over:
    registry = Registry(str(root))
    for day, config in enumerate(configs, 1):
        keep_config(registry, config, day)
    return Over(history(registry, configs[0].target), ENGLISH)


def judged(verdict: Verdict, engine: str = "0.26.0") -> BestConfig:
    config = build_config(engine)
    answers = tuple(answer.model_copy(update={"verdict": verdict}) for answer in config.answers)
    return config.model_copy(update={"answers": answers, "verdict": verdict})


def on_device(name: str) -> BestConfig:
    config = build_config()
    return config.model_copy(update={"measured_on": config.measured_on.model_copy(update={"devices": (name,)})})


def without_figures() -> BestConfig:
    config = build_config()
    measured = config.answers[0].measured
    gone = measured.expected_speedup.model_copy(update={"value": None, "low": None, "high": None})
    answer = config.answers[0].model_copy(update={"measured": measured.model_copy(update={"expected_speedup": gone})})
    return config.model_copy(update={"answers": (answer, *config.answers[1:])})


def charts(blocks: object) -> Charts:
    return next(block for block in blocks if isinstance(block, Charts))  # type: ignore[attr-defined]


def test_sweeps_of_one_thing_are_joined(tmp_path: Path) -> None:
    of = over(tmp_path, [build_config(), build_config(), build_config()])
    (chart,) = charts(speedup_blocks(of)).charts
    assert [len(series.marks) for series in chart.series] == [3]
    xs = [mark.x for mark in chart.series[0].marks]
    assert xs == sorted(xs)
    assert not chart.rules


@pytest.mark.parametrize("between", [without_figures(), on_device("NVIDIA B200")], ids=["no figure", "other device"])
def test_a_line_is_broken_where_two_points_are_not_the_same_thing(tmp_path: Path, between: BestConfig) -> None:
    of = over(tmp_path, [build_config(), between, build_config()])
    (chart,) = charts(speedup_blocks(of)).charts
    assert all(len(series.marks) == 1 for series in chart.series)
    assert len(chart.series) == (2 if between.answers[0].measured.expected_speedup.value is None else 3)
    assert chart.figures is not None and len(chart.figures.rows) == 3
    if between.answers[0].measured.expected_speedup.value is None:
        assert chart.figures.rows[1][2].text == "not measured"


def test_releases_and_changed_verdicts_are_marked_where_they_happen(tmp_path: Path) -> None:
    of = over(tmp_path, [judged(Verdict.SPECULATE), judged(Verdict.SPECULATE, "0.27.0"), judged(Verdict.INCONCLUSIVE)])
    found = charts(speedup_blocks(of))
    (chart,) = found.charts
    assert [(rule.kind, rule.text) for rule in chart.rules] == [
        ("release", "0.27.0"),
        ("release", "0.26.0"),
        ("change", ""),
    ]
    first, second, third = (mark.x for series in chart.series for mark in series.marks)
    assert first < chart.rules[0].at < second < chart.rules[1].at < third
    assert chart.rules[2].at == pytest.approx(third, abs=0.1)
    assert {"release", "change"} <= {name for name, _ in found.keys}
    page = history_view(of)
    card = next(block for section in page.sections for block in section.blocks if isinstance(block, Card))
    assert card.notes == ("The verdict changed: on 2026-12-03 from speculate to inconclusive.",)
    table = next(block for block in page.sections[-1].blocks if isinstance(block, Table))
    assert [row[1].small for row in table.rows] == ["", "", "verdict changed"]


def test_a_changed_verdict_hides_no_interval(tmp_path: Path) -> None:
    """Its mark stands at the sweep's own x, on the axis and no higher."""
    of = over(tmp_path, [judged(Verdict.SPECULATE), judged(Verdict.INCONCLUSIVE)])
    marks = re.findall(r'<line class="change" x1="([^"]+)" x2="[^"]+" y1="([^"]+)"', history_html(of.found, ENGLISH))
    (chart,) = charts(speedup_blocks(of)).charts
    assert (str(chart.rules[0].at), str(HEIGHT - BOTTOM - 3)) in marks
    assert all(float(top) >= HEIGHT - BOTTOM - 3 for x, top in marks if x != "13")  # 13: the key below the chart


def test_sweeps_of_one_day_are_told_apart_by_their_time(tmp_path: Path) -> None:
    registry, config = Registry(str(tmp_path)), build_config()
    files = {"best_config.yaml": dump_best_config(config).encode()}
    for day, hour in ((1, 9), (5, 8), (5, 17)):
        registry.keep(config.target, files, f"{day} {hour}", datetime(2026, 12, day, hour, 30, tzinfo=UTC))
    (chart,) = charts(speedup_blocks(Over(history(registry, config.target), ENGLISH))).charts
    assert chart.figures is not None
    whens = ["2026-12-01", "2026-12-05 08:30", "2026-12-05 17:30"]
    assert [row[0].text for row in chart.figures.rows] == whens
    assert all(f"{when} " in chart.label or f"{when}:" in chart.label for when in whens)
    shown = [tick.text for tick in chart.x_ticks]
    assert shown[-1] == "12-05 17:30" and len(set(shown)) == len(shown)


def test_acceptance_and_tpot_are_told_by_load_point(tmp_path: Path) -> None:
    of = over(tmp_path, [build_config(), build_config()])
    labels = [load.label for load in of.found.past[0].config.answers[0].measured.load_points]
    (lengths,) = charts(length_blocks(of)).charts
    assert [words for _, words in lengths.legend] == labels[:4]
    (tpots,) = charts(tpot_blocks(of)).charts
    assert {words for _, words in tpots.legend} >= set(labels[:3])
    figure = of.found.past[0].config.answers[0].measured.load_points[0].figures["tpot_s"].value
    assert figure is not None
    assert f"{1000 * figure:.3g} ms" in tpots.label


def test_one_sweep_and_none_have_a_page(tmp_path: Path) -> None:
    alone = over(tmp_path / "one", [build_config()])
    assert "One sweep is no history" in read(history_html(alone.found, ENGLISH)).words()
    broken = Over(type(alone.found)("target", (), ("an entry: no artifact",)), ENGLISH)
    assert [section.name for section in history_view(broken).sections] == ["broken"]
    assert "no artifact" in read(history_html(broken.found, ENGLISH)).words()


def test_the_command_prints_the_page(tmp_path: Path) -> None:
    of = over(tmp_path, [build_config(), build_config("0.27.0")])
    done = CliRunner().invoke(command, [of.found.target, "--registry", str(tmp_path), "--format", "html"])
    assert done.exit_code == 0, done.output
    assert read(done.output).every("h1")[0].words() == f"{of.found.target}: speculative decoding over time"


def test_the_table_speaks_chinese_too(tmp_path: Path) -> None:
    configs = [*map(judged, Verdict), build_config("0.27.0")]
    hot = tuple(answer.model_copy(update={"temperature": 1.0}) for answer in configs[-1].answers)
    configs[-1] = configs[-1].model_copy(update={"answers": (*configs[-1].answers, *hot)})
    of = over(tmp_path, configs)
    told = [
        CliRunner().invoke(command, [of.found.target, "--registry", str(tmp_path), "--lang", lang]).output
        for lang in ("en", "zh")
    ]
    assert "good" in told[0] and "up to 1" in told[0] and "the first" in told[0]
    names = re.compile("org/target|cuda|cores|good?|engine.version|CPU|UTC")
    assert not re.search("[A-Za-z]{2}", names.sub("", told[1])), told[1]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40).map(sorted))
def test_sweeps_stand_in_order_and_apart(times: list[float]) -> None:
    places = along(times)
    assert len(places) == len(times)
    assert places[0] == 0.0
    assert places[-1] == pytest.approx(len(times) - 1)
    assert all(after > before for before, after in itertools.pairwise(places))
