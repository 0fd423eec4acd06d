"""Settings that speculation drags along, and accelerators on top of one another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.diagnoses.seeing import Make, drifting, said, seen, the
from tuner.analysis.diagnoses import NamedChange
from tuner.analysis.dragged import split_speedup
from tuner.records import Confidence, Json, Level, Notice, Role, Trial

CHANGE = NamedChange(("good",), ("the V1 model runner", "synchronous scheduling"))


def pair(make: Make, **more: object) -> list[Trial]:
    return [make(tpot=drifting(0.02), **more), make(1, k=3, tpot=drifting(0.01), **more)]


def test_settings_that_changed_are_likely_to_matter_until_they_are_measured(make_trial: Make) -> None:
    one = the("settings_changed", seen(pair(make_trial), changes=(CHANGE,)))
    assert "switch to the V1 model runner and synchronous scheduling" in one.what
    assert one.confidence is Confidence.MEDIUM and "--same-runner-baseline" in one.next_step
    assert said("settings_changed", seen(pair(make_trial))) == []
    assert said("settings_changed", seen(pair(make_trial), changes=(replace(CHANGE, names=()),))) == []


def test_a_second_baseline_says_what_they_cost(make_trial: Make) -> None:
    plain, trial = pair(make_trial)
    same = make_trial(2, role=Role.SAME_RUNNER, tpot=drifting(0.025))
    splits = split_speedup(trial, [plain], same)
    one = the("settings_changed", seen([plain, trial], changes=(CHANGE,), splits=splits))
    assert one.confidence is Confidence.HIGH and "that alone costs" in one.what
    assert "these settings alone are 0.80x" in one.evidence[0] and "speculation alone is 2.50x" in one.evidence[0]
    unsure = replace(splits[0], settings=replace(splits[0].settings, value=0.5, low=0.2, high=1.3))
    one = the("settings_changed", seen([plain, trial], changes=(CHANGE,), splits=[unsure, *splits]))
    assert "these settings alone are 0.80x" in one.evidence[0], "clear by what is clear"
    free = split_speedup(trial, [plain], make_trial(2, role=Role.SAME_RUNNER, tpot=drifting(0.02)))
    assert said("settings_changed", seen([plain, trial], changes=(CHANGE,), splits=free)) == []


@pytest.mark.parametrize(
    ("target", "args", "options", "evidence"),
    [
        ("Qwen3-14B-AWQ", {}, {}, "the target's name says AWQ"),
        ("m", {"quantization": "fp8"}, {}, "the target runs with quantization fp8"),
        ("m", {"kv_cache_dtype": "fp8"}, {}, "kv_cache_dtype is fp8"),
        ("m", {}, {"draft_sample_method": "probabilistic", "use_heterogeneous_vocab": True}, "speculation has "),
    ],
)
def test_accelerators_on_top_of_one_another_are_warned_of(
    make_trial: Make, target: str, args: dict[str, Json], options: dict[str, Json], evidence: str
) -> None:
    one = the(
        "stacked_accelerators", seen([with_options(t, options) for t in pair(make_trial, args=args)], target=target)
    )
    assert evidence in one.evidence[0] and one.confidence is Confidence.LOW


def with_options(trial: Trial, options: dict[str, Json]) -> Trial:
    spec = trial.record.candidate.speculation
    if spec is None:
        return trial
    candidate = replace(trial.record.candidate, speculation=replace(spec, options=options))
    return replace(trial, record=replace(trial.record, candidate=candidate))


def test_a_quantised_draft_and_what_preflight_read_count_too(make_trial: Make) -> None:
    plain, trial = pair(make_trial)
    spec = trial.record.candidate.speculation
    assert spec is not None
    small = replace(trial.record.candidate, speculation=replace(spec, draft="/models/Qwen3-0.6B-FP8"))
    quantised = replace(trial, record=replace(trial.record, candidate=small))
    assert "the draft's name says FP8" in the("stacked_accelerators", seen([plain, quantised])).evidence[0]
    notice = Notice(
        "quantised_target", Level.HINT, "target", "its weights are quantised (awq): so there is less to save"
    )
    one = the("stacked_accelerators", seen([plain, trial], target="m-AWQ", notices=(notice,)))
    assert one.evidence == ("target: its weights are quantised (awq); the speedup is of speculation on top of them",)
    of_draft = replace(notice, code="quantised_draft", subject="good")
    assert "good: its weights" in the("stacked_accelerators", seen([plain, trial], notices=(of_draft,))).evidence[0]
    assert said("stacked_accelerators", seen([plain, trial], notices=(replace(of_draft, subject="other"),))) == []


@pytest.mark.parametrize("target", ["/models/Qwen3-14B", "org/fp80-model", "int4lligence"])
def test_plain_models_with_one_option_are_not_stacked(make_trial: Make, target: str) -> None:
    trials = [with_options(t, {"draft_sample_method": "greedy", "prompt_lookup_max": 4}) for t in pair(make_trial)]
    assert said("stacked_accelerators", seen(trials, target=target)) == []
