from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.sim import model
from tuner.engine.sim.profile import DraftModel, Profile, PromptKind, TargetModel, load_profile
from tuner.errors import EngineNotFound
from tuner.records import Json, Speculation

chances = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def speculation(
    k: int, draft: str | None = "models/good", method: str = "draft_model", schedule: list[Json] | None = None
) -> Speculation:
    return Speculation(method, k, draft or method, draft, {model.SCHEDULE: schedule} if schedule else {})


def profile(**changes: object) -> Profile:
    base = {
        "targets": [{"step_s": 0.02, "token_s": 0.001, "bend_tokens": 8, "bent_token_s": 0.003}],
        "drafts": [{"match": "*", "step_s": 0.002, "token_s": 0.0001, "acceptance": [0.8, 0.5]}],
    }
    return Profile.model_validate({**base, **changes})


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*weak*", "/models/weak", True),
        ("*weak*", "/models/weak/", True),
        ("*weak*", "/weak/good", False),
        ("/weak/*", "/weak/good", True),
        ("ngram", "ngram", True),
    ],
)
def test_globs_look_at_the_last_part_of_a_path_unless_they_hold_a_slash(pattern: str, name: str, fits: bool) -> None:
    assert model.name_matches(pattern, name) is fits


def test_first_match_counts_and_none_is_an_error() -> None:
    several = profile(drafts=[{"match": "good", "acceptance": [0.9]}, {"match": "g*", "acceptance": [0.1]}])
    assert model.draft_model(several, speculation(2)).acceptance == (0.9,)
    with pytest.raises(EngineNotFound, match="ngram"):
        model.draft_model(several, speculation(2, None, "ngram"))
    with pytest.raises(EngineNotFound, match="'other'"):
        model.target_model(profile(targets=[{"match": "mine"}]), "other")


@pytest.mark.parametrize(("tokens", "time_s"), [(1, 0.02), (5, 0.024), (8, 0.027), (10, 0.033)])
def test_a_pass_is_linear_with_a_bend(tokens: int, time_s: float) -> None:
    assert model.forward_s(profile().targets[0], tokens) == pytest.approx(time_s)


def test_a_pass_is_padded_to_graph_sizes_and_not_beyond_the_largest() -> None:
    target = TargetModel(step_s=1.0, token_s=0.1, pad_to=(1, 4, 8))
    assert [model.forward_s(target, n) for n in (1, 2, 4, 5, 8, 9)] == pytest.approx([1.0, 1.3, 1.3, 1.7, 1.7, 1.8])


def test_proposing_takes_one_pass_a_token_or_one_in_all() -> None:
    chain = DraftModel(match="*", step_s=0.002, token_s=0.0001, overhead_s=0.01, acceptance=(0.5,))
    assert model.propose_s(chain, 4, 3) == pytest.approx(4 * 0.0022 + 0.01)
    assert model.propose_s(chain.model_copy(update={"parallel": True}), 4, 3) == pytest.approx(0.0022 + 0.01)
    assert model.propose_s(chain, 0, 3) == 0.0


def test_step_time_by_hand() -> None:
    given_overhead = profile(
        targets=[{"step_s": 0.02, "token_s": 0.001, "speculative_overhead_s": 0.005}], time_scale=2
    )
    assert model.step_time_s(given_overhead, None, 3) == pytest.approx(2 * 0.022)
    # K = 2, batch 3: a pass over 9 tokens, two draft passes over 3 requests, the overhead.
    assert model.step_time_s(given_overhead, speculation(2), 3) == pytest.approx(2 * (0.028 + 2 * 0.0022 + 0.005))
    # Nobody has a proposal: no draft pass, but the overhead stays.
    assert model.step_time_s(given_overhead, speculation(2), 3, proposing=0) == pytest.approx(2 * (0.022 + 0.005))


def test_k_schedule_by_batch_size() -> None:
    scheduled = speculation(4, schedule=[[1, 4, 8], [8, 16, 2], [17, 99, 0]])
    # 5-7 lie in no range and carry the one before; 8 is cut to K.
    assert [model.effective_k(scheduled, n) for n in (1, 4, 6, 8, 16, 17, 200)] == [4, 4, 4, 2, 2, 0, 0]
    assert model.effective_k(None, 5) == 0
    slow = profile(targets=[{"step_s": 0.02, "schedule_overhead_s": 0.01}])
    assert model.true_tpot_s(slow, scheduled, 20) == pytest.approx(0.03)
    assert model.true_tpot_s(slow, None, 20) == pytest.approx(0.02)


def test_temperature_factor_is_linear_between_points_and_flat_beyond() -> None:
    draft = DraftModel(match="*", acceptance=(0.8,), by_temperature={1.0: 0.5, 0.0: 1.0, 0.5: 0.9})
    factors = [model.temperature_factor(draft, t) for t in (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)]
    assert factors == pytest.approx([1.0, 0.95, 0.9, 0.7, 0.5, 0.5])
    assert model.acceptance(profile(), draft, 2, 1.0) == pytest.approx((0.4, 0.4))


