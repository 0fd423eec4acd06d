"""The acceptance range and the Prometheus rules that watch it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import promql_parser
import pytest
import yaml

from tests.built_artifact import Built
from tuner.analysis.k_schedule import with_schedule
from tuner.export.artifact_alert import acceptance_alert
from tuner.export.artifact_beside import Lives
from tuner.export.artifact_rules import alert_rules
from tuner.records import Counters, LoadPoint, Trial

Make = Callable[..., Trial]

LOAD = LoadPoint("chat", 1, 400)
K = 4


def with_steps(trial: Trial, steps: Sequence[Sequence[int]]) -> Trial:
    """Return the trial with these tokens per decode step of each prompt, and counters that say the same."""
    samples = tuple(
        replace(
            sample,
            chunk_tokens=(1, *steps[sample.index]),
            completion_tokens=1 + sum(steps[sample.index]),
            token_ids=tuple(range(1 + sum(steps[sample.index]))),
        )
        for sample in trial.samples
    )
    runs = [n - 1 for of_prompt in steps for n in of_prompt]
    (load,) = trial.record.loads
    counters = Counters(
        generation_tokens=sum(s.completion_tokens or 0 for s in samples) // len(load.repeats),
        prompt_tokens=20 * len(steps),
        requests=len(steps),
        decode_steps=len(runs),
        drafts=len(runs),
        draft_tokens=K * len(runs),
        accepted_tokens=sum(runs),
        accepted_per_pos=tuple(sum(run > i for run in runs) for i in range(K)),
    )
    repeats = tuple(replace(repeat, counters=counters) for repeat in load.repeats)
    return replace(trial, record=replace(trial.record, loads=(replace(load, repeats=repeats),)), samples=samples)


def lives(make: Make, steps: Sequence[Sequence[int]]) -> Lives:
    fast = make(1, k=K, loads=(LOAD,), prompts=len(steps), acceptance=[0.5] * K)
    return Lives((with_steps(fast, steps),), (make(0, loads=(LOAD,)),), 0.0)


def test_the_range_is_what_windows_of_such_prompts_keep_within(make_trial: Make) -> None:
    """Prompts of 2.8 and 3.2 tokens a step, four of each: SD 0.2 sqrt(8/7). The answer's end cuts the last step off."""
    steps = [[*[3] * 32, *[of_prompt] * 8, 1] for of_prompt in (2, 4)] * 4
    alert = acceptance_alert(lives(make_trial, steps), "alerts.yaml")
    assert alert is not None
    length = (3.0 * 40 + 1) / 41
    half = 3.49948 * 0.2 * math.sqrt(8 / 7) * math.sqrt(1 / 8 + 1 / 50)  # t(99 %, 7), windows of 50 requests
    assert alert.least_drafts == 50 * 41
    assert alert.measured.value == pytest.approx(length, rel=1e-5)
    assert alert.prompts_sd == pytest.approx(0.2 * math.sqrt(8 / 7), rel=1e-5)
    assert alert.low == pytest.approx(length - half, abs=0.005)
    assert alert.high == pytest.approx(length + half, abs=0.005)


def test_the_range_stays_within_what_is_possible(make_trial: Make) -> None:
    """Prompts of 2, 3 and 4 tokens a step: SD 1, n = 3."""
    alert = acceptance_alert(lives(make_trial, [[2] * 40, [3] * 40, [4] * 40]), "alerts.yaml")
    assert alert is not None
    assert (alert.measured.value, alert.prompts_sd, alert.least_drafts) == (3.0, 1.0, 2000)
    half = 9.92484 * math.sqrt(1 / 3 + 1 / 50)  # t(99 %, 2), 2000 drafts of 40 a request
    assert half > 4
    assert (alert.low, alert.high) == (1.0, 1.0 + K)  # neither can leave what is possible
    assert alert.measured.low == pytest.approx(max(1.0, 3 - 4.30265 / math.sqrt(3)), rel=1e-4)


