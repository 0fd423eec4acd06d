from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import SpaceError
from tuner.records import LoadPoint, Sampling, Traffic
from tuner.space.schema import SearchSpace, load_space
from tuner.space.traffic import METRIC, NO_TRAFFIC_WEIGHT, coverage, not_covered, parse_prometheus, weighted

BASE = "k: 1\ndrafts: [{method: ngram}]\nload_points:\n  - {eval_set: chat, concurrency: [1, 8, 32]}\n"
Write = Callable[[str], Path]
Samples = list[object]


def answer(*series: Samples, **changes: object) -> str:
    """Return a range query's answer: a sample every 15 s for each series."""
    result = [
        {"metric": {"__name__": METRIC, "engine": str(i)}, "values": [[1e9 + 15 * j, v] for j, v in enumerate(values)]}
        for i, values in enumerate(series)
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}, **changes})


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def space_of(path: Path) -> SearchSpace:
    return load_space(str(path), target="x")


# --- typed in ---------------------------------------------------------------------------------------------------------


def test_shares_become_the_weights_of_their_concurrency(write: Write) -> None:
    space = space_of(write(BASE + "traffic: {shares: {1: 0.5, 8: 0.3, 32: 0.2}}\n"))
    assert [point.weight for point in space.load_points] == pytest.approx([0.5, 0.3, 0.2])
    assert space.traffic == Traffic({1: 0.5, 8: 0.3, 32: 0.2})


def test_without_traffic_the_weights_are_the_files_own(write: Write) -> None:
    space = space_of(write(BASE.replace("32]}", "32], weight: 2}")))
    assert [point.weight for point in space.load_points] == [2.0] * 3
    assert space.traffic is None


def test_load_points_of_one_concurrency_share_what_it_has(write: Write) -> None:
    """Three load points at concurrency 1 and one at 8, of each temperature: 0.6 is 3 x 0.2, and 0.4 is one."""
    text = BASE.replace(
        "{eval_set: chat, concurrency: [1, 8, 32]}", "{eval_set: [chat, code, maths], temperature: [0, 1]}"
    )
    text += "  - {eval_set: chat, temperature: [0, 1], concurrency: 8}\ntraffic: {shares: {1: 0.6, 8: 0.4}}\n"
    space = space_of(write(text))
    assert {(p.concurrency, round(p.weight, 9)) for p in space.load_points} == {(1, 0.2), (8, 0.4)}


