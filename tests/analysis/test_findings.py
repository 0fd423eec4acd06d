"""Verdicts over whole runs, from trials to answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tuner.analysis.comparison import objective_speedup
from tuner.analysis.findings import findings
from tuner.analysis.levels import per_sweep_confidence
from tuner.errors import NothingMeasured
from tuner.records import Answer, ChangedSettings, FailureKind, LoadPoint, Role, Sampling, Trial, Verdict

C1, C8, C64 = (LoadPoint("chat", c, 33) for c in (1, 8, 64))
Make = Callable[..., Trial]
Speed = dict[int, float]  # by concurrency


def run(
    make: Make,
    candidates: dict[int, Speed],
    loads: tuple[LoadPoint, ...] = (C1, C8, C64),
    noise: float = 0.01,
    drift: float = 1.0,
    prompts: int = 12,
) -> list[Trial]:
    """Return baseline, candidates by K with the true speedup at each concurrency, baseline again."""
    rng = random.Random(5)

    def tpot(speeds: Speed) -> Callable[[LoadPoint, int, int], float]:
        return lambda load, i, _r: 0.02 * (1 + 0.1 * i) / speeds[load.concurrency] * (1 + rng.gauss(0, noise))

    flat = {load.concurrency: 1.0 for load in loads}
    trials = [make(0, tpot=tpot(flat), loads=loads, prompts=prompts)]
    for k, speeds in candidates.items():
        trials.append(make(len(trials), k=k, tpot=tpot(speeds), loads=loads, prompts=prompts))
    later = dict.fromkeys(flat, 1 / drift)
    again = make(len(trials), tpot=tpot(later), loads=loads, prompts=prompts, role=Role.BASELINE_AGAIN)
    return [*trials, again]


def only(trials: list[Trial], loads: tuple[LoadPoint, ...] = (C1, C8, C64)) -> Answer:
    (answer,) = findings(trials, loads).answers
    return answer


def flat(speed: float) -> Speed:
    return {1: speed, 8: speed, 64: speed}


def test_speculate(make_trial: Make) -> None:
    answer = only(run(make_trial, {2: flat(1.3), 4: flat(1.6), 6: flat(1.4)}))
    assert answer.verdict is Verdict.SPECULATE
    assert answer.best.k == 4
    assert answer.runner_up is not None
    assert answer.runner_up.k == 6
    assert answer.objective.value == pytest.approx(1.6, rel=0.02)
    assert [load.load_point for load in answer.loads] == [C1, C8, C64]
    assert {curve.load_point for curve in answer.curves} == {C1, C8, C64}
    assert "good K=4 runs at 1.6" in answer.why
    assert answer.below is None


def test_ties_go_to_the_smaller_k_and_are_said(make_trial: Make) -> None:
    answer = only(run(make_trial, {3: flat(1.5), 5: flat(1.501)}, noise=0.03))
    assert answer.best.k == 3
    assert answer.runner_up is not None


def test_speculate_below(make_trial: Make) -> None:
    answer = only(run(make_trial, {2: {1: 1.4, 8: 1.2, 64: 0.6}, 4: {1: 1.8, 8: 1.3, 64: 0.4}}))
    assert (answer.verdict, answer.best.k) == (Verdict.SPECULATE_BELOW, 4)
    assert (answer.up_to, answer.below) == (8, 64)
    assert (answer.objective.low or 0) > 1
    assert answer.objective.note.startswith("over the load points up to concurrency 8")
    assert len(answer.loads) == 3
    assert answer.why.startswith("Up to concurrency 8: good K=4 runs at 1.5")
    assert "At concurrency 64: good K=4 runs at 0.4" in answer.why
    assert answer.why.endswith(" Between 8 and 64 nothing was measured.")


def test_what_neither_pays_nor_loses_lies_between_the_limits(make_trial: Make) -> None:
    answer = only(run(make_trial, {4: {1: 1.5, 8: 1.0, 64: 0.7}}))
    assert (answer.verdict, answer.up_to, answer.below) == (Verdict.SPECULATE_BELOW, 1, 64)
    assert "Between 1 and 64 the result is not clear (measured at 8)." in answer.why


def test_another_candidate_that_pays_where_the_best_does_not_is_named(make_trial: Make) -> None:
    candidates = {1: {1: 1.8, 8: 1.5, 64: 0.7}, 5: {1: 0.8, 8: 1.1, 64: 1.2}}
    answer = only(run(make_trial, candidates))
    assert (answer.best.k, answer.up_to) == (1, 8)
    assert "At concurrency 64 good K=5 is faster (1.2" in answer.why
    assert "it would need an engine of its own." in answer.why
    candidates[5][64] = 0.9
    assert "engine of its own" not in only(run(make_trial, candidates)).why


def test_a_faster_candidate_that_nothing_limits_and_that_is_not_proven_above_is_named(make_trial: Make) -> None:
    def with_one_that_is(speed_above: float) -> Answer:
        def tpot(load: LoadPoint, prompt: int, repeat: int) -> float:
            spread = 10 if prompt % 2 else 0.1
            speed = speed_above * spread if load == C64 else 1.9 + 0.001 * repeat
            return 0.02 * (1 + 0.1 * prompt) / speed

        trials = run(make_trial, {6: {1: 1.8, 8: 1.5, 64: 0.7}})
        return only([*trials, make_trial(len(trials), k=2, loads=(C1, C8, C64), prompts=12, tpot=tpot)])

    answer = with_one_that_is(1.05)
    assert (answer.verdict, answer.best.k, answer.up_to) == (Verdict.SPECULATE_BELOW, 6, 8)
    assert (
        " Up to concurrency 8 good K=2 was measured faster (1.9" in answer.why
        and "that it pays is not proven" in answer.why
    )
    assert "that it pays is not proven" not in with_one_that_is(0.9).why


def test_a_load_point_that_was_measured_slower_limits_the_advice_though_noise_could_explain_it(
    make_trial: Make,
) -> None:
    answer = only(run(make_trial, {4: {1: 1.8, 8: 1.5, 64: 0.93}}, noise=0.05))
    assert (answer.verdict, answer.up_to, answer.below) == (Verdict.SPECULATE_BELOW, 8, 64)


def test_a_load_point_within_one_percent_of_no_speculation_does_not_limit_the_advice(make_trial: Make) -> None:
    answer = only(run(make_trial, {4: {1: 1.8, 8: 1.5, 64: 0.995}}, noise=0.0001))
    assert answer.verdict is Verdict.SPECULATE


def test_a_repeat_that_went_wrong_makes_a_small_effect_inconclusive(make_trial: Make) -> None:
    def tpot(load: LoadPoint, i: int, r: int) -> float:
        return 0.02 / 1.06 * (1 + 0.001 * i) * (1.3 if r == 2 else 1.0)

    base, again = make_trial(tpot=0.02), make_trial(2, tpot=0.02, role=Role.BASELINE_AGAIN)
    calm = make_trial(1, k=4, tpot=lambda load, i, _r: tpot(load, i, 0))
    assert only([base, calm, again], (C1,)).verdict is Verdict.SPECULATE
    assert only([base, make_trial(1, k=4, tpot=tpot), again], (C1,)).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("speed", [1.5, 1.0, 0.7])
def test_an_unknown_drift_makes_every_verdict_provisional(make_trial: Make, speed: float) -> None:
    trials = run(make_trial, {4: flat(speed)}, noise=0.03)
    sentence = "Provisional: the baseline was measured once, so drift is unknown."
    assert only(trials[:-1]).why.endswith(sentence)
    assert sentence not in only(trials).why


def test_a_candidate_that_pays_everywhere_beats_one_that_is_faster_over_all_and_slower_somewhere(
    make_trial: Make,
) -> None:
    answer = only(run(make_trial, {2: {1: 1.2, 8: 1.2, 64: 1.1}, 6: {1: 2.5, 8: 2.0, 64: 0.9}}))
    assert (answer.verdict, answer.best.k) == (Verdict.SPECULATE, 2)


def test_do_not(make_trial: Make) -> None:
    answer = only(run(make_trial, {2: flat(0.9), 4: flat(0.8)}))
    assert (answer.verdict, answer.best.k) == (Verdict.DO_NOT, 0)
    assert answer.objective.value == 1.0
    assert answer.runner_up is not None
    assert answer.runner_up.k == 2
    assert answer.why.startswith("Every candidate that could be measured and compared is slower")


def test_do_not_needs_every_candidate_to_be_slower_barred_ones_too(make_trial: Make) -> None:
    trials = [make_trial(), make_trial(1, k=2, tpot=0.03)]
    slow, fast = make_trial(2, k=4, tpot=0.03, failed=1), make_trial(2, k=4, tpot=0.01, failed=1)
    assert only([*trials, slow], (C1,)).verdict is Verdict.DO_NOT
    answer = only([*trials, fast], (C1,))
    assert (answer.verdict, answer.best.k) == (Verdict.INCONCLUSIVE, 0)
    assert "good K=4 was measured faster (2.00x" in answer.why
    assert "14.3% of its requests failed" in answer.why
    partial = make_trial(2, k=4, loads=(C1,), tpot=0.01)
    both = [make_trial(loads=(C1, C8)), make_trial(1, k=2, tpot=0.03, loads=(C1, C8)), partial]
    assert "not measured at chat, concurrency 8" in only(both, (C1, C8)).why


def test_an_inconclusive_answer_is_about_the_candidate_that_may_still_be_the_best(make_trial: Make) -> None:
    """K = 2 is 2 % slower, surely; K = 4 is 1 % slower on average, and may be much faster."""

    def unsure(_load: LoadPoint, i: int, _r: int) -> float:
        return 0.0202 * (1.1 if i % 2 else 1 / 1.1)

    trials = [make_trial(), make_trial(1, k=2, tpot=0.0204), make_trial(2, k=4, tpot=unsure), make_trial(3, k=6)]
    answer = only(trials, (C1,))
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.why.startswith("good K=4 runs at 0.99x")
    assert answer.runner_up is not None
    assert answer.runner_up.k == 4


def test_no_difference_is_inconclusive(make_trial: Make) -> None:
    answer = only(run(make_trial, {2: flat(1.0), 4: flat(0.7)}, noise=0.03))
    assert (answer.verdict, answer.best.k) == (Verdict.INCONCLUSIVE, 0)
    assert "or more could have been seen" in answer.why


def test_an_effect_within_the_drift_is_inconclusive(make_trial: Make) -> None:
    certain = only(run(make_trial, {4: flat(1.06)}, noise=0.002))
    assert certain.verdict is Verdict.SPECULATE
    # Slower or faster at the end: 1.06 over the first life is no larger than a drift of 8 %.
    for drift, how in (
        (1.08, "a later life was 8.0% slower than an earlier one"),
        (1 / 1.08, "an earlier life was 8.0%"),
    ):
        drifted = only(run(make_trial, {4: flat(1.06)}, noise=0.002, drift=drift))
        assert drifted.verdict is Verdict.INCONCLUSIVE
        assert "the baseline itself drifted, " in drifted.why and how in drifted.why


def test_an_effect_larger_than_the_drift_is_called(make_trial: Make) -> None:
    for drift in (1.08, 1 / 1.08):
        assert only(run(make_trial, {4: flat(1.3)}, noise=0.002, drift=drift)).verdict is Verdict.SPECULATE


def test_mixed_at_one_concurrency_is_for_the_reader_to_decide(make_trial: Make) -> None:
    chat, code = LoadPoint("chat", 8, 33), LoadPoint("code", 8, 33)
    rng = random.Random(1)

    def tpot(k: int) -> Callable[[LoadPoint, int, int], float]:
        speed = {"chat": 0.9, "code": 2.0} if k else {"chat": 1.0, "code": 1.0}
        return lambda load, _i, _r: 0.02 / speed[load.eval_set] * (1 + rng.gauss(0, 0.01))

    trials = [make_trial(k, k=k, tpot=tpot(k), loads=(chat, code)) for k in (0, 3)]
    answer = only(trials, (chat, code))
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "but slower at chat" in answer.why


def test_each_temperature_has_its_own_answer(make_trial: Make) -> None:
    warm = replace(C1, sampling=Sampling(temperature=0.7))

    def tpot(load: LoadPoint, i: int, _r: int) -> float:
        return (0.01 if load == C1 else 0.03) * (1 + 0.01 * i)

    trials = [make_trial(loads=(C1, warm), tpot=0.02), make_trial(1, k=3, loads=(C1, warm), tpot=tpot)]
    result = findings(trials, (C1, warm))
    assert [(a.temperature, a.verdict) for a in result.answers] == [(0.0, Verdict.SPECULATE), (0.7, Verdict.DO_NOT)]
    assert [load.load_point for load in result.answers[1].loads] == [warm]


@pytest.mark.parametrize("fault", ["problem", "preemptions", "failed", "missing"])
def test_a_fault_counts_at_its_own_temperature(make_trial: Make, fault: str) -> None:
    warm = replace(C1, sampling=Sampling(temperature=0.7))
    base, fast = make_trial(loads=(C1, warm)), make_trial(1, k=3, loads=(C1, warm), tpot=0.01)
    cold, spoilt = fast.record.loads
    first = spoilt.repeats[0]
    changed = {
        "problem": replace(first, problems=("2 requests are not ours",)),
        "preemptions": replace(first, counters=replace(first.counters, preemptions=1)),
        "failed": replace(first, failed=1),
    }
    kept = (cold,) if fault == "missing" else (cold, replace(spoilt, repeats=(changed[fault], *spoilt.repeats[1:])))
    result = findings([base, replace(fast, record=replace(fast.record, loads=kept))], (C1, warm))
    assert [a.verdict for a in result.answers] == [Verdict.SPECULATE, Verdict.INCONCLUSIVE]
    assert any(line.startswith("good K=3 cannot win at T=0.7: ") for line in result.warnings)


def test_a_changed_weight_does_not_unmeasure_a_load_point(make_trial: Make) -> None:
    trials = run(make_trial, {4: flat(1.5)})
    heavier = tuple(replace(load, weight=3.0) for load in (C1, C8, C64))
    answer = only(trials, heavier)
    assert answer.verdict is Verdict.SPECULATE
    assert tuple(load.load_point for load in answer.loads) == heavier


def test_weights_move_the_objective(make_trial: Make) -> None:
    loads = (replace(C1, weight=3.0), C8)
    trials = run(make_trial, {4: {1: 2.0, 8: 1.0, 64: 1.0}}, loads=loads, noise=0.0)
    result = findings(trials, loads)
    assert objective_speedup(result.trials[1], 0.0).value == pytest.approx(2.0**0.75)


def test_more_candidates_need_stronger_evidence() -> None:
    assert per_sweep_confidence(1) == pytest.approx(0.95)
    assert per_sweep_confidence(10) == pytest.approx(0.995)


def test_an_aa_sweep_recommends_nothing_in_19_of_20(make_trial: Make) -> None:
    """Sixteen candidates that are no faster: by per-comparison intervals a third of such sweeps would recommend one."""
    rng = random.Random(11)

    def sweep() -> Verdict:
        def tpot(_load: LoadPoint, _i: int, _r: int) -> float:
            return 0.02 * (1 + rng.gauss(0, 0.03))

        trials = [make_trial(k, k=k, tpot=tpot, loads=(C1,), prompts=10, repeats=1) for k in range(17)]
        return only(trials, (C1,)).verdict

    verdicts = [sweep() for _ in range(60)]
    assert sum(v is not Verdict.INCONCLUSIVE for v in verdicts) <= 6


# --- who may win ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"failed": 1}, "of its requests failed"),
        ({"problems": {1: ("2 requests are not ours",)}}, "2 requests are not ours"),
        ({"preemptions": 3}, "preemptions where the baseline had none"),
        ({"max_model_len": 1024}, "max_model_len is 1024, the baseline's 4096"),
        ({"loads": (C1,)}, "not measured at chat, concurrency 8"),
        ({"device": "node-b/gpu"}, "no baseline was measured on the same device"),
    ],
)
def test_a_fast_candidate_with_a_fault_cannot_win(make_trial: Make, fault: dict[str, object], reason: str) -> None:
    loads = (C1, C8)
    fast = {"loads": loads, "tpot": 0.005, "max_model_len": 4096}
    trials = [
        make_trial(0, loads=loads, max_model_len=4096),
        make_trial(1, k=2, loads=loads, tpot=0.015, max_model_len=4096),
        make_trial(2, k=4, **{**fast, **fault}),
    ]
    result = findings(trials, loads)
    assert (result.answers[0].verdict, result.answers[0].best.k) == (Verdict.SPECULATE, 2)
    assert any("good K=4 cannot win" in line and reason in line for line in result.warnings)
    alone = findings([trials[0], trials[2]], loads).answers[0]
    assert alone.verdict is Verdict.INCONCLUSIVE
    assert "No speculative candidate may win" in alone.why


def test_as_many_failures_as_the_baseline_are_tolerated(make_trial: Make) -> None:
    assert (
        only([make_trial(failed=1), make_trial(1, k=4, tpot=0.01, failed=1)], (LoadPoint("chat", 1, 33),)).best.k == 4
    )


# --- engine arguments -------------------------------------------------------------------------------------------------


def gmu(value: float) -> dict[str, float]:
    return {"gpu_memory_utilization": value}


def test_memory_is_the_smallest_value_that_serves_not_the_fastest(make_trial: Make) -> None:
    trials: list[Trial] = []
    for value, preemptions, fast in ((0.5, 4, 0.005), (0.7, 0, 0.0101), (0.9, 0, 0.01)):
        tokens = int(value * 10_000)
        trials.append(make_trial(len(trials), args=gmu(value), kv_cache_tokens=tokens))
        trials.append(
            make_trial(len(trials), k=4, args=gmu(value), tpot=fast, preemptions=preemptions, kv_cache_tokens=tokens)
        )
    (answer,) = findings(trials, (C1,), 0.9).answers
    assert (answer.verdict, answer.best.engine_args) == (Verdict.SPECULATE, gmu(0.7))


@pytest.mark.parametrize(("default", "chosen"), [(0.9, 0.9), (0.92, 0.7), (None, 0.7)])
def test_equal_kv_cache_is_a_tie_for_the_engines_default(
    make_trial: Make, default: float | None, chosen: float
) -> None:
    trials: list[Trial] = []
    for value, tpot in ((0.7, 0.009), (0.9, 0.01)):
        trials.append(make_trial(len(trials), args=gmu(value), kv_cache_tokens=5000))
        trials.append(make_trial(len(trials), k=4, args=gmu(value), tpot=tpot, kv_cache_tokens=5000))
    (answer,) = findings(trials, (C1,), default).answers
    assert answer.best.engine_args == gmu(chosen)


def test_other_arguments_are_ranked_by_time_and_not_by_speedup_over_their_own_baseline(make_trial: Make) -> None:
    """Eager mode: 3x over its own slow baseline (0.06 s) is still slower than 1.5x over the fast one (0.02 s)."""
    eager = {"enforce_eager": True}
    trials = [
        make_trial(0, tpot=0.02),
        make_trial(1, tpot=0.06, args=eager),
        make_trial(2, k=4, tpot=0.02 / 1.5),
        make_trial(3, k=4, tpot=0.02, args=eager),
    ]
    answer = only(trials, (C1,))
    assert answer.best.engine_args == {}
    assert answer.objective.value == pytest.approx(1.5)


def test_a_device_without_the_reference_baseline_cannot_win(make_trial: Make) -> None:
    """Eager on another device: 3x over its own slow baseline says nothing against the reference elsewhere."""
    eager, other = {"enforce_eager": True}, "b/0"
    trials = [
        make_trial(0, tpot=0.02),
        make_trial(1, tpot=0.06, args=eager, device=other),
        make_trial(2, k=4, tpot=0.02 / 1.5),
        make_trial(3, k=8, tpot=0.02, args=eager, device=other),
    ]
    result = findings(trials, (C1,))
    assert (result.answers[0].best.k, result.answers[0].best.engine_args) == (4, {})
    assert any("no reference baseline on its device" in line for line in result.warnings)
    with_reference = [*trials, make_trial(4, tpot=0.02, device=other)]
    assert not any("no reference" in line for line in findings(with_reference, (C1,)).warnings)


def test_speculation_has_to_beat_the_best_engine_without_it(make_trial: Make) -> None:
    """Speculation wins only under arguments whose baseline loses to the other arguments' plain engine."""
    eager = {"enforce_eager": True}
    trials = [
        make_trial(0, tpot=0.06, args=eager),
        make_trial(1, tpot=0.02),
        make_trial(2, k=4, tpot=0.03, args=eager),
        make_trial(3, k=4, tpot=0.025),
    ]
    answer = only(trials, (C1,))
    assert answer.verdict is not Verdict.SPECULATE
    assert (answer.best.k, answer.best.engine_args) == (0, {})