def test_many_alike_prompts_make_it_narrow_but_no_narrower_than_the_least(make_trial: Make) -> None:
    spread = [[2, 3] * 20 if i % 2 else [3, 2, 3] * 14 for i in range(20)]
    alert = acceptance_alert(lives(make_trial, spread), "alerts.yaml")
    assert alert is not None and alert.measured.value is not None
    assert alert.low > 0.9 * alert.measured.value
    same = acceptance_alert(lives(make_trial, [[3] * 40] * 6), "alerts.yaml")
    assert same is not None
    assert (same.low, same.high) == (2.85, 3.15)


def test_without_single_steps_the_range_is_wide_and_says_so(make_trial: Make) -> None:
    fast = make_trial(1, k=2, loads=(LOAD,))
    alert = acceptance_alert(Lives((fast,), (), 0.0), "alerts.yaml")
    assert alert is not None and alert.measured.value is not None
    assert alert.prompts_sd is None
    assert alert.low == pytest.approx(0.8 * alert.measured.value, abs=0.01)
    assert "not known" in alert.why


def test_invalid_repeats_and_other_temperatures_do_not_count(make_trial: Make) -> None:
    fast = make_trial(1, k=2, loads=(LOAD,), problems={0: ("broken",), 1: ("broken",), 2: ("broken",)})
    assert acceptance_alert(Lives((fast,), (), 0.0), "alerts.yaml") is None
    assert acceptance_alert(Lives((make_trial(1, k=2, loads=(LOAD,)),), (), 0.7), "alerts.yaml") is None
    assert acceptance_alert(Lives((), (), 0.0), "alerts.yaml") is None


def rules(make: Make, target: str = "org/target") -> list[dict[str, object]]:
    fast = make(1, k=2, tpot=lambda load, i, r: 0.01 * (1 + 0.001 * i))
    built = Built([make(0), fast], (LoadPoint("chat", 1, 33),), target=target)
    (group,) = yaml.safe_load(built.files["alerts.yaml"])["groups"]
    found: list[dict[str, object]] = group["rules"]
    return found


def test_prometheus_reads_the_rules(make_trial: Make) -> None:
    found = rules(make_trial)
    for rule in found:
        promql_parser.parse(str(rule["expr"]))
    recorded, *alerts = found
    assert [alert["alert"] for alert in alerts] == [
        "SpeculationAcceptanceLow",
        "SpeculationAcceptanceHigh",
        "SpeculationInactive",
    ]
    assert all(alert["for"] == "15m" for alert in alerts)
    for alert in alerts[:2]:
        assert str(recorded["record"]) in str(alert["expr"])
        assert "increase(vllm:spec_decode_num_drafts_total" in str(alert["expr"])
        assert ">= 1000" in str(alert["expr"])


@pytest.mark.parametrize("name", ['odd"name\\x', "a\x85b", "\u2028", "line\nline", "\x1b[31m", "\ufeff"])
def test_a_strange_name_is_escaped_and_read_back(make_trial: Make, name: str) -> None:
    for rule in rules(make_trial, target=name):
        promql_parser.parse(str(rule["expr"]))
        assert f"model_name={json.dumps(name, ensure_ascii=False)}" in str(rule["expr"])


def test_a_schedule_that_switches_speculation_off_raises_no_alarm_when_it_does(make_trial: Make) -> None:
    fast = make_trial(1, k=2, loads=(LOAD,))
    alert = acceptance_alert(Lives((fast,), (), 0.0), "alerts.yaml")
    spec = fast.record.candidate.speculation
    assert alert is not None and spec is not None
    off = with_schedule(fast.record.candidate, spec, ((1, 4, 2), (5, 64, 0)))
    always = with_schedule(fast.record.candidate, spec, ((1, 4, 2), (5, 64, 1)))
    for candidate, inactive in ((off, False), (always, True), (fast.record.candidate, True)):
        text = alert_rules(alert, "org/target", candidate, "serve.yaml", "serve.baseline.yaml")
        assert ("SpeculationInactive" in text) is inactive