def test_shares_that_are_a_little_off_are_made_to_add_up(write: Write) -> None:
    space = space_of(write(BASE + "traffic: {shares: {1: 0.33, 8: 0.33, 32: 0.33}}\n"))
    assert [point.weight for point in space.load_points] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("traffic: {}", ":5: traffic needs shares or prometheus, and not both."),
        ("traffic: {shares: {1: 1}, prometheus: a.json}", ":5: traffic needs shares or prometheus, and not both."),
        ("traffic:\n  shares: {1: 0.5, 8: 0.3}", ":6: traffic.shares add up to 0.8, not 1."),
        ("traffic: {shares: {}}", "traffic.shares add up to 0, not 1."),
        ("traffic:\n  shares:\n    1: 0.5\n    8: -0.5", ":8: traffic.shares.8 must be greater than or equal to 0"),
        ("traffic:\n  shares:\n    1: 0.5\n    8: '0.5'", ":8: traffic.shares.8 must be a number, not '0.5'"),
        ("traffic: {shares: {0: 1}}", "has '0' where a concurrency is asked for: a whole number of 1 or more"),
        ("traffic: {shares: {1.5: 1}}", "'1.5' is no text and cannot be a key"),
        ("traffic: {shares: {few: 1}}", "has 'few' where a concurrency is asked for"),
        ("traffic: {share: {1: 1}}", "unknown key 'share' in traffic; the nearest known key is 'shares'"),
        ("traffic: {shares: {1: 0.5, 1: 0.5}}", "'1' is written twice"),
        ("traffic: [1]", "traffic must be a mapping"),
        ("shares: {1: 1}", "the nearest known key is 'shares' in traffic"),
        ("traffic: {shares: {64: 1}}", "all of it is at more requests at once than the 32 of the load points"),
        ("traffic: {prometheus: gone.json}", "gone.json cannot be read: No such file"),
    ],
)
def test_what_is_wrong_is_named(write: Write, text: str, words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        space_of(write(BASE + text + "\n"))
    assert words in str(caught.value)


def test_a_weight_beside_traffic_is_refused_with_its_line(write: Write) -> None:
    text = (
        "k: 1\ndrafts: [{method: ngram}]\nload_points:\n  - eval_set: chat\n    weight: 1\ntraffic: {shares: {1: 1}}\n"
    )
    with pytest.raises(SpaceError, match=r"mine\.yaml:5: load_points\[0\] has a weight"):
        space_of(write(text))


# --- Prometheus -------------------------------------------------------------------------------------------------------


def test_samples_of_all_engines_count_and_idle_ones_do_not(write: Write) -> None:
    """Of 8 samples 3 are idle; of the other 5, two are at 1, one at 8, two at 32."""
    path = write(BASE + "traffic: {prometheus: running.json}\n")
    path.with_name("running.json").write_text(answer(["1", "0", "8", "NaN"], ["32", "0", "0", "1", "32"]))
    space = space_of(path)
    assert space.traffic == Traffic({1: 0.4, 8: 0.2, 32: 0.4}, "running.json", 8, 3)
    assert [point.weight for point in space.load_points] == pytest.approx([0.4, 0.2, 0.4])


def test_averages_are_rounded_to_whole_requests() -> None:
    found = parse_prometheus(answer(["0.2", "1.4", "2.6", 3, "0"]), "x")
    assert found == Traffic({1: 0.5, 3: 0.5}, "x", 5, 1)


def test_further_keys_of_prometheus_are_fine() -> None:
    found = parse_prometheus(answer(["1"], warnings=["PromQL info"], infos=[]), "x")
    assert found.shares == {1: 1.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "data.resultType is missing"),
        ("{}", "data.resultType is missing"),
        ('{"data": []}', "data.resultType is missing"),
        ('{"status": "error", "errorType": "bad_data", "error": "parse error"}', "with an error: parse error"),
        ('{"data": {"resultType": "vector", "result": []}}', "it holds a vector, not a matrix"),
        ('{"data": {"resultType": "matrix", "result": {}}}', "data.result is no list"),
        ('{"data": {"resultType": "matrix", "result": []}}', "it holds no samples"),
        ('{"data": {"resultType": "matrix", "result": [1]}}', "data.result[0] has no list of values"),
        (answer([]), "it holds no samples"),
        (answer(["NaN"]), "it holds no samples"),
        (answer(["0", "0"]), "no request ran in it"),
        (answer(["1", "many"]), "data.result[0].values[1] is"),
        (answer(["1"], [None]), "data.result[1].values[0] is"),
        (answer(["-1"]), "values[0] is"),
        (answer(["+Inf"]), "values[0] is"),
        (answer([True]), "values[0] is"),
        (answer(["1"]).replace("running", "waiting"), "is vllm:num_requests_waiting, not vllm:num_requests_running"),
    ],
)
def test_what_is_no_range_query_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_prometheus(text, "x")
    assert words in str(caught.value)


def test_the_error_names_the_file_and_the_next_step(write: Write) -> None:
    path = write(BASE + "traffic: {prometheus: running.json}\n")
    path.with_name("running.json").write_text("{}")
    with pytest.raises(SpaceError) as caught:
        space_of(path)
    assert str(path.with_name("running.json")) in str(caught.value)
    assert "query_range" in caught.value.next_step


COUNTS = st.lists(st.lists(st.integers(0, 300), max_size=20), max_size=4)


