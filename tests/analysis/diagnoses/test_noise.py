"""What noise hides."""

from __future__ import annotations

from tests.analysis.diagnoses.seeing import C1, C16, Make, by_concurrency, drifting, said, seen, the
from tuner.records import LoadPoint, Protocol, Trial, Verdict


def unsure(_load: LoadPoint, prompt: int, _repeat: int) -> float:
    return 0.0196 * (1.4 if prompt % 2 else 1 / 1.4)


def test_an_interval_around_1_is_noise(make_trial: Make) -> None:
    sweep = seen([make_trial(tpot=drifting(0.02)), make_trial(1, k=3, tpot=unsure)])
    assert sweep.findings.answers[0].verdict is Verdict.INCONCLUSIVE
    one = the("noise_too_large", sweep)
    assert one.subject == "good K=3" and "this sweep cannot tell" in one.what
    assert "6 prompts, one engine life" in one.evidence[0] and "no effect below" in one.evidence[0]
    assert one.next_step.startswith("To settle ")


def test_a_clear_answer_is_no_noise(make_trial: Make) -> None:
    for tpot in (0.01, 0.03):
        sweep = seen([make_trial(tpot=drifting(0.02)), make_trial(1, k=3, tpot=drifting(tpot))])
        assert said("noise_too_large", sweep) == []


def test_a_rival_within_noise_of_a_clear_winner_leaves_nothing_open(make_trial: Make) -> None:
    trials = [make_trial(tpot=drifting(0.02)), make_trial(1, k=3, tpot=drifting(0.01))]
    sweep = seen([*trials, make_trial(2, k=3, draft="other", tpot=unsure)])
    assert sweep.findings.answers[0].runner_up is not None
    assert said("noise_too_large", sweep) == []


def test_an_answer_that_depends_on_the_traffic_is_no_noise(make_trial: Make) -> None:
    """Faster overall and slower at 1: open, but not for noise."""
    loads = (C1, C16)
    plain = make_trial(tpot=by_concurrency(c1=0.02, c16=0.02), loads=loads)
    mixed = make_trial(1, k=3, tpot=by_concurrency(c1=0.022, c16=0.01), loads=loads)
    sweep = seen([plain, mixed], loads)
    assert sweep.findings.answers[0].verdict is Verdict.INCONCLUSIVE
    assert said("noise_too_large", sweep) == []


def two_k(make: Make, at_2: float, at_3: float, **more: object) -> list[Trial]:
    return [
        make(tpot=drifting(0.02)),
        make(1, k=2, tpot=drifting(at_2), **more),
        make(2, k=3, tpot=drifting(at_3), **more),
    ]


def test_a_smaller_k_with_a_clearly_longer_step_shows_that_lives_differ(make_trial: Make) -> None:
    """2.44 tokens at 0.03 s against 2.95 at 0.012 s: 73 ms and 35 ms a step, and the longer one does less."""
    one = the("lives_differ", seen(two_k(make_trial, 0.03, 0.012)))
    assert "a step of K = 2 takes 3.6" in one.evidence[0] and "one of K = 3 only 1.7" in one.evidence[0]
    assert "fresh lives" in one.next_step


def test_steps_that_grow_with_k_are_as_they_should_be(make_trial: Make) -> None:
    assert said("lives_differ", seen(two_k(make_trial, 0.012, 0.012))) == []


def test_fresh_lives_are_what_it_asks_for(make_trial: Make) -> None:
    """Of both K four lives each: nothing more is to be said of single ones."""
    rounds = [
        make_trial(10 + 3 * r + i, k=k, tpot=drifting(tpot), final_round=r)
        for r in range(4)
        for i, (k, tpot) in enumerate(((0, 0.02), (2, 0.03), (3, 0.012)))
    ]
    protocol = Protocol(lives=4, max_lives=4)
    sweep = seen([*two_k(make_trial, 0.011, 0.012), *rounds], protocol=protocol)
    assert {arm.lives for arm in sweep.findings.finals} == {4}
    assert said("lives_differ", sweep) == []