def test_difficulty_shifts_the_logit_of_acceptance() -> None:
    kinds = (PromptKind(name="code", contains=("def ",), logit_shift=1.0, coverage_factor=3.0),)
    known = profile(prompt_kinds=kinds)
    draft = DraftModel(match="*", acceptance=(0.5, 1.0, 0.0), coverage=0.2)
    odds = math.exp(1.0)
    assert model.acceptance(known, draft, 4, prompt="def f():") == pytest.approx((odds / (1 + odds), 1.0, 0.0, 0.0))
    assert model.acceptance(known, draft, 1, prompt="prose") == (0.5,)
    assert model.coverage(known, draft, "def f():") == pytest.approx(0.6)
    assert model.coverage(known, draft.model_copy(update={"coverage": 0.5}), "def f():") == 1.0


def test_prompt_difficulty_has_the_spread_that_was_set() -> None:
    draft = DraftModel(match="*", acceptance=(0.5,), prompt_sd=0.3)
    values = [model.acceptance(profile(), draft, 1, prompt=f"prompt {i}")[0] for i in range(2000)]
    logits = [math.log(p / (1 - p)) for p in values]
    mean = sum(logits) / len(logits)
    assert mean == pytest.approx(0.0, abs=0.03)
    assert math.sqrt(sum((x - mean) ** 2 for x in logits) / len(logits)) == pytest.approx(0.3, rel=0.06)


def test_prompts_fall_into_kinds_by_share() -> None:
    kinds = (PromptKind(name="easy", share=0.3), PromptKind(name="hard", share=0.2))
    names = [model.prompt_kind(profile(prompt_kinds=kinds), f"prompt {i}").name for i in range(4000)]
    assert names.count("easy") / 4000 == pytest.approx(0.3, abs=0.03)
    assert names.count("hard") / 4000 == pytest.approx(0.2, abs=0.03)
    assert names.count("ordinary") / 4000 == pytest.approx(0.5, abs=0.03)


@given(chances, st.floats(0, 1))
def test_tokens_per_step_is_a_distribution_with_the_known_mean(conditional: list[float], covered: float) -> None:
    distribution = model.tokens_per_step(conditional, covered)
    assert len(distribution) == len(conditional) + 1
    assert sum(distribution) == pytest.approx(1.0)
    reached = sum(math.prod(conditional[: i + 1]) for i in range(len(conditional)))
    assert model.mean_tokens(distribution) == pytest.approx(1.0 + covered * reached)


@given(chances, st.integers(1, 60))
def test_expected_steps_lies_between_all_accepted_and_none(conditional: list[float], tokens: int) -> None:
    distribution = model.tokens_per_step(conditional)
    steps = model.expected_steps(distribution, tokens)
    assert math.ceil(tokens / len(distribution)) - 1e-9 <= steps <= tokens + 1e-9
    # A step that overshoots is still a whole step (Wald): tokens / mean is a lower bound.
    assert steps >= tokens / model.mean_tokens(distribution) - 1e-9


def test_expected_steps_by_hand() -> None:
    assert model.expected_steps((1.0,), 7) == pytest.approx(7)
    assert model.expected_steps((0.0, 1.0), 5) == pytest.approx(3)
    # Two tokens: one step if it gives two (1/2), else two.
    assert model.expected_steps((0.5, 0.5), 2) == pytest.approx(1.5)


def test_true_tpot_by_hand() -> None:
    known = profile()
    assert model.true_tpot_s(known, None, 4) == pytest.approx(0.023)
    # K = 2 alone: a pass over 3 tokens and two draft passes for 1 + 0.8 + 0.8 x 0.5 tokens.
    assert model.true_tpot_s(known, speculation(2), 1) == pytest.approx((0.022 + 0.004) / 2.2)
    long = model.true_tpot_s(known, speculation(2), 1, answer_tokens=3000)
    assert long == pytest.approx(0.026 / 2.2, rel=1e-3)
    assert model.true_tpot_s(known, speculation(2), 1, answer_tokens=16) > long


def test_true_tpot_of_ngram_takes_the_mean_over_who_has_a_proposal() -> None:
    known = profile(drafts=[{"match": "ngram", "acceptance": [0.5], "coverage": 0.25}])
    ngram = speculation(1, None, "ngram")
    # Batch of 2: none 9/16, one 6/16, both 1/16 -> 2, 3 or 4 tokens in the pass; 1 + 0.25 x 0.5 tokens a step.
    time_s = (9 * 0.021 + 6 * 0.022 + 1 * 0.023) / 16
    assert model.true_tpot_s(known, ngram, 2) == pytest.approx(time_s / 1.125)


def test_default_profile_keeps_its_promises() -> None:
    default = load_profile()

    def speedup(draft: str | None, k: int, concurrency: int = 1, method: str = "draft_model") -> float:
        spec = speculation(k, draft, method)
        plain = model.true_tpot_s(default, None, concurrency)
        return plain / model.true_tpot_s(default, spec, concurrency)

    good = {k: speedup("demo/good", k) for k in range(1, 9)}
    assert max(good, key=lambda k: good[k]) == 4
    assert good[4] == pytest.approx(1.7, abs=0.05)
    assert all(speedup("demo/weak", k) < 0.95 for k in range(1, 9))
    assert 1.0 < speedup(None, 4, method="ngram") < 1.4
    assert speedup("demo/good", 4, concurrency=64) < 0.9


def test_steady_profile_takes_20_ms_a_token_at_any_concurrency() -> None:
    steady = load_profile("steady")
    assert [model.true_tpot_s(steady, None, n) for n in (1, 64, 256)] == [0.02, 0.02, 0.02]
