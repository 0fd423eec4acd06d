"""Acceptance figures against a known truth: a real engine that accepts draft tokens with set probabilities.

vLLM's `rejection_sample_method: synthetic` accepts by chance, so the truth is what was set. The CPU build refuses that
method ("Synthetic acceptance not supported with CPU sampling", 0.32); there a plugin puts the accepting loop back.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from scipy.stats import binom, norm

from tests.verify.shims import synthetic_acceptance
from tests.verify.synthetic_on_cpu import accepted
from tuner.analysis.metrics import trial_figures
from tuner.engine.resolve import resolve_engine
from tuner.records import (
    Candidate,
    Json,
    LoadFigures,
    LoadPoint,
    Protocol,
    Role,
    RunManifest,
    Speculation,
    Trial,
    WorkerFacts,
)
from tuner.report import manifest_json, write_report
from tuner.space.eval_sets import load_eval_set
from tuner.space.methods import undeployable
from tuner.store import RunStore, read_run
from tuner.trial import TrialSpec, run_trial

K = 3
PROFILES: dict[str, list[float]] = {
    "usual": [0.8, 0.64, 0.51],
    "steep": [0.5, 0.25, 0.1],
    "flat": [0.9, 0.85, 0.8],
}
"""Probability that a draft's first i tokens are all accepted, for i = 1, 2, 3."""
MISS = 0.001 / (len(PROFILES) * (K + 1))
"""How often one check may fail by chance, so that all of them together do in one run of a thousand."""

ENGINE_ARGS: dict[str, Json] = {
    "max_model_len": 512,
    "max_num_seqs": 4,
    "enforce_eager": True,
    "gpu_memory_utilization": 0.3,
}
ENV = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_NUM_OF_RESERVED_CPU": "0"}
LOAD = LoadPoint("chat", concurrency=4, max_tokens=64, ignore_eos=True, num_prompts=12)
PROTOCOL = Protocol(repeats=2, baseline_again=False, reduced="It only proves the counting.")
MIN_DRAFTS = 300
TARGET = "demo:target"
SPECULATING = ("speculate", "speculate_below")


def position_range(rate: float, drafts: int) -> tuple[float, float]:
    """Return between which A_i/D lies but for MISS, if each of `drafts` drafts gets that far with probability rate."""
    low, high = binom.ppf([MISS / 2, 1 - MISS / 2], drafts, rate)
    return float(low) / drafts, float(high) / drafts


def accepted_range(rates: Sequence[float], drafts: int) -> tuple[float, float]:
    """Return between which A/D lies but for MISS.

    N tokens of a draft are accepted, with P(N >= i) = rates[i - 1]: E N = sum of rates, E N^2 = sum of (2 i - 1) rates.
    """
    mean = math.fsum(rates)
    variance = math.fsum((2 * i - 1) * rate for i, rate in enumerate(rates, start=1)) - mean**2
    margin = float(norm.ppf(1 - MISS / 2)) * math.sqrt(variance / drafts)
    return mean - margin, mean + margin


def synthetic_options(rates: Sequence[float]) -> dict[str, Json]:
    return {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [*rates]}


def synthetic(name: str) -> Candidate:
    return Candidate(ENGINE_ARGS, Speculation("draft_model", K, name, "demo:good", synthetic_options(PROFILES[name])))


def kept(path: Path, trials: Iterable[Trial], version: str = "0.32.0", build: str = "cpu") -> Path:
    """Keep the trials as a run, each as soon as it is there, and return its directory."""
    manifest = RunManifest(
        target=TARGET,
        space="synthetic",
        space_source="",
        engine_version=version,
        engine_build=build,
        load_points=(LOAD,),
        protocol=PROTOCOL,
        inflection_threshold=0.01,
        prompts={LOAD.eval_set: LOAD.num_prompts or 0},
        tuner_version="test",
    )
    with RunStore.open(path, {"engine": {"version": version}}, manifest_json(manifest)) as store:
        for trial in trials:
            assert trial.record.failure is None, trial.record.failure
            store.save(trial)
    return path


