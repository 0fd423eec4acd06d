"""What is deployed: by verdict, by traffic, by schedule; and the files of each answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import yaml

from tests.built_artifact import Built, weigh
from tuner.artifact import parse_best_config, recommended_candidate
from tuner.artifact.beside import ChosenBy
from tuner.export.artifact import may_be_written
from tuner.export.serve import serve_settings
from tuner.records import Candidate, Findings, LoadPoint, Sampling, Traffic, Trial, Verdict

Make = Callable[..., Trial]


def built(make: Make, shares: dict[int, float] | None, busy: float = 0.8) -> Built:
    """K = 2 at 1.5 of no speculation at concurrency 1, K = 4 at 1.9; at 32 both at `busy`."""
    loads = weigh(shares, 1, 32) if shares else (LoadPoint("chat", 1, 33), LoadPoint("chat", 32, 33))

    def tpot(alone: float) -> Callable[[LoadPoint, int, int], float]:
        return lambda load, i, r: 0.02 / (alone if load.concurrency == 1 else busy) * (1 + 0.001 * i)

    trials = [
        make(0, loads=loads, tpot=lambda load, i, r: 0.02 * (1 + 0.001 * i)),
        make(1, k=2, loads=loads, tpot=tpot(1.5)),
        make(2, k=4, loads=loads, tpot=tpot(1.9)),
    ]
    return Built(trials, loads, Traffic(shares) if shares else None)


def speculative(text: str) -> dict[str, object] | None:
    config = yaml.safe_load(text).get("speculative-config")
    return yaml.safe_load(config) if config else None


def test_without_traffic_what_pays_up_to_the_limit_is_served(make_trial: Make) -> None:
    found = built(make_trial, None)
    (answer,) = found.config.answers
    assert answer.verdict is Verdict.SPECULATE_BELOW
    assert answer.recommended.chosen_by is ChosenBy.VERDICT
    assert answer.recommended.speculation is not None
    assert answer.recommended.speculation.num_speculative_tokens == 4
    assert speculative(found.files["serve.yaml"]) == speculative(found.files["serve.speculate.yaml"]) != None  # noqa: E711
    assert speculative(found.files["serve.baseline.yaml"]) is None


def test_traffic_that_is_mostly_busy_puts_no_speculation_into_serve_yaml(make_trial: Make) -> None:
    found = built(make_trial, {1: 0.05, 32: 0.95})
    (answer,) = found.config.answers
    assert answer.verdict is Verdict.SPECULATE_BELOW
    assert (answer.recommended.chosen_by, answer.recommended.speculation) == (ChosenBy.TRAFFIC, None)
    assert answer.recommended.limit is not None
    assert answer.recommended.limit.speculation.num_speculative_tokens == 4
    assert speculative(found.files["serve.yaml"]) is None
    assert speculative(found.files["serve.speculate.yaml"]) is not None
    assert "Over the traffic as a whole, no speculation is the best single setting" in found.files["serve.yaml"]
    # What stands beside the recommendation is about the speculation that pays below the limit.
    assert answer.lossless is not None
    assert answer.alert is not None
    assert "started with serve.speculate.yaml" in found.files["alerts.yaml"]


def test_traffic_that_is_mostly_quiet_keeps_it(make_trial: Make) -> None:
    (answer,) = built(make_trial, {1: 0.95, 32: 0.05}).config.answers
    assert answer.recommended.chosen_by is ChosenBy.TRAFFIC
    assert answer.recommended.speculation is not None
    assert answer.recommended.speculation.num_speculative_tokens == 4


def test_the_artifact_alone_tells_what_the_serve_files_hold(make_trial: Make) -> None:
    found = built(make_trial, {1: 0.05, 32: 0.95})
    read = parse_best_config(found.files["best_config.yaml"], "x")
    recommended = read.answers[0].recommended
    assert recommended.limit is not None
    for what in (recommended, recommended.limit):
        candidate = recommended_candidate(read, what)
        assert serve_settings(read.target, candidate) == yaml.safe_load(found.files[what.serve_config])
    assert recommended_candidate(read, recommended.limit) == found.findings.answers[0].best


def test_the_limit_is_advice_in_the_artifact_and_in_the_files(make_trial: Make) -> None:
    found = built(make_trial, None)
    limit = found.config.answers[0].recommended.limit
    assert limit is not None
    assert (limit.up_to_concurrency, limit.slower_at_concurrency, limit.max_num_seqs) == (1, 32, 1)
    assert "runs at most 1 request at once" in limit.advice[0]
    assert "max-num-seqs: 1" in limit.advice[1]
    for name in ("serve.yaml", "serve.speculate.yaml"):
        assert all(advice in found.files[name] for advice in limit.advice), name
        assert "max-num-seqs" not in yaml.safe_load(found.files[name])


def test_other_verdicts_have_no_limit(make_trial: Make) -> None:
    found = built(make_trial, None, busy=1.2)
    (answer,) = found.config.answers
    assert (answer.verdict, answer.recommended.limit) == (Verdict.SPECULATE, None)
    assert "serve.speculate.yaml" not in found.files
    slow = built(make_trial, None, busy=0.8)
    assert slow.config.answers[0].recommended.limit is not None


def test_nothing_stands_beside_no_recommendation(make_trial: Make) -> None:
    loads = (LoadPoint("chat", 1, 33),)
    slow = [make_trial(0), make_trial(1, k=2, tpot=lambda load, i, r: 0.03 * (1 + 0.001 * i))]
    found = Built(slow, loads)
    (answer,) = found.config.answers
    assert (answer.verdict, answer.recommended.speculation) == (Verdict.DO_NOT, None)
    assert (answer.lossless, answer.drags_along, answer.request_features, answer.alert) == (None, None, (), None)
    assert answer.capacity.with_speculation is None
    assert answer.capacity.without_speculation is not None
    assert "alerts.yaml" not in found.files


def test_a_second_temperature_has_files_of_its_own(make_trial: Make) -> None:
    loads = (LoadPoint("chat", 1, 33), LoadPoint("chat", 1, 33, Sampling(temperature=0.7)))
    trials = [
        make_trial(0, loads=loads),
        make_trial(1, k=2, loads=loads, tpot=lambda load, i, r: 0.01 * (1 + 0.001 * i)),
    ]
    found = Built(trials, loads)
    cold, warm = found.config.answers
    assert (cold.recommended.serve_config, warm.recommended.serve_config) == ("serve.yaml", "serve-t0.7.yaml")
    assert warm.recommended.baseline_serve_config == cold.recommended.baseline_serve_config == "serve.baseline.yaml"
    assert warm.alert is not None
    assert warm.alert.rules_file == "alerts-t0.7.yaml"
    assert {"serve-t0.7.yaml", "alerts-t0.7.yaml", "alerts.yaml"} <= found.files.keys()

    def other_arguments(findings: Findings) -> Findings:
        first, second = findings.answers
        return replace(findings, answers=(first, replace(second, best=Candidate({"max_num_seqs": 8}))))

    other = Built(trials, loads, change=other_arguments)
    assert other.config.answers[1].recommended.baseline_serve_config == "serve-t0.7.baseline.yaml"
    assert yaml.safe_load(other.files["serve-t0.7.baseline.yaml"])["max-num-seqs"] == 8
    assert all(may_be_written(name) for name in other.files if name.endswith(".yaml") and name != "best_config.yaml")


@pytest.mark.parametrize("name", ["best_config.yaml", "serve-mine.yaml", "space.yaml", "serve.yaml.bak", "alerts"])
def test_files_of_others_are_not_ours(name: str) -> None:
    assert not may_be_written(name)
