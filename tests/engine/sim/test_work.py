from __future__ import annotations

from collections.abc import Callable

import pytest

from tuner.engine.sim.profile import NearTies, Profile
from tuner.engine.sim.work import Job, Work, Workshop
from tuner.records import Speculation

PROFILE = Profile.model_validate({"drafts": [{"match": "*", "acceptance": [0.8, 0.7, 0.6], "coverage": 0.7}]})
MakeJob = Callable[..., Job]


def make(job: Job, k: int = 0, **changes: object) -> Work:
    spec = Speculation("draft_model", k, "good", "good") if k else None
    return Workshop(PROFILE, "target", spec).make(job, lambda _tokens, _reason: None, **changes)  # type: ignore[arg-type]


def run(work: Work, k: int) -> list[int]:
    """Return the tokens that each step gives, after the first token."""
    work.take(1)
    steps = []
    while not work.finished:
        steps.append(len(work.take(1 + (work.accepted(k) if work.has_proposal() else 0))))
    return steps


def test_speculation_is_lossless_at_temperature_0(make_job: MakeJob) -> None:
    job = make_job(max_tokens=200)
    plain = make(job).answer
    assert plain == make(job, 1).answer == make(job, 8).answer
    assert plain != make(make_job("another prompt", max_tokens=200)).answer


def test_a_smaller_k_accepts_what_a_larger_one_would_have(make_job: MakeJob) -> None:
    job = make_job(max_tokens=400)
    large, small = make(job, 8), make(job, 3)
    for position in range(1, 399):
        large.position = small.position = position
        assert small.accepted(3) == min(3, large.accepted(8))
        assert small.has_proposal() == large.has_proposal()


def test_steps_repeat_exactly_at_temperature_0_and_not_above(make_job: MakeJob) -> None:
    cold, other_salt = make_job(max_tokens=100), make_job(max_tokens=100, cache_salt="other")
    assert run(make(cold, 4), 4) == run(make(other_salt, 4), 4)
    warm, other_salt = (
        make_job(max_tokens=100, temperature=1.0),
        make_job(max_tokens=100, temperature=1.0, cache_salt="b"),
    )
    assert run(make(warm, 4), 4) != run(make(other_salt, 4), 4)


def test_sampled_answers_follow_the_seed_and_differ_with_speculation(make_job: MakeJob) -> None:
    warm = make_job(temperature=0.7, seed=3)
    assert make(warm).answer == make(warm).answer
    assert make(warm).answer != make(make_job(temperature=0.7, seed=4)).answer
    assert make(warm).answer != make(warm, 4).answer
    unseeded = make_job(temperature=0.7, seed=None)
    assert make(unseeded).answer != make(unseeded).answer


def test_acceptance_and_coverage_come_out_as_set(make_job: MakeJob) -> None:
    works = [make(make_job(f"prompt {i}", max_tokens=300), 3) for i in range(40)]
    accepted = [work.accept_draws[i] for work in works for i in range(300)]
    assert sum(draw < 0.8 for draw in accepted) / len(accepted) == pytest.approx(0.8, abs=0.015)
    assert works[0].conditional == (0.8, 0.7, 0.6)
    covered = [draw < work.covered for work in works for draw in work.cover_draws]
    assert sum(covered) / len(covered) == pytest.approx(0.7, abs=0.015)


def test_the_answer_ends_where_it_should_even_if_more_is_accepted(make_job: MakeJob) -> None:
    work = make(make_job(max_tokens=3), 3)
    work.accept_draws, work.cover_draws = [0.0] * 9, [0.0] * 9
    assert run(work, 3) == [2]


def test_faulty_answers(make_job: MakeJob) -> None:
    job = make_job(max_tokens=50)
    right, wrong = make(job).answer.token_ids, make(job, differs_from=20).answer.token_ids
    assert right[:20] == wrong[:20]
    assert sum(a == b for a, b in zip(right[20:], wrong[20:], strict=True)) < 5
    assert set(make(job, degenerate=True).answer.token_ids) == {right[0]}


def test_context_grows_with_the_answer(make_job: MakeJob) -> None:
    work = make(make_job("one two three"))
    work.take(5)
    assert work.context_tokens == 8


TIED = PROFILE.model_copy(update={"near_ties": NearTies(rate=0.1, gap=0.1, speculative_flips=0.5, crowded_flips=0.5)})


def tied(job: Job, k: int = 0, crowded: bool = False) -> tuple[int, ...]:
    spec = Speculation("draft_model", k, "good", "good") if k else None
    workshop = Workshop(TIED, "target", spec)
    return workshop.make(job, lambda _tokens, _reason: None, crowded=crowded).answer.token_ids


def first_difference(one: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), None)


def test_gaps_are_small_at_near_ties_alone_and_the_prompts_own(make_job: MakeJob) -> None:
    workshop = Workshop(TIED, "target", None)
    gaps = [gap for i in range(40) for gap in workshop.top2_gaps(make_job(f"prompt {i}"), 50)]
    assert set(gaps) == {0.1, 3.0}
    assert gaps.count(0.1) / len(gaps) == pytest.approx(0.1, abs=0.03)
    assert workshop.top2_gaps(make_job("one"), 50) == workshop.top2_gaps(make_job("one"), 80)[:50]


def test_speculation_and_company_flip_an_answer_only_at_a_near_tie(make_job: MakeJob) -> None:
    ways = {"speculation": {"k": 4}, "company": {"crowded": True}}
    for way in ways.values():
        flips = []
        for i in range(40):
            job = make_job(f"prompt {i}", max_tokens=20)
            at = first_difference(tied(job), tied(job, **way))  # type: ignore[arg-type]
            if at is not None:
                flips.append(Workshop(TIED, "target", None).top2_gaps(job, 20)[at])
        assert set(flips) == {0.1}
        assert 10 < len(flips) < 40
    job = make_job("always", max_tokens=200)
    assert tied(job) == tied(job)
    assert tied(job, 4) == tied(job, 4)


def test_shifted_samples_are_the_same_up_to_there_and_colder_behind(make_job: MakeJob) -> None:
    jobs = [make_job(f"prompt {i}", max_tokens=60, temperature=1.0, seed=i) for i in range(30)]
    greedy = [make(make_job(job.prompt, max_tokens=60)).answer.token_ids for job in jobs]
    honest = [make(job).answer.token_ids for job in jobs]
    shifted = [make(job, shifted_from=20).answer.token_ids for job in jobs]
    assert [tokens[:20] for tokens in honest] == [tokens[:20] for tokens in shifted]

    def like_greedy(answers: list[tuple[int, ...]]) -> float:
        return sum(a == b for x, y in zip(answers, greedy, strict=True) for a, b in zip(x[20:], y[20:], strict=True))

    assert like_greedy(shifted) > 1.2 * like_greedy(honest)
