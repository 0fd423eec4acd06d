"""A small sweep on a virtual pool: what a step costs and what the driver keeps do not grow with the trials."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from tests.scale.figures import figures, utilisation, utilisation_by_cpu
from tests.scale.page import lines
from tests.scale.sweep import Costs, Size, measured_sweep
from tests.scale.virtual_pool import Step, Timeline
from tuner.store import read_run

SIZE = Size(workers=8, drafts=6, ks=7, prompts=2)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scale")


@pytest.fixture(scope="module")
def costs(directory: Path) -> Costs:
    return measured_sweep(SIZE, directory)


def test_every_candidate_is_measured_once_and_workers_are_busy(costs: Costs, directory: Path) -> None:
    trials = read_run(directory / "run")[1]
    measured = Counter(trial.record.candidate.key for trial in trials if trial.record.candidate.k)
    assert set(measured.values()) == {1} and len(measured) == SIZE.drafts * SIZE.ks
    assert costs.timeline.trials == len(trials) == len(costs.parts["save"])
    assert costs.timeline.requests == sum(len(trial.samples) for trial in trials)
    assert utilisation_by_cpu(SIZE, costs) >= utilisation(SIZE, costs) > 0.8  # the last round is not full


def test_no_step_reads_all_trials(costs: Costs) -> None:
    assert len(costs.parts["read all"]) == 1  # what an earlier session left


def test_a_late_step_costs_what_an_early_one_does(costs: Costs) -> None:
    cpu = [step.cpu_s for step in costs.timeline.steps if step.trials > SIZE.workers]
    quarter = len(cpu) // 4
    assert median(cpu[-2 * quarter : -quarter]) < 3 * median(cpu[:quarter])


def test_the_driver_keeps_little_of_a_trial(costs: Costs) -> None:
    steps = costs.timeline.steps
    early, late = steps[len(steps) // 4], steps[-1]
    assert (late.rss - early.rss) / (late.trials - early.trials) < 400_000


def test_figures_of_a_sweep_and_of_what_a_further_trial_adds_to_an_answer(costs: Costs) -> None:
    answers = [
        Costs(Timeline([Step(n, 0.1, n / 1000, 0)] * 2, searched=n - 1, trials=n), {}, report_s=n / 10)
        for n in (60, 260)
    ]
    found = figures(SIZE, costs, SIZE, answers)
    assert found["parts_ms_p50"].keys() == costs.parts.keys()
    assert found["answer"]["report_ms_per_trial"] == 100.0
    assert found["answer"]["fresh_life_ms_per_trial"] == 1.0


def test_the_page_says_what_was_measured() -> None:
    found = {
        **{
            "commit": "abc",
            "cores": 2,
            "machine_load": [1.0, 2.5],
            "wall_s": 9,
            "bars": {"step": False},
            "workers": 64,
            "trials": 1920,
        },
        **{
            "requests": 100_000,
            "trial_s": 68.0,
            "utilisation": 0.969,
            "utilisation_by_cpu": 0.971,
            "step_ms_p50": 60.0,
            "step_wall_ms_p50": 80.0,
        },
        **{"rss_mb": 300, "rss_kb_per_trial": 9.0, "reads_of_all_trials": 1, "parts_ms_p50": {"ask": 30.0}},
        "step_ms_at": {"100": 50.0},
        "answer": {
            **{"workers": 8, "trials": [60, 260], "report_s": [4.0, 16.0]},
            **{"report_ms_per_trial": 60.0, "fresh_life_ms_per_trial": 5.0},
        },
    }
    page = "\n".join(lines(found))
    assert "| workers, trials, requests | 64, 1,920, 100,000 |" in page
    assert "Other work shared the cores" in page and "Bars missed in it: step." in page
    assert "half busy at 1,000 workers" in page  # 120 s / 2 / 60 ms
    assert "about 30 minutes for 30,000 trials" in page
