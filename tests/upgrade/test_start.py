"""From an artifact to where the next search begins, and what keeps that search open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.built_artifact import Built
from tests.conftest import candidate
from tuner.artifact.figures import MeasuredFigure
from tuner.artifact.writing import dump_best_config
from tuner.compare.tolerances import Tolerances
from tuner.records import Candidate, Goal, LoadPoint, Metric, Sampling, Trial
from tuner.upgrade.last import LastSweep
from tuner.upgrade.start import _length, not_tried, start_from

Make = Callable[..., Trial]
LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
BUSY = LoadPoint(eval_set="chat", concurrency=16, max_tokens=33)
SPACE = tuple(candidate(k) for k in (0, 1, 2, 3, 4))
TOLERANCES = Tolerances(acceptance_length=0.02, speedup=0.05)
DRAFTS: dict[str, dict[str, Any]] = {"good": {"hash": "aa", "of": "content"}}


def last_sweep(built: Built, *loads: LoadPoint, space: tuple[Candidate, ...] = SPACE) -> LastSweep:
    keys = [load.key for load in loads]
    known = {"load_points": keys, "drafts": DRAFTS, "engine_args": {}}
    config = built.config.model_copy(update={"fingerprint": known})
    ks = {"good": tuple(one.k for one in space if one.k)}
    return LastSweep("last", dump_best_config(config), frozenset(one.key for one in space), ks, starts=3)


@pytest.fixture
def pays(make_trial: Make) -> LastSweep:
    tpots = {0: 0.020, 1: 0.015, 2: 0.010, 4: 0.013}
    return last_sweep(Built([make_trial(n, k=k, tpot=t) for n, (k, t) in enumerate(tpots.items())], [LOAD]), LOAD)


def test_the_best_its_neighbours_and_the_widened_intervals(pays: LastSweep) -> None:
    start, why_not = start_from(pays, SPACE, [LOAD], DRAFTS, Goal(), TOLERANCES)
    assert start is not None and (start.open_for, why_not) == ("", "")
    assert [one.k for one in start.candidates(SPACE)] == [2, 1, 3]
    (best,) = start.best
    (result,) = pays.config.answers[0].measured.load_points
    speedup, length = result.figures["speedup_tpot"], result.figures["mean_acceptance_length"]
    assert speedup.low is not None and speedup.high is not None and length.value is not None
    expected = best.loads[LOAD.key]
    assert expected.speedup == pytest.approx((speedup.low / 1.05, speedup.high * 1.05))
    assert expected.length == pytest.approx((length.value / 1.02, length.value * 1.02))
    assert best.pays and best.candidate == candidate(2)


def test_below_a_concurrency_only_what_lies_below_counts(make_trial: Make) -> None:
    def tpot(k: int) -> Callable[[LoadPoint, int, int], float]:
        return lambda load, i, r: 0.020 if not k else 0.010 if load.concurrency == 1 else 0.024

    loads = [LOAD, BUSY]
    last = last_sweep(Built([make_trial(k, k=k, loads=loads, tpot=tpot(k)) for k in (0, 2)], loads), *loads)
    assert last.config.answers[0].recommended.limit is not None
    start, _ = start_from(last, SPACE, loads, DRAFTS, Goal())
    assert start is not None
    assert set(start.best[0].loads) == {LOAD.key}


def test_where_nothing_paid_the_nearest_k_is_asked_again(make_trial: Make) -> None:
    tpots = {0: 0.010, 1: 0.012, 3: 0.011, 4: 0.020}
    last = last_sweep(Built([make_trial(n, k=k, tpot=t) for n, (k, t) in enumerate(tpots.items())], [LOAD]), LOAD)
    assert last.config.verdict.value == "do_not"
    start, _ = start_from(last, SPACE, [LOAD], DRAFTS, Goal(), TOLERANCES)
    assert start is not None
    (best,) = start.best
    assert (best.candidate, best.pays) == (candidate(3), False)
    low, high = best.loads[LOAD.key].speedup or (0.0, 0.0)
    assert low < 10 / 11 < high


def test_no_start_from_what_says_nothing(pays: LastSweep) -> None:
    assert start_from(pays, SPACE, [LOAD, BUSY], DRAFTS, Goal()) == (None, "it has other load points")
    assert start_from(pays, SPACE[:2], [LOAD], DRAFTS, Goal()) == (None, "its best is not among the candidates")


def test_an_inconclusive_answer_is_no_start(make_trial: Make) -> None:
    noisy = make_trial(1, k=2, tpot=lambda load, i, r: 0.02 * (1 + 0.8 * (i % 2 * 2 - 1)))
    last = last_sweep(Built([make_trial(0), noisy], [LOAD]), LOAD)
    assert last.config.verdict.value == "inconclusive"
    assert start_from(last, SPACE, [LOAD], DRAFTS, Goal()) == (None, "its answer was inconclusive")


@pytest.mark.parametrize(
    ("space", "drafts", "goal", "words"),
    [
        (SPACE, DRAFTS, Goal(), ""),
        ((*SPACE, candidate(5)), DRAFTS, Goal(), "the last sweep could not measure good K=5"),
        ((*SPACE, candidate(2, "new")), DRAFTS, Goal(), "the last sweep could not measure new K=2"),
        (SPACE, {**DRAFTS, "weak": {"hash": "bb"}}, Goal(), "the content of weak is another"),
        (SPACE, {"good": {"hash": "bb"}}, Goal(), ""),  # the best's own: its acceptance will tell
        (SPACE, DRAFTS, Goal(Metric.THROUGHPUT), "the last sweep had another objective"),
    ],
)
def test_what_the_last_sweep_could_not_find_keeps_the_search_open(
    pays: LastSweep, space: tuple[Candidate, ...], drafts: dict[str, dict[str, Any]], goal: Goal, words: str
) -> None:
    start, _ = start_from(pays, space, [LOAD], drafts, goal)
    assert start is not None
    assert start.open_for.startswith(words) and bool(start.open_for) == bool(words)


def test_a_model_that_lies_elsewhere_now_is_known_by_the_drafts_name(pays: LastSweep) -> None:
    def moved(one: Candidate) -> Candidate:
        return replace(one, speculation=replace(one.speculation, draft="/elsewhere")) if one.speculation else one

    space = tuple(map(moved, SPACE))
    start, _ = start_from(pays, space, [LOAD], DRAFTS, Goal())
    assert start is not None and start.open_for == ""
    assert not_tried(pays, space) == []
    larger = Candidate({"max_num_seqs": 4}, space[1].speculation)
    assert not_tried(pays, (*space, larger)) == [one.label for one in (*space[1:], larger)]


def test_a_sampled_length_may_differ_by_chance() -> None:
    figure = MeasuredFigure(value=2.0, unit="tokens/draft", estimator="1 + A/D", n=100, n_of="drafts")
    # Half of all drafts accept both tokens, half none: N is 0 or 2, its variance 1, and sqrt(1/100 + 1/100) = 0.1414.
    low, high = _length(figure, [0.5, 0.5], 0.02, 1, sampled=True) or (0.0, 0.0)
    assert (low, high) == pytest.approx((2.0 / 1.02 - 0.2828, 2.04 + 0.2828), abs=1e-4)
    assert _length(figure, [0.5, 0.5], 0.02, 1, sampled=False) == pytest.approx((2.0 / 1.02, 2.04))
    assert _length(None, [], 0.02, 1, sampled=True) is None


def test_real_artifacts_of_older_releases_are_read(make_manifest: Any) -> None:
    artifacts = Path(__file__).parents[1] / "golden" / "artifacts"
    last = LastSweep("old", (artifacts / "v1-h200-7b.yaml").read_text())
    start, why_not = start_from(last, SPACE, [LOAD], DRAFTS, Goal())
    assert (start, why_not) == (None, "it has other load points")


def test_the_temperature_is_part_of_the_load_point(pays: LastSweep) -> None:
    warm = replace(LOAD, sampling=Sampling(temperature=0.7))
    assert start_from(pays, SPACE, [warm], DRAFTS, Goal())[0] is None
