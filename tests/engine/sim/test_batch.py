from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from typing import Any

import pytest

from tuner.engine.sim import batch as batch_module
from tuner.engine.sim import model
from tuner.engine.sim.profile import Profile
from tuner.records import Speculation

SPEC = Speculation("draft_model", 3, "good", "good")
InVirtualTime = Callable[[Callable[[], Any]], Any]
Make = Callable[..., Any]


def profile(**changes: object) -> Profile:
    base = {
        "targets": [{"step_s": 0.02, "token_s": 0.001}],
        "drafts": [{"match": "*", "step_s": 0.002, "acceptance": [0.8, 0.6]}],
        "prefill": {"base_s": 0.05},
    }
    return Profile.model_validate({**base, **changes})


def serve(in_virtual_time: InVirtualTime, engine: Any, jobs: list[Any], gap_s: float = 0.0) -> Any:
    async def main() -> Any:
        served = []
        for job in jobs:
            served.append(engine.submit(job))
            if gap_s:
                engine.start()
                await asyncio.sleep(gap_s)
        await engine.until_done(served)
        return served

    return in_virtual_time(main)


def test_one_request_takes_prefill_and_a_step_a_token(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    (served,) = serve(in_virtual_time, make_engine(profile()), [make_job(max_tokens=5)])
    assert [time for time, _ in served.chunks] == pytest.approx([0.05, 0.07, 0.09, 0.11, 0.13])
    assert [len(tokens) for _, tokens in served.chunks] == [1, 1, 1, 1, 1]
    assert served.reason == "length"
    assert served.token_ids == served.work.answer.token_ids


@pytest.mark.parametrize(("spec", "concurrency"), [(None, 1), (None, 8), (SPEC, 1), (SPEC, 8)])
def test_measured_tpot_is_the_true_one(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make, spec: Speculation | None, concurrency: int
) -> None:
    tpots = []
    for round_ in range(40 // concurrency if spec else 1):
        jobs = [make_job(f"prompt {round_} {i}", max_tokens=400) for i in range(concurrency)]
        served = serve(in_virtual_time, make_engine(profile(), spec), jobs)
        # Only the first to finish had a full batch throughout; alone everybody has.
        full = [min(served, key=lambda one: one.chunks[-1][0])] if concurrency == 1 or spec is None else []
        tpots += [one.tpot_s for one in full]
        if not full:
            tpots.append(_tpot_of_full_batch(served))
    truth = model.true_tpot_s(profile(), spec, concurrency, answer_tokens=400 if concurrency == 1 else None)
    assert statistics.fmean(tpots) == pytest.approx(truth, rel=0.01 if spec else 1e-6)


def _tpot_of_full_batch(served: list[Any]) -> float:
    end = min(one.chunks[-1][0] for one in served)
    tokens = sum(len(ids) for one in served for time, ids in one.chunks[1:] if time <= end)
    begin = served[0].chunks[0][0]
    return float((end - begin) * len(served) / tokens)


def test_counters_keep_the_identities(in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make) -> None:
    engine = make_engine(profile(drafts=[{"match": "*", "acceptance": [0.8, 0.6], "coverage": 0.6}]), SPEC)
    jobs = [make_job(f"prompt {i}", max_tokens=40 + i) for i in range(12)]
    served = serve(in_virtual_time, engine, jobs)
    c = engine.counters
    assert sum(c.accepted_per_pos) == c.accepted_tokens <= c.draft_tokens == 3 * c.drafts
    assert c.generation_tokens == sum(job.max_tokens for job in jobs)
    assert c.prompt_tokens == sum(job.prompt_tokens for job in jobs)
    assert c.finished["length"] == 12
    steps = sum(len(one.chunks) - 1 for one in served)
    assert sum(c.inter_token.counts) == steps > c.drafts > 0.5 * steps
    assert (c.running, c.waiting, c.kv_usage) == (0, 0, 0.0)


def test_accepted_tokens_cut_by_the_limit_are_counted(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    engine = make_engine(profile(drafts=[{"match": "*", "acceptance": [1.0]}]), SPEC)
    (served,) = serve(in_virtual_time, engine, [make_job(max_tokens=3)])
    assert [len(tokens) for _, tokens in served.chunks] == [1, 2]
    assert (engine.counters.accepted_tokens, engine.counters.generation_tokens) == (3, 3)


def test_late_comers_join_at_the_end_of_a_step(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    engine = make_engine(profile(prefill={"base_s": 0.005}, targets=[{"step_s": 0.02}]))
    first, late = serve(
        in_virtual_time, engine, [make_job("a", max_tokens=10), make_job("b", max_tokens=3)], gap_s=0.03
    )
    # Steps end at 0.005 + n x 0.02; the second is ready at 0.035 and gets its first token at 0.045.
    assert [time + 0.03 for time, _ in late.chunks] == pytest.approx([0.045, 0.065, 0.085])
    assert first.tpot_s == pytest.approx(0.02)


def test_prefills_stall_the_batch_as_far_as_set(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    stalling = profile(prefill={"base_s": 0.03, "stalls": 0.5}, targets=[{"step_s": 0.02}])
    jobs = [make_job("a", max_tokens=10), make_job("b", max_tokens=2)]
    first, _ = serve(in_virtual_time, make_engine(stalling), jobs, gap_s=0.06)
    assert first.chunks[-1][0] == pytest.approx(0.03 + 9 * 0.02 + 0.015)


def test_more_than_fit_wait_their_turn(in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make) -> None:
    jobs = [make_job(f"{i}", max_tokens=5) for i in range(3)]
    served = serve(in_virtual_time, make_engine(profile(), max_num_seqs=2), jobs)
    last = served[2].chunks[0][0]
    assert last == pytest.approx(served[0].chunks[-1][0] + 0.05)
    assert all(one.token_ids == one.work.answer.token_ids for one in served)


def test_a_full_cache_preempts_and_everybody_is_served(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    engine = make_engine(profile(), SPEC, kv_tokens=100)
    served = serve(in_virtual_time, engine, [make_job(f"{i}", max_tokens=60) for i in range(4)])
    assert engine.counters.preemptions > 0
    assert all(one.token_ids == one.work.answer.token_ids for one in served)
    # A resumed request goes on where it was: no second first token.
    assert sum(engine.counters.first_token.counts) == 4
    roomy = make_engine(profile(), SPEC, kv_tokens=1000)
    serve(in_virtual_time, roomy, [make_job(f"{i}", max_tokens=60) for i in range(4)])
    assert roomy.counters.preemptions == 0


def test_a_known_prompt_needs_no_prefill_unless_the_salt_is_fresh(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    slow = profile(prefill={"base_s": 0.01, "token_s": 0.1})

    def ttfts(*salts: str, **limits: object) -> list[float]:
        engine = make_engine(slow, **limits)
        jobs = [make_job("two words", max_tokens=2, cache_salt=salt) for salt in salts]
        return [one.chunks[0][0] for one in serve(in_virtual_time, engine, jobs, gap_s=1.0)]

    assert ttfts("a", "a", "b") == pytest.approx([0.21, 0.01, 0.21])
    assert ttfts("a", "a", prefix_caching=False) == pytest.approx([0.21, 0.21])


def test_whoever_leaves_is_forgotten(in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make) -> None:
    engine = make_engine(profile())

    async def main() -> None:
        gone, stays = engine.submit(make_job("a", max_tokens=1000)), engine.submit(make_job("b", max_tokens=10))
        engine.start()
        await asyncio.sleep(0.1)
        engine.batch.abort(gone.work)
        await engine.until_done([stays])
        assert len(gone.token_ids) < 10
        engine.batch.abort(stays.work)

    in_virtual_time(main)
    assert engine.counters.finished == {"stop": 0, "length": 1, "abort": 1, "error": 0, "repetition": 0}
    assert engine.counters.running == 0


def test_repeat_noise_slows_the_step_by_its_salt(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    engine = make_engine(profile(noise={"repeat_sd": 0.05}))
    jobs = [make_job("a", cache_salt=f"{i}") for i in range(3)]
    tpots = [one.tpot_s for one in serve(in_virtual_time, engine, jobs, gap_s=10.0)]
    assert tpots == pytest.approx([0.02 * engine.workshop.repeat_factor(f"{i}") for i in range(3)])
    assert len(set(tpots)) == 3


def test_a_hang_stops_everything_at_its_token(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make
) -> None:
    engine = make_engine(profile(faults=[{"kind": "hang", "at_token": 4}]))

    async def main() -> int:
        served = engine.submit(make_job(max_tokens=20))
        served.work.trap = engine.faults.of_life("hang")
        await engine.until_done([served], at_most_s=100.0)
        return len(served.token_ids)

    assert in_virtual_time(main) == 4


def test_a_pass_with_too_many_tokens_runs_out_of_memory(
    in_virtual_time: InVirtualTime, make_engine: Make, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(Exception):
        pass

    def die(fault: Any, message: str | None = None) -> None:
        raise Died(message)

    monkeypatch.setattr(batch_module, "die", die)
    limited = profile(faults=[{"kind": "out_of_memory", "at_token": 7}])
    serve(in_virtual_time, make_engine(limited, SPEC), [make_job()])
    with pytest.raises(Died, match="CUDA out of memory"):
        serve(in_virtual_time, make_engine(limited, SPEC), [make_job("a"), make_job("b")])
