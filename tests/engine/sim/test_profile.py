from __future__ import annotations

from pathlib import Path

import pytest

from tuner.engine.sim.profile import Noise, Profile, load_profile, parse_profile, preset_names
from tuner.errors import EngineNotFound

EVERYTHING = """
version: 0.33.0
seed: 7
time_scale: 0.1
start_s: 2
targets: [{match: "*", step_s: 0.03, pad_to: [1, 2, 4], schedule_overhead_s: 0.01}]
drafts: [{match: "*", parallel: true, acceptance: [0.9, 0.5], by_temperature: {0: 1, 1: 0.6}, max_model_len: 512}]
prompt_kinds: [{name: code, contains: ["def "], logit_shift: 0.5}, {name: hard, share: 0.2, logit_shift: -1}]
prefill: {base_s: 0.01, token_s: 0.0001, stalls: 0.5}
answers: {median_tokens: 50, spread: 0.2}
noise:
  life_sd: 0.05
  speculative_life_sd: 0.15
  repeat_sd: 0.02
  outlier_rate: 0.01
  outlier_factor: 4
  bursts: {period_s: 60, duration_s: 5, factor: 1.3}
  drift: {amplitude: 0.03, period_s: 3600}
memory: {tokens: 20000, weights_share: 0.4, draft_share: 0.2}
faults: [{kind: crash, draft: "*weak*", k_min: 6, after_requests: 3, exit_code: -9}]
"""


def test_everything_can_be_said() -> None:
    profile = parse_profile(EVERYTHING, "x.yaml")
    assert profile.targets[0].pad_to == (1, 2, 4)
    assert profile.noise.speculative_life_sd == 0.15
    assert profile.faults[0].exit_code == -9


def test_an_empty_file_is_the_plainest_engine() -> None:
    assert parse_profile("", "x.yaml") == Profile()
    assert Profile().noise == Noise()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("targts: []", "x.yaml: targts: Extra inputs"),
        ("drafts: [{match: a, acceptance: [1.5]}]", r"drafts.0.acceptance.0"),
        ("drafts: [{match: a, acceptance: []}]", r"drafts.0.acceptance"),
        ("faults: [{kind: explode}]", r"faults.0.kind"),
        ("[1, 2]", "the top level"),
        ("a: [", "not YAML"),
    ],
)
def test_what_does_not_fit_is_named(text: str, message: str) -> None:
    with pytest.raises(EngineNotFound, match=message) as caught:
        parse_profile(text, "x.yaml")
    assert caught.value.next_step


def test_presets_load_by_name_and_files_by_path(tmp_path: Path) -> None:
    for name in preset_names():
        assert load_profile(name).targets
    assert load_profile() == load_profile("default")
    path = tmp_path / "mine.yaml"
    path.write_text("seed: 5")
    assert load_profile(str(path)).seed == 5
    with pytest.raises(EngineNotFound, match=r"nowhere\.yaml") as caught:
        load_profile("nowhere.yaml")
    assert "steady" in caught.value.next_step
