"""The comparison's arithmetic by hand, and that it can fail."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verify import record
from tests.verify.agreement import (
    BENCH,
    TOLERANCE,
    TUNER,
    Comparison,
    Reading,
    as_json,
    compared,
    interleaved,
    noise_floor,
    text_table,
)

POSITIVE = st.floats(min_value=1e-3, max_value=1e3)


def rounds(*values: float, metric: str = "tpot_s") -> list[Reading]:
    return [{metric: value} for value in values]


def comparison(tuner: list[Reading], bench: list[Reading]) -> Comparison:
    return Comparison("good K=3", 4, 8, {TUNER: tuner, BENCH: bench}, {"ttft_s": 0.004, "e2e_s": 0.001})


def test_a_steady_drift_favours_neither_client() -> None:
    turns = interleaved(2)
    assert turns == [TUNER, BENCH, BENCH, TUNER, TUNER, BENCH, BENCH, TUNER]
    of = {client: sum(turn for turn, whose in enumerate(turns) if whose == client) for client in (TUNER, BENCH)}
    assert of[TUNER] == of[BENCH]


def test_floor_by_hand() -> None:
    assert noise_floor([1.00, 1.02, 1.06, 1.00]) == pytest.approx(0.06)
    assert noise_floor([2.0, 2.0, 2.0, 2.0]) == 0
    with pytest.raises(ValueError, match="not known"):
        noise_floor([1.0])


@given(st.lists(POSITIVE, min_size=4, max_size=6), st.floats(min_value=0.1, max_value=10))
def test_floor_depends_on_neither_order_nor_unit(values: list[float], unit: float) -> None:
    floor = noise_floor(values)
    assert noise_floor(values[::-1]) == pytest.approx(floor)
    assert noise_floor([value * unit for value in values]) == pytest.approx(floor, rel=1e-6, abs=1e-9)
    assert all(value <= min(values) * (1 + floor) * (1 + 1e-9) for value in values)


def test_difference_by_hand() -> None:
    (row,) = compared({TUNER: rounds(0.103, 0.103, 0.103, 0.103), BENCH: rounds(0.1, 0.1, 0.1, 0.1)})
    assert (row.tuner, row.bench, row.floor) == (0.103, 0.1, 0)
    assert row.difference == pytest.approx(0.03)
    assert row.allowed == TOLERANCE == 0.02
    assert not row.within


@pytest.mark.parametrize(("factor", "within"), [(1.019, True), (1.021, False), (0.981, True), (0.979, False)])
def test_two_percent_on_either_side(factor: float, within: bool) -> None:
    (row,) = compared({TUNER: rounds(*[factor] * 4), BENCH: rounds(*[1.0] * 4)})
    assert row.within is within


def test_noise_of_either_client_widens_what_is_allowed_and_no_more() -> None:
    # The noisier one's rounds lie 6 % apart; its median is 1.01.
    noisy = rounds(1.00, 1.02, 1.06, 1.00)
    (row,) = compared({TUNER: rounds(*[1.06] * 4), BENCH: noisy})
    assert row.allowed == pytest.approx(0.06)
    assert row.within  # 1.06 / 1.01 - 1 = 4.95 %
    (row,) = compared({TUNER: rounds(*[1.08] * 4), BENCH: noisy})
    assert not row.within  # 6.9 %


def test_noise_that_hides_everything_is_no_agreement() -> None:
    wild = rounds(1.0, 1.0, 1.0, 1.4)
    (row,) = compared({TUNER: wild, BENCH: wild})
    assert row.difference == 0
    assert not row.within
    assert "TOO NOISY" in text_table(comparison(wild, wild))


def test_figures_that_neither_client_has_are_left_out_but_never_those_of_one() -> None:
    none: list[Reading] = [{"tpot_s": 1.0, "acceptance_rate": None}] * 4
    some: list[Reading] = [{"tpot_s": 1.0, "acceptance_rate": 0.5}] * 4
    assert [row.metric for row in compared({TUNER: none, BENCH: none})] == ["tpot_s"]
    assert [row.metric for row in compared({TUNER: some, BENCH: some})] == ["tpot_s", "acceptance_rate"]
    with pytest.raises(ValueError, match="bench has None as acceptance rate"):
        compared({TUNER: some, BENCH: none})


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_a_figure_that_is_no_measurement_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="tuner has"):
        compared({TUNER: rounds(1.0, 1.0, 1.0, bad), BENCH: rounds(*[1.0] * 4)})


def test_what_is_kept_has_the_rounds_and_the_words_say_what_is_outside() -> None:
    found = comparison(rounds(1.2, 1.2, 1.2, 1.2), rounds(1.0, 1.0, 1.01, 1.0))
    kept: dict[str, Any] = json.loads(json.dumps(as_json(found)))
    figure = kept["figures"]["tpot_s"]
    assert (kept["candidate"], kept["concurrency"], kept["requests"]) == ("good K=3", 4, 8)
    assert (figure["tuner"], figure["bench"], figure["within"]) == (1.2, 1.0, False)
    assert (figure["difference"], figure["bench_rounds"]) == (0.2, [1.0, 1.0, 1.01, 1.0])
    assert "+20.00%" in text_table(found)
    assert text_table(found).count("OUTSIDE") == 1
    assert "OUTSIDE" not in text_table(comparison(rounds(*[1.0] * 4), rounds(*[1.0] * 4)))


def result(tuner: float) -> dict[str, Any]:
    found = comparison(rounds(*[tuner] * 4), rounds(*[1.0] * 4))
    return {
        "date": "2026-01-02",
        "command": "make verify-client",
        "machine": "2 cores of X",
        "load_before": 0.5,
        "vllm": "0.32.0 (cpu build)",
        "target": "demo:target",
        "rounds": 4,
        "tolerance": TOLERANCE,
        "comparisons": [json.loads(json.dumps(as_json(found)))],
    }


def test_the_section_holds_each_difference() -> None:
    text = record.section(result(1.01))
    assert text.splitlines()[2] == (
        "| speculation | concurrency | requests a round | TTFT | TPOT | E2E | output throughput | acceptance rate |"
        " acceptance length | TTFT, E2E against the engine's clock |"
    )
    assert text.splitlines()[4] == "| good K=3 | 4 | 8 |  | +1.0% (0.0%) |  |  |  |  | +0.4%, +0.1% |"
    assert "1 of 1 figures are within 2%." in text
    assert "2 cores of X (load average 0.5 before the start)" in text
    outside = record.section(result(1.1))
    assert "+10.0% (0.0%) outside" in outside
    assert "1 are outside both that and the noise" in outside


def test_only_the_part_between_the_markers_is_replaced() -> None:
    page = f"before\n\n{record.BEGIN}\nold\n{record.END}\n\nafter\n"
    once = record.with_section(page, result(1.0))
    assert once.startswith("before\n\n")
    assert once.endswith(f"{record.END}\n\nafter\n")
    assert "old" not in once
    assert record.with_section(once, result(1.0)) == once
    with pytest.raises(ValueError, match="lacks the lines"):
        record.with_section("no markers", result(1.0))


def test_the_page_says_what_the_kept_result_says() -> None:
    kept = json.loads(record.RESULT.read_text(encoding="utf-8"))
    page = record.PAGE.read_text(encoding="utf-8")
    assert record.with_section(page, kept) == page