@given(COUNTS)
def test_shares_are_counts(series: list[list[int]]) -> None:
    values = [value for one in series for value in one]
    busy = [value for value in values if value]
    written: list[Samples] = [[str(value) for value in one] for one in series]
    text = answer(*written)
    if not busy:
        with pytest.raises(ValueError):
            parse_prometheus(text, "x")
        return
    found = parse_prometheus(text, "x")
    assert (found.samples, found.idle) == (len(values), len(values) - len(busy))
    assert math.fsum(found.shares.values()) == pytest.approx(1)
    assert all(share == busy.count(n) / len(busy) for n, share in found.shares.items())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.just("matrix"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["status", "data", "resultType", "result", "metric", "values", "__name__"]), inner
        )
    ),
    max_leaves=20,
)


@given(
    st.text(max_size=20)
    | JSON.map(json.dumps)
    | JSON.map(lambda found: json.dumps({"data": {"resultType": "matrix", "result": [{"values": [[0, found]]}]}}))
)
def test_whatever_the_file_holds_there_is_a_traffic_or_a_reason(text: str) -> None:
    try:
        found = parse_prometheus(text, "x")
    except ValueError as error:
        assert str(error)
    else:
        assert math.fsum(found.shares.values()) == pytest.approx(1)
        assert min(found.shares) >= 1


# --- which concurrency stands for which share -------------------------------------------------------------------------


def test_the_nearest_measured_concurrency_by_ratio_stands_for_a_share() -> None:
    """Between 1 and 8 the middle is sqrt(8) = 2.83; of 4 and 16 the middle is 8 itself, which goes to the larger."""
    traffic = Traffic({1: 0.1, 2: 0.1, 3: 0.1, 4: 0.1, 8: 0.6})
    assert coverage(traffic, (1, 8)).shares == pytest.approx({1: 0.2, 8: 0.8})
    assert coverage(traffic, (16, 4, 4)).shares == pytest.approx({4: 0.4, 16: 0.6})


def test_more_requests_than_were_measured_are_not_covered() -> None:
    found = coverage(Traffic({1: 0.5, 32: 0.3, 33: 0.2}), (4, 32))
    assert found.shares == {4: 0.5, 32: 0.3}
    assert (found.beyond, found.below, found.largest) == (0.2, 0.5, 33)


@given(
    st.dictionaries(st.integers(1, 400), st.floats(0.01, 1), min_size=1, max_size=8),
    st.sets(st.integers(1, 300), min_size=1, max_size=6),
)
def test_every_share_is_somewhere_and_none_is_twice(raw: dict[int, float], measured: set[int]) -> None:
    total = math.fsum(raw.values())
    found = coverage(Traffic({n: share / total for n, share in raw.items()}), measured)
    assert math.fsum(found.shares.values()) + found.beyond == pytest.approx(1)
    for n in raw:
        if n <= max(measured):
            nearest = min(abs(math.log(n / c)) for c in measured)
            alone = coverage(Traffic({n: 1.0}), measured).shares
            (chosen,) = [c for c, share in alone.items() if share]
            assert abs(math.log(n / chosen)) == pytest.approx(nearest, abs=1e-12)


def test_what_is_not_covered_is_told_once() -> None:
    covered = coverage(Traffic({1: 0.5, 32: 0.496, 50: 0.004}), (4, 32))
    above = (
        "traffic: less than 1 % of the busy time is at a concurrency above 32 (up to 50), which no load point "
        "measures: it counts nowhere"
    )
    below = "traffic: 50% of the busy time is at a concurrency below 4 and counts as 4"
    assert not_covered({0.0: covered, 0.7: covered}) == (above, below)
    assert not_covered({0.0: coverage(Traffic({4: 1.0}), (4, 32))}) == ()


def test_a_load_point_without_traffic_can_still_be_looked_at_alone() -> None:
    points = weighted([LoadPoint("chat", c) for c in (1, 64)], Traffic({1: 1.0}))
    assert [point.weight for point in points] == [1.0, NO_TRAFFIC_WEIGHT]


def test_each_temperature_covers_the_traffic_by_itself() -> None:
    warm = Sampling(0.7)
    points = weighted(
        [LoadPoint("chat", 1), LoadPoint("chat", 8), LoadPoint("chat", 8, sampling=warm)], Traffic({1: 0.4, 8: 0.6})
    )
    assert [point.weight for point in points] == pytest.approx([0.4, 0.6, 1.0])
