from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.errors import SpaceError
from tuner.records import Goal, Metric
from tuner.space.schema import load_space
from tuner.space.search_space import Objective

Load = Callable[[str], Objective]
SPACE = "target: t\nk: 3\ndrafts: [{method: ngram}]\nload_points:\n  - {eval_set: chat}\n"


@pytest.fixture
def objective(tmp_path: Path) -> Load:
    def load(more: str) -> Objective:
        path = tmp_path / "space.yaml"
        path.write_text(SPACE + more)
        return load_space(str(path)).objective

    return load


def test_tpot_decides_without_limits_where_nothing_is_said(objective: Load) -> None:
    assert objective("") == Objective(Goal(Metric.TPOT), 0.01)
    assert objective("objective: {limits: }") == Objective()
    assert Goal().limits == {}


def test_metric_and_limits_arrive_in_seconds_by_the_figures_they_hold_for(objective: Load) -> None:
    goal = objective("objective: {metric: throughput, limits: {p95_ttft_s: 0.5, p95_e2e_s: 4}}").goal
    assert goal == Goal(Metric.THROUGHPUT, p95_ttft_s=0.5, p95_e2e_s=4.0)
    assert goal.limits == {"ttft_s_p95": 0.5, "e2e_s_p95": 4.0}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("objective: {metric: latency}", "objective.metric must be 'tpot', 'e2e' or 'throughput', not 'latency'"),
        ("objective: {limits: {p95_ttft_s: 0}}", "objective.limits.p95_ttft_s must be greater than 0, not 0"),
        ("objective: {limits: {p99_ttft_s: 1}}", "nearest known key is 'p95_ttft_s'"),
        ("objective: {p95_ttft_s: 1}", "nearest known key is 'p95_ttft_s' in objective.limits"),
        ("limits: {metric: e2e}", "nearest known key is 'metric' in objective"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(objective: Load, more: str, words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        objective(more)
    assert words in caught.value.message


def test_e2e_needs_answers_of_one_length(objective: Load) -> None:
    sampled = "  - {eval_set: [code, maths], temperature: [0, 0.7]}\nobjective: {metric: e2e}\n"
    with pytest.raises(SpaceError) as caught:
        objective(sampled)
    assert "load_points[1] (code, maths) samples at temperature 0.7" in caught.value.message
    assert "space.yaml:6" in caught.value.message
    assert "ignore_eos: true" in caught.value.next_step
    assert objective(sampled.replace("0.7]", "0.7], ignore_eos: true")).goal.metric is Metric.E2E
    assert objective(sampled.replace("[0, 0.7]", "0")).goal.metric is Metric.E2E
    assert objective(sampled.replace("e2e", "throughput")).goal.metric is Metric.THROUGHPUT
