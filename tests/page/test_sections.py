"""What each section shows, and where it stays away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import build_trial
from tests.page.page_building import LOADS, categorised, given, speed, trials
from tuner.page.build import page_view
from tuner.page.english import ENGLISH
from tuner.page.given import Given
from tuner.page.pull_request import pull_request_markdown
from tuner.page.sections.acceptance import acceptance_blocks
from tuner.page.sections.answer import answer_blocks, deploy_blocks
from tuner.page.sections.basis import memory_blocks, repeat_blocks, sure_blocks
from tuner.page.sections.categories import category_blocks
from tuner.page.sections.causes import cause_blocks, warning_blocks
from tuner.page.sections.curves import curve_blocks
from tuner.page.sections.surface import surface_blocks, tone
from tuner.page.sections.times import latency_blocks, step_blocks
from tuner.page.view import Cause, Charts, Code, Details, Facts, Points, Table, Text
from tuner.page.view import Verdict as Card
from tuner.records import EngineMemory, Level, Notice, Repeat, Role, SameOutput, Verdict


def tables(blocks: object) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]  # type: ignore[attr-defined]


def column(table: Table, number: int) -> list[str]:
    return [row[number].text for row in table.rows]


@pytest.fixture(scope="module")
def built() -> Given:
    return given([categorised(trial) for trial in trials()])


def test_the_card_says_verdict_interval_and_limits(built: Given) -> None:
    (card,) = answer_blocks(built)
    assert isinstance(card, Card)
    assert (card.tone, card.headline) == (
        "partly",
        "Speculate at a concurrency of up to 8, not at 32: good, K = 3",
    )
    tiles = {tile.label: (tile.value, tile.detail) for tile in card.tiles}
    value, interval = tiles["Speedup up to concurrency 8"]
    assert value == "1.54x"
    assert interval.startswith("95 % interval 1.")
    assert tiles["Up to concurrency"] == ("8", "slower at 32")
    assert tiles["Engine lives behind it"] == ("1", "no claim beyond that life")
    assert [note for note in card.notes if "gain least" in note]


def test_an_unfinished_sweep_says_so_first(built: Given) -> None:
    found = replace(built, findings=replace(built.findings, finished=False))
    first = next(answer_blocks(found))
    assert isinstance(first, Text) and first.banner and "not finished" in first.text


def test_nothing_to_recommend_has_no_speedup_tile() -> None:
    slow = given([build_trial(0, loads=LOADS, tpot=0.02), build_trial(1, k=3, loads=LOADS, tpot=0.03)])
    (card,) = answer_blocks(slow)
    assert isinstance(card, Card)
    assert slow.findings.answers[0].verdict in (Verdict.DO_NOT, Verdict.INCONCLUSIVE)
    assert card.tone in ("no", "open")
    assert not [tile for tile in card.tiles if tile.label.startswith(("Speedup", "Draft"))]
    labels = [tile.label for tile in card.tiles]
    assert "Came nearest" in labels and "Nearest rival" not in labels, "nobody won"


def test_the_command_reads_the_files_beside_the_page(built: Given) -> None:
    codes = [block for block in deploy_blocks(built) if isinstance(block, Code)]
    assert codes[0].text == "vllm serve --config serve.yaml"
    assert codes[-1].text == "vllm serve --config serve.baseline.yaml"
    (files,) = [block for block in deploy_blocks(built) if isinstance(block, Details)]
    assert [code.label for code in files.blocks if isinstance(code, Code)] == [
        "serve.yaml",
        "serve.speculate.yaml",
        "serve.env",
    ]
    advice = next(block for block in deploy_blocks(built) if isinstance(block, Points))
    assert "at most 8 requests at once" in advice.items[0]


def test_environment_and_the_cpu_build_change_the_command() -> None:
    one = given(env={"A": "1"}, engine_build="cpu")
    code = next(block for block in deploy_blocks(one) if isinstance(block, Code))
    assert code.text == (
        "set -a; . ./serve.env; set +a\npython -m vllm.entrypoints.openai.api_server --config serve.yaml"
    )
    assert "# with the Python that has vLLM" in pull_request_markdown(one)


def test_the_python_that_measured_starts_it_where_it_was_measured() -> None:
    """Its directory may have a space; what is read elsewhere knows no path of this machine."""
    engine = ("/env of mine/bin/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m")
    measured = [
        replace(t, record=replace(t.record, engine=replace(t.record.engine, command=engine)))
        for t in trials()
        if t.record.engine is not None
    ]
    one = given(measured, engine_build="cpu")
    code = next(block for block in deploy_blocks(one) if isinstance(block, Code))
    assert code.text == "'/env of mine/bin/python' -m vllm.entrypoints.openai.api_server --config serve.yaml"
    assert "env of mine" not in pull_request_markdown(one)


def test_causes_and_warnings(built: Given) -> None:
    (cause,) = cause_blocks(built)
    assert cause == Cause("K = 5 is too long.", "clear", "k_too_long: good", ("1.70x at K = 3",), "Take K = 3.")
    warned = replace(built, findings=replace(built.findings, warnings=("mind this",), diagnoses=()))
    assert list(warning_blocks(warned)) == [Points(("mind this",))]
    assert not list(cause_blocks(warned))
    assert not list(warning_blocks(replace(built, findings=replace(built.findings, warnings=()))))


def test_a_chart_for_each_load_point_with_its_figures_beside_it(built: Given) -> None:
    charts = next(block for block in curve_blocks(built) if isinstance(block, Charts))
    assert [chart.load for chart in charts.charts] == [load.key for load in LOADS]
    first = charts.charts[0]
    assert "good: best K = 3 (1.70x), inflection" in first.label
    assert "K = 5: 1.60x" in first.label
    assert [mark.rings for mark in first.series[0].marks][2] == ("best", "bend")
    assert [tick.text for tick in first.x_ticks] == ["0", "1", "3", "5"]
    assert first.figures is not None
    assert column(first.figures, 0) == ["no speculation", "no speculation", "good K=1", "good K=3", "good K=5"]
    assert {name for name, _ in charts.keys} == {"interval", "level", "best", "bend"}
    marks = first.series[0].marks
    assert marks[2].y < marks[1].y < marks[0].y  # faster is higher
    assert marks[0].low is None  # no speculation has no interval


def test_a_failed_curve_is_said() -> None:
    failing = [build_trial(0, loads=LOADS), build_trial(1, k=1, loads=LOADS, failure="no memory")]
    failing.append(build_trial(2, k=2, draft="other", loads=LOADS, tpot=0.01))
    charts = next(block for block in curve_blocks(given(failing)) if isinstance(block, Charts))
    assert "good: every K failed" in charts.charts[0].label


def test_fresh_lives_have_marks_of_their_own() -> None:
    again = [
        build_trial(5 + i, k=3 * (i % 2), loads=LOADS, tpot=speed(3 * (i % 2)), final_round=i // 2) for i in range(8)
    ]
    from tuner.records import Protocol

    found = given([*trials(), *again], protocol=Protocol(lives=4, max_lives=4))
    if not found.findings.finals:
        pytest.fail("no finalists were judged")
    charts = next(block for block in curve_blocks(found) if isinstance(block, Charts))
    fresh = [mark for chart in charts.charts for s in chart.series for mark in s.marks if "fresh" in mark.rings]
    assert len(fresh) == 3
    assert "fresh lives" in fresh[0].tip
    assert "fresh" in dict(charts.keys)


def test_the_map_marks_the_best_and_the_crossover(built: Given) -> None:
    (table,) = tables(surface_blocks(built))
    assert column(table, 0) == ["K = 0", "K = 1", "K = 3", "K = 5"]
    by_place = {(row[0].text, i): cell for row in table.rows for i, cell in enumerate(row[1:])}
    assert "best" in by_place["K = 3", 0].marks
    assert "best" in by_place["K = 0", 2].marks
    assert "edge-right" in by_place["K = 1", 1].marks
    assert "edge-right" not in by_place["K = 1", 0].marks
    assert (by_place["K = 3", 0].tone or 0) > 0 > (by_place["K = 5", 2].tone or 0)


def test_a_crossover_within_noise_is_a_dashed_line() -> None:
    """The baseline's lives differ by more than a loss at 32 does: no interval lies below 1."""
    again = build_trial(9, loads=LOADS, tpot=lambda load, i, r: 1.4 * speed(0)(load, i, r), role=Role.BASELINE_AGAIN)
    (table,) = tables(surface_blocks(given([*trials()[:-1], again])))
    marks = {mark for row in table.rows for cell in row for mark in cell.marks}
    assert marks & {"open-right", "open-bottom"}
    assert not marks & {"edge-right", "edge-bottom"}