def test_baselines_are_never_pooled_over_devices(make_trial: Make) -> None:
    trials = [
        make_trial(0, tpot=0.02, device="a/0"),
        make_trial(1, tpot=0.04, device="b/0"),
        make_trial(2, k=2, tpot=0.01, device="a/0"),
        make_trial(3, k=4, tpot=0.025, device="b/0"),
    ]
    result = findings(trials, (C1,))
    speedups = {t.candidate.k: t.loads[0].figures["speedup_tpot"].value for t in result.trials if t.candidate.k}
    assert speedups == {2: pytest.approx(2.0), 4: pytest.approx(1.6)}
    assert result.answers[0].best.k == 2


# --- partial runs, drift, warnings ------------------------------------------------------------------------------------


def test_no_baseline_is_nothing_measured(make_trial: Make) -> None:
    with pytest.raises(NothingMeasured, match="No baseline"):
        findings([make_trial(failure="died"), make_trial(1, k=4)], (C1,))


def test_a_partial_run_gives_what_it_has(make_trial: Make) -> None:
    failed = make_trial(1, k=2, failure="out of memory")
    result = findings([make_trial(), failed], (C1,))
    assert result.failed == {failed.record.name: "out of memory"}
    assert result.answers[0].verdict is Verdict.INCONCLUSIVE
    assert result.answers[0].why == "No speculative candidate gave a measurement."
    (curve,) = result.answers[0].curves
    assert [(p.k, p.speedup.value) for p in curve.points] == [(0, 1.0), (2, None)]
    assert failed.record.failure is not None
    assert failed.record.failure.kind is FailureKind.CRASHED