def written(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the artifact and the serve file that follow from a run."""
    report = write_report(run, finished=True)
    return yaml.safe_load(report.artifact.read_text()), yaml.safe_load((run / "serve.yaml").read_text())


@dataclass(frozen=True)
class Known:
    """A run with a baseline and one candidate per profile, kept and read again."""

    path: Path
    trials: dict[str, Trial]

    def figures(self, name: str) -> LoadFigures:
        (load,) = trial_figures(self.trials[name], self.trials["none"]).loads
        return load


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    folder = tmp_path_factory.mktemp("synthetic")
    engine = resolve_engine(None)
    eval_set, _ = load_eval_set(LOAD.eval_set)
    env = {**ENV, **(synthetic_acceptance(folder / "plugin") if engine.build == "cpu" else {})}

    def measured(number: int, candidate: Candidate) -> Trial:
        spec = TrialSpec(
            number=number,
            role=Role.CANDIDATE if candidate.k else Role.BASELINE,
            candidate=candidate,
            engine=engine,
            target=TARGET,
            load_points=(LOAD,),
            eval_sets={LOAD.eval_set: eval_set},
            protocol=PROTOCOL,
            log_dir=str(folder / f"log{number}"),
            env=env,
        )
        return run_trial(spec, WorkerFacts("here/cpu", "cpu", "here"), report=lambda phase: None)

    trials = (measured(n, candidate) for n, candidate in enumerate([Candidate(ENGINE_ARGS), *map(synthetic, PROFILES)]))
    run = kept(folder / "run", trials, engine.version, engine.build)
    return Known(run, {trial.record.candidate.draft_name: trial for trial in read_run(run)[1]})


@pytest.mark.real
@pytest.mark.parametrize("name", PROFILES)
def test_acceptance_figures_are_the_set_profile(known: Known, name: str) -> None:
    load = known.figures(name)
    rates, figures = PROFILES[name], load.figures
    drafts = figures["mean_acceptance_length"].n
    assert drafts is not None and drafts >= MIN_DRAFTS
    low, high = accepted_range(rates, drafts)
    assert 1 + low <= (figures["mean_acceptance_length"].value or 0) <= 1 + high
    assert low / K <= (figures["acceptance_rate"].value or 0) <= high / K
    assert figures["mean_proposed_length"].value == K
    assert len(load.acceptance_by_position) == len(load.conditional_by_position) == K
    for rate, figure in zip(rates, load.acceptance_by_position, strict=True):
        low, high = position_range(rate, drafts)
        assert low <= (figure.value or 0) <= high


@pytest.mark.real
def test_what_accepts_by_chance_is_never_recommended_however_fast_it_is(known: Known) -> None:
    assert (known.figures("flat").figures["speedup_tpot"].value or 0) > 1, "not even faster, so this proves nothing"
    artifact, serve = written(known.path)
    (answer,) = artifact["answers"]
    assert answer["recommended"]["speculation"] is None
    assert artifact["verdict"] not in SPECULATING
    assert "speculative-config" not in serve
    barred = [warning for warning in artifact["warnings"] if "accepts tokens by chance" in warning]
    assert {name for name in PROFILES for warning in barred if f"{name} K={K}" in warning} == set(PROFILES)


@pytest.mark.parametrize(("options", "may_win"), [({}, True), (synthetic_options([0.9, 0.85, 0.8]), False)])
def test_only_its_method_keeps_a_clear_winner_out(
    make_trial: Callable[..., Trial], tmp_path: Path, options: dict[str, Json], may_win: bool
) -> None:
    fast = make_trial(number=1, k=K, loads=(LOAD,), tpot=lambda load, prompt, repeat: 0.01 * (1 + 0.002 * prompt))
    plain = [make_trial(number=n, loads=(LOAD,), role=role) for n, role in ((0, None), (2, Role.BASELINE_AGAIN))]
    candidate = fast.record.candidate
    assert candidate.speculation is not None
    changed = replace(candidate, speculation=replace(candidate.speculation, options=options))
    winner = replace(fast, record=replace(fast.record, candidate=changed))
    artifact, serve = written(kept(tmp_path / "run", [plain[0], winner, plain[1]]))
    assert (artifact["verdict"] in SPECULATING) is may_win
    assert ("speculative-config" in serve) is may_win


def test_such_a_candidate_is_undeployable() -> None:
    for name in PROFILES:
        speculation = synthetic(name).speculation
        assert speculation is not None
        assert "accepts tokens by chance" in (undeployable(speculation) or "")


@pytest.mark.parametrize("name", PROFILES)
def test_the_ranges_tell_the_truth_from_what_a_wrong_formula_would_give(name: str) -> None:
    rates = PROFILES[name]
    conditional = [b / a for a, b in zip([1.0, *rates], rates, strict=False)]
    for wrong, rate in zip(conditional[1:], rates[1:], strict=True):
        low, high = position_range(rate, MIN_DRAFTS)
        assert low < rate < high
        assert not low <= wrong <= high or wrong - rate < 0.1
    low, high = accepted_range(rates, MIN_DRAFTS)
    assert low < sum(rates) < high
    assert not low <= sum(rates) + 1 <= high, "the bonus token counted as accepted"
    assert not low <= sum(rates) / K <= high, "per token instead of per draft"


def test_ranges_by_hand() -> None:
    # 100 drafts at 0.5: standard deviation 0.05; 99.992 % lie within 3.93 of them.
    low, high = position_range(0.5, 100)
    assert (low, high) == pytest.approx((0.5 - 0.197, 0.5 + 0.197), abs=0.01)
    # One position is a coin again: mean 0.5, variance 0.25.
    assert accepted_range([0.5], 100) == pytest.approx((0.5 - 0.197, 0.5 + 0.197), abs=0.001)


def test_the_plugins_loop_stops_at_the_first_rejection() -> None:
    assert accepted([7, 8, 9], [0.1, 0.9, 0.1], [0.5, 0.5, 0.5]) == [7]
    assert accepted([7, 8, 9], [0.1, 0.4, 0.1], [0.5, 0.5, 0.5]) == [7, 8, 9]
    assert accepted([7, -1, 9], [0.1, 0.1, 0.1], [0.5, 0.5, 0.5]) == [7]