def test_one_concurrency_has_no_map() -> None:
    assert not list(surface_blocks(given(trials(loads=LOADS[:1]), LOADS[:1])))


def test_shades_go_with_the_logarithm() -> None:
    assert [tone(value, 0.5) for value in (0.5, 1.0, 2.0, 1.01)] == [-5, 0, 5, 0]
    assert tone(1.1, 0.0) == 2  # a map of noise is pale
    assert tone(None, 1.0) is None


def test_acceptance_by_position(built: Given) -> None:
    charts = next(block for block in acceptance_blocks(built) if isinstance(block, Charts))
    assert "good at K = 5" in charts.charts[0].label
    assert len(charts.charts[0].series[0].marks) == 5
    assert not list(acceptance_blocks(given([build_trial(0, loads=LOADS)])))


def test_a_step_is_split_as_far_as_it_is_known(built: Given) -> None:
    found = tables(step_blocks(built))
    assert [table.load for table in found] == [load.key for load in LOADS]
    assert [name for name, _ in found[0].legend] == ["plain", "rest"]
    assert dict(found[0].legend)["rest"].startswith("drafting, longer verification and the engine")
    for row in found[0].rows:
        assert sum(part.width for part in row[1].bar) <= 100.01
    assert not list(step_blocks(given([build_trial(0, loads=LOADS)])))