def test_a_baseline_alone_is_no_answer(make_trial: Make) -> None:
    (answer,) = findings([make_trial()], (C1,)).answers
    assert (answer.verdict, answer.best.k, answer.curves) == (Verdict.INCONCLUSIVE, 0, ())


def test_drift_is_reported_by_device_arguments_and_load(make_trial: Make) -> None:
    base = make_trial(tpot=0.02)
    again = make_trial(2, tpot=0.021, role=Role.BASELINE_AGAIN)
    result = findings([base, make_trial(1, k=2, tpot=0.01), again], (C1,))
    (key,) = result.drift
    assert key == f"node-a/cpu {base.record.candidate.args_key} {C1.key}"
    assert result.drift[key].value == pytest.approx(1.05)
    assert any(line.endswith("a later life was 5.0% slower than an earlier one") for line in result.warnings)


def test_an_unknown_drift_is_a_warning(make_trial: Make) -> None:
    result = findings([make_trial(), make_trial(1, k=2)], (C1,))
    assert result.drift == {}
    assert any("measured once" in line for line in result.warnings)


def test_what_the_engine_changed_is_a_finding_and_no_warning(make_trial: Make) -> None:
    trials = [
        make_trial(changed_settings=("both",)),
        make_trial(1, k=2, changed_settings=("both", "Disabling async scheduling")),
        make_trial(2, k=4, changed_settings=("Disabling async scheduling",)),
    ]
    found = findings(trials, (C1,))
    assert found.changed_settings == (
        ChangedSettings(("good K=2", "good K=4"), ("Disabling async scheduling",)),
        ChangedSettings((), ("both",), everywhere=True),
    )
    assert not any("Disabling" in line for line in found.warnings)


def test_warnings_name_invalid_repeats_and_failures(make_trial: Make) -> None:
    trials = [make_trial(failed=2, problems={1: ("counter went backwards",)}), make_trial(1, k=2)]
    lines = "\n".join(findings(trials, (C1,)).warnings)
    assert "no speculation (trial 0)" in lines
    assert "repeat 1 left out: counter went backwards" in lines
    assert "6 of 24 requests failed" in lines


def test_one_prompt_is_never_enough(make_trial: Make) -> None:
    answer = only([make_trial(prompts=1), make_trial(1, k=4, tpot=0.01, prompts=1)], (C1,))
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "more prompts" in answer.why
