"""Whether an engine drafts as its schedule says: counters against batches that are known by construction."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tuner.analysis.k_schedule import with_schedule
from tuner.analysis.life import LoadView
from tuner.analysis.schedule_obeyed import Drafted, drafted
from tuner.records import Candidate, Counters, LoadMeasurement, LoadPoint, Repeat, RequestSample, Speculation

LOAD = LoadPoint(eval_set="chat", concurrency=4, max_tokens=11)


def candidate(*schedule: tuple[int, int, int], method: str = "draft_model") -> Candidate:
    spec = Speculation(method, 5, "good", "/models/good")
    return with_schedule(Candidate(speculation=spec), spec, schedule)


def request(index: int, sent_s: float, chunks: int) -> RequestSample:
    """Return a request whose chunks come every second, the first one half a second after it was sent."""
    times = tuple(sent_s + 0.5 + i for i in range(chunks))
    return RequestSample(
        LOAD.key, 0, index, f"p{index}", "c", sent_s, times[0], times[-1], 5, chunks, "length", chunk_times_s=times
    )


def view(samples: Sequence[RequestSample], steps: int | None, draft_tokens: int | None) -> LoadView:
    counters = Counters(1, 1, len(samples), decode_steps=steps, drafts=steps, draft_tokens=draft_tokens)
    repeat = Repeat(0, 10.0, counters, len(samples), 0)
    return LoadView(LoadMeasurement(LOAD, (repeat,), 0.0), (repeat,), tuple(samples))


def at_once(*lengths: int) -> list[RequestSample]:
    """Return requests that were all sent at 0, with so many chunks."""
    return [request(i, 0.0, chunks) for i, chunks in enumerate(lengths)]


SMALL_THEN_LARGE = ((1, 2, 5), (3, 4, 1))


def test_a_full_batch_all_the_time_drafts_its_own_k() -> None:
    found = drafted(candidate(*SMALL_THEN_LARGE), [view(at_once(11, 11, 11, 11), steps=40, draft_tokens=40)])
    assert found == Drafted(1.0, 1.0, 1.0, 40)
    assert found.obeyed


def test_the_k_of_another_batch_size_is_not_obeyed() -> None:
    found = drafted(candidate(*SMALL_THEN_LARGE), [view(at_once(11, 11, 11, 11), steps=40, draft_tokens=200)])
    assert found is not None
    assert not found.obeyed


def test_a_tail_explains_the_k_of_smaller_batches() -> None:
    """Four requests of 3 chunks, two go on alone to 11: of 20 steps 12 are of four, 8 of two (give or take the lag)."""
    samples = at_once(3, 3, 11, 11)
    found = drafted(candidate(*SMALL_THEN_LARGE), [view(samples, steps=24, draft_tokens=8 * 1 + 16 * 5)])
    assert found is not None
    assert found.low <= 88 / 24 <= found.high
    assert (found.low, found.high) == pytest.approx(((10 * 1 + 14 * 5) / 24, (8 * 1 + 16 * 5) / 24), abs=0.35)
    assert found.obeyed


def test_at_k_0_no_drafts_are_expected_and_any_are_found() -> None:
    off = candidate((1, 2, 5), (3, 4, 0))
    full = at_once(11, 11, 11, 11)
    quiet, noisy = (drafted(off, [view(full, steps=40, draft_tokens=tokens)]) for tokens in (0, 20))
    assert quiet is not None and noisy is not None
    assert (quiet.high, quiet.obeyed, noisy.obeyed) == (0.0, True, False)


def test_an_engine_that_never_drafts_does_not_obey_a_schedule_that_asks_for_it() -> None:
    found = drafted(candidate(*SMALL_THEN_LARGE), [view(at_once(11, 11, 11, 11), steps=40, draft_tokens=0)])
    assert found is not None
    assert not found.obeyed


def test_n_gram_may_draft_less_and_not_more() -> None:
    lookup = candidate(*SMALL_THEN_LARGE, method="ngram")
    full = at_once(11, 11, 11, 11)
    less, more = (drafted(lookup, [view(full, steps=40, draft_tokens=tokens)]) for tokens in (3, 60))
    assert less is not None and more is not None
    assert (less.obeyed, more.obeyed) == (True, False)


def test_a_request_that_takes_the_place_of_another_leaves_the_batch_smaller_for_a_moment() -> None:
    """Three in flight, for a second two: either K is right around it, and only there."""
    samples = [request(0, 0.0, 11), request(1, 0.0, 11), request(2, 0.0, 4), request(3, 4.5, 6)]
    found = drafted(candidate(*SMALL_THEN_LARGE), [view(samples, steps=28, draft_tokens=28)])
    assert found is not None
    assert found.low == 1.0
    assert 1.0 < found.high < 5.0
    assert found.obeyed


@pytest.mark.parametrize(("steps", "tokens"), [(None, 40), (40, None), (0, 0)])
def test_without_counters_nothing_is_said(steps: int | None, tokens: int | None) -> None:
    assert drafted(candidate(*SMALL_THEN_LARGE), [view(at_once(11), steps, tokens)]) is None