def test_latencies_of_every_candidate(built: Given) -> None:
    found = tables(latency_blocks(built))
    assert len(found) == 6
    assert column(found[0], 0)[:2] == ["no speculation, 2 lives", "good K=1"]
    for row in found[0].rows:
        strip = row[1].strip
        assert strip is not None
        assert 0 <= strip.low <= strip.quarter <= strip.middle <= strip.three_quarters <= strip.high <= 100


def test_categories_where_there_are_two(built: Given) -> None:
    found = tables(category_blocks(built))
    assert column(found[0], 0) == ["chat", "maths"]
    assert [cell.text for cell in found[0].head] == ["category", "good K=1", "good K=3", "good K=5"]
    assert not list(category_blocks(given([categorised(trial, ("chat",)) for trial in trials()])))


def test_certainty_says_what_is_not_known(built: Given) -> None:
    texts = [block.text for block in sure_blocks(built) if isinstance(block, Text)]
    assert "No finalist was measured again" in texts[0]
    (drift,) = tables(sure_blocks(built))
    assert len(drift.rows) == 3
    once = given(trials()[:-1])
    assert any("measured once" in block.text for block in sure_blocks(once) if isinstance(block, Text))


def test_disturbed_repeats_are_counted() -> None:
    measured = trials()
    record = measured[1].record
    load = record.loads[0]
    disturbed: Repeat = replace(load.repeats[0], disturbances=("the clock fell",))
    loads = (replace(load, repeats=(disturbed, *load.repeats[1:])), *record.loads[1:])
    measured[1] = replace(measured[1], record=replace(record, loads=loads))
    texts = [block.text for block in sure_blocks(given(measured)) if isinstance(block, Text)]
    assert any(text == "1 of 45 repeats were seen to be disturbed; the first: the clock fell." for text in texts)


def test_memory_shows_what_engines_said_and_nothing_else() -> None:
    (table,) = tables(memory_blocks(given(trials(memory=EngineMemory(weights_bytes=2**30)))))
    assert [cell.text for cell in table.head] == ["candidate", "weights", "tokens in it", "max_model_len"]
    assert [cell.text for cell in table.rows[1]] == ["good K=1", "1.00 GiB", "900", ""]
    silent = [build_trial(0, loads=LOADS)]
    assert not list(memory_blocks(given(silent)))
    notice = Notice("memory_tight", Level.WARNING, "target", "the cache is small", "K 3 or less fits.")
    blocks = list(memory_blocks(given(notices=(notice,))))
    planned = "Planned from the models' files: the cache is small. What to change: K 3 or less fits."
    assert blocks[-1] == Points((planned,))


def test_what_repeats_it_is_a_command(built: Given) -> None:
    blocks = list(repeat_blocks(built))
    assert blocks[0] == Code(ENGLISH("repeat_with"), "tuner sweep 'org/a b'")
    facts = next(block for block in blocks if isinstance(block, Facts))
    assert dict(facts.rows)["engine lives"] == "1 baseline, 3 candidate, 1 baseline again"
    assert isinstance(next(repeat_blocks(given(repeat_with=()))), Text)


def test_sections_without_anything_to_say_are_left_out(built: Given) -> None:
    names = [section.name for section in page_view(built).sections]
    assert names[:3] == ["answer", "deploy", "why"]
    assert {"curves", "concurrency", "acceptance", "steps", "latencies", "categories", "repeat"} <= set(names)
    assert not {"failed", "goal", "schedule", "device", "changed"} & set(names)
    failing = [*trials(), build_trial(9, k=7, loads=LOADS, failure="no memory")]
    assert "failed" in [section.name for section in page_view(given(failing)).sections]


def test_answers_that_differ_are_counted(built: Given) -> None:
    sections = {section.name: section for section in page_view(built).sections}
    counted = sections["outputs"].blocks[0]
    assert isinstance(counted, Points)
    verdicts = [load.sameness.verdict for t in built.findings.trials for load in t.loads if load.sameness]
    assert counted.items == (f"identical: {verdicts.count(SameOutput.IDENTICAL)} of 9 candidates and load points",)
    assert Role.BASELINE_AGAIN in {trial.record.role for trial in built.trials}
