"""The benchmark of searches itself: its truth, its noise, its rules and its scores, by hand where they can be."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.searchbench.__main__ import DOCUMENT, bench, main, simulated_result
from tests.searchbench.by_hand import PEAK, SILENT, surface
from tests.searchbench.lineup import run
from tests.searchbench.lives import START_S, Noise, life_s, live
from tests.searchbench.page import PAGE, filled
from tests.searchbench.plain import Grid
from tests.searchbench.predictions import held_out
from tests.searchbench.published import TABLES, published
from tests.searchbench.recorded import DATA, recorded, surface_of
from tests.searchbench.replay import Told, search, told
from tests.searchbench.scores import all_figures, bars, paired_regrets
from tests.searchbench.simulated import K_MAX, KINDS, rough, simulated
from tests.searchbench.steps import log_growth, runs_at, told_growth, walk
from tests.searchbench.strategy import ranked, ranked_by
from tests.searchbench.surfaces import BASELINE, candidate, load_point
from tuner.engine.sim.model import mean_tokens, tokens_per_step, true_tpot_s
from tuner.engine.sim.profile import DraftModel, Profile, TargetModel
from tuner.records import GrowthSource

FOUND = Told("a", "simulated", ("bend",), 0.0, 2, 7, 10, 100.0, 300.0, 0.001, 0.001, 0.0, 3)


# --- truth ------------------------------------------------------------------------------------------------------------


def test_steps_by_hand() -> None:
    draws = np.asarray([[0.0, 0.1, 0.9, 0.1, 0.1, 0.1, 0.1, 0.9, 0.9]])
    runs = runs_at(np.full((1, 3), 0.5), draws)
    assert runs.tolist() == [[2, 1, 0, 3, 3, 2]]
    # Token 0 is the prefill's; from token 1: one accepted and one more (3), all three and one more (7).
    assert walk(runs, 3, tokens=6) == [[1, 3]]
    assert walk(runs, 1, tokens=6) == [[1, 1, 1]]
    assert log_growth([[1, 3]], tokens=6) == pytest.approx(math.log(5 / 2))


def test_long_walks_take_what_the_simulated_engine_says() -> None:
    draft = DraftModel(match="*", step_s=0.002, acceptance=(0.8, 0.7, 0.9))
    profile = Profile(
        targets=(TargetModel(step_s=0.02, token_s=0.0001, speculative_overhead_s=0.001),), drafts=(draft,)
    )
    given = (0.8, 0.7, 0.9, 0.9)
    random = np.random.default_rng(1)
    runs = runs_at(np.tile(given, (40, 1)), random.random((40, 4004)))
    grown = log_growth(walk(runs, 4, tokens=4000), tokens=4000)
    assert grown == pytest.approx(math.log(mean_tokens(tokens_per_step(given))), abs=0.005)
    spec = candidate("any", 4).speculation
    step_s = 0.02 + 0.0001 * 4 + 0.001 + 4 * 0.002
    assert math.log(step_s) - grown == pytest.approx(math.log(true_tpot_s(profile, spec, 1)), abs=0.005)


def test_a_surface_tells_what_its_engine_does() -> None:
    surfaces = [simulated(number, 5) for number in (0, 3, 30)]
    for one in surfaces:
        again = simulated(int(one.name.split("-")[2]), 5)
        assert (one.arms, one.loads, one.seed) == (again.arms, again.loads, again.seed)
        assert all(one.regret(key) >= 0.0 for key in one.arms if one.arms[key].fits)
        for draft in one.drafts:
            arms = [one.arms[candidate(draft, k).key] for k in range(1, K_MAX + 1)]
            told_at_most = arms[-1].growth.logs
            for arm, log in zip(arms, told_at_most, strict=True):
                assert log == pytest.approx(arm.log_growth, abs=0.04)
            assert sorted(told_at_most) == list(told_at_most)
    assert {kind for one in surfaces for kind in one.tags[:1]} == {"geometric", "mixture", "cliff"}


def test_the_family_has_what_it_promises() -> None:
    few = [simulated(number, 1) for number in range(0, len(KINDS), 2)]
    loads = [load.concurrency for one in few for load in one.loads]
    assert min(loads) == 1
    assert max(loads) >= 128
    best = [max(one.k, key=lambda key: one.true_logs[key]) for one in few]
    assert len({one.k[key] for one, key in zip(few, best, strict=True)}) >= 4
    assert any(not arm.fits for one in few for arm in one.arms.values())


def test_rough_surfaces_stray_from_the_formula_and_nothing_else() -> None:
    smooth, stray = simulated(1, 6), rough(1, 6)
    assert stray.loads == smooth.loads
    assert stray.arms[BASELINE.key] == smooth.arms[BASELINE.key]
    off = [
        stray.arms[c.key].log_tpot[load.key] - smooth.arms[c.key].log_tpot[load.key]
        for c in smooth.candidates
        for load in smooth.loads
    ]
    assert 0.005 < np.median(np.abs(off)) < 0.06
    assert min(off) > -0.08
    assert [stray.arms[c.key].growth for c in smooth.candidates] == [
        smooth.arms[c.key].growth for c in smooth.candidates
    ]


# --- noise ------------------------------------------------------------------------------------------------------------


def test_lives_differ_by_what_they_are_told_to() -> None:
    noisy, load = replace(PEAK, repeat_sd=0.02), PEAK.loads[0].key
    one = noisy.candidates[2]
    true = noisy.arms[one.key].log_tpot[load]
    still = [live(noisy, one, SILENT, life).loads[load] for life in range(400)]
    far = [live(noisy, one, Noise(0.15), life).loads[load] for life in range(400)]
    # The median of three repeats has 0.67 of the SD of one.
    assert np.std([seen.log_tpot - true for seen in still]) == pytest.approx(0.0134, rel=0.15)
    assert np.mean([(seen.se or 0) ** 2 for seen in still]) ** 0.5 == pytest.approx(0.0134, rel=0.15)
    assert np.std([seen.log_tpot - true for seen in far]) == pytest.approx(0.15, rel=0.15)
    plain = [live(noisy, BASELINE, Noise(0.15), life).loads[load].log_tpot for life in range(400)]
    assert np.std(plain) == pytest.approx(0.0134, rel=0.15)
    assert live(noisy, one, Noise(0.15), 3) == live(noisy, one, Noise(0.15), 3)
    assert live(noisy, one, Noise(0.15, seed=1), 3) != live(noisy, one, Noise(0.15), 3)


def test_what_a_life_takes() -> None:
    # 12 prompts at concurrency 1 in three repeats, two requests of warm-up, 128 tokens each at 10 ms.
    assert life_s(PEAK, BASELINE.key) == pytest.approx(START_S + (3 * 12 + 2) * 128 * 0.01)
    assert life_s(surface({"a": {1: 2.0}}), candidate("a", 1).key) == pytest.approx(START_S + 38 * 128 * 0.005)


# --- choice and figures -----------------------------------------------------------------------------------------------


def test_the_choice_takes_the_smaller_k_in_a_tie_and_none_where_nothing_is_faster() -> None:
    k = {"none": 0, "one": 1, "two": 2, "three": 3}
    gains = {"none": 0.0, "one": 0.20, "two": 0.204, "three": 0.19}
    exact, rough = dict.fromkeys(k, 0.0), dict.fromkeys(k, 0.1)
    assert ranked_by(gains, exact, k) == ["two", "one", "three", "none"]
    assert ranked_by(gains, rough, k) == ["one", "two", "three", "none"]
    assert ranked_by({**gains, "two": 0.21}, rough, k)[0] == "two"  # more than the tie is worth
    assert ranked_by({key: -gain for key, gain in gains.items()}, rough, k)[0] == "none"


def test_regret_starts_and_seconds_of_one_search() -> None:
    found = told(PEAK, search(PEAK, Grid(PEAK), SILENT, 3), ranked, SILENT, equal=2)
    assert (found.starts, found.k) == (3, 2)
    assert found.regret == pytest.approx(math.log(1.6 / 1.4))
    assert found.regret_equal == pytest.approx(math.log(1.6 / 1.2))
    assert found.regret_confirmed == found.regret
    keys = [candidate("a", k).key for k in (1, 2)]
    assert found.locate_s == pytest.approx(life_s(PEAK, BASELINE.key) + sum(life_s(PEAK, key) for key in keys))
    # K = 1 is far behind and leaves after one round; four lives of K = 2 and of the baseline, which closes the search.
    fresh = 5 * life_s(PEAK, BASELINE.key) + life_s(PEAK, keys[0]) + 4 * life_s(PEAK, keys[1])
    assert found.confirm_starts == 10
    assert found.confirm_s == pytest.approx(fresh)


def test_confident_wrong_answers_are_counted() -> None:
    slow, noise = surface({"a": {1: 0.97, 2: 0.9}}), Noise(0.0)
    assert not told(slow, search(slow, Grid(slow), noise), ranked, noise, 9).slowdown
    many = [told(slow, search(slow, Grid(slow), n), ranked, n, 9) for n in (Noise(0.3, seed) for seed in range(300))]
    assert 0 < sum(one.slowdown for one in many) < 30
    assert 0 < sum(one.behind for one in many) < 30


def test_bars_by_hand() -> None:
    grid = replace(FOUND, starts=17, locate_s=1000.0, regret_equal=0.05)
    good = replace(FOUND, growth_errors=(0.001, 0.002), speedup_errors=(0.01, 0.03))
    met = bars({"guided": [good], "grid": [grid]})
    assert met == dict.fromkeys(met, True)
    figures = all_figures({"guided": [good], "grid": [grid]})["guided"]
    assert figures["starts_per_draft_mean"] == 3.5
    assert figures["engine_seconds_vs_grid"] == 0.1
    assert figures["engine_seconds_vs_grid_confirmed"] == pytest.approx(400 / 1300, abs=1e-3)
    for name, worse in {
        "regret_median": replace(good, regret=0.006),
        "regret_p95": replace(good, regret=0.03),
        "starts_per_draft": replace(good, starts=9),
        "engine_seconds_vs_grid_confirmed": replace(good, locate_s=600.0),
        "growth_error_p95": replace(good, growth_errors=(0.04,)),
        "growth_error_median": replace(good, growth_errors=(0.04,)),
        "speedup_error_p95": replace(good, speedup_errors=(0.01, 0.01, 0.01, 0.07)),
        "speedup_error_median": replace(good, speedup_errors=(0.06,)),
        "told_as_figures": replace(good, rough_errors=(0.1,)),
        "ranges_hold": replace(good, speedup_errors=(0.01,) * 9, rough_errors=(0.1,), ranges_missed=1),
        "beats_grid": replace(good, regret=0.06),
        "confident_wrong_answers": replace(good, slowdown=True),
    }.items():
        assert not bars({"guided": [worse], "grid": [grid]})[name], name
    assert paired_regrets([good], [grid, replace(grid, surface="b", regret_equal=9.0)]) == (0.001, 0.05)


# --- other surfaces ---------------------------------------------------------------------------------------------------


def test_published_surfaces_say_what_their_tables_say() -> None:
    by_name = {one.name: one for one in published()}
    assert len(by_name) == len(TABLES) >= 3
    assert all(table.source.startswith("https://") for table in TABLES)
    eagle = by_name["published-eagle-llama-8b"]
    assert math.exp(eagle.true_logs[candidate("eagle3", 4, "eagle3").key]) == pytest.approx(7.07 / 4.05)
    assert eagle.regret(candidate("eagle3", 4, "eagle3").key) == 0.0
    assert eagle.arms[candidate("eagle1", 3, "eagle3").key].growth.logs[1:] == pytest.approx(
        [math.log(2.1), math.log(2.29)]
    )
    assert by_name["published-mtp-qwen-27b-imp"].true_best == 0.0
    sglang = by_name["published-eagle-qwen-235b-sglang"]
    assert sglang.arms[candidate("eagle", 2, "eagle").key].log_tpot[load_point(64).key] == pytest.approx(
        math.log(64 / 3693)
    )


def test_recorded_surfaces_are_read_from_kept_runs() -> None:
    (one,) = [found for found in recorded() if found.name == "recorded-h200-14b"]
    alone = next(load for load in one.loads if load.concurrency == 1)
    tpots = {key: arm.log_tpot[alone.key] for key, arm in one.arms.items()}
    good = candidate("good", 1).speculation
    key = next(c.key for c in one.candidates if c.draft_name == "good" and c.k == 1)
    assert good is not None
    assert math.exp(tpots[BASELINE.key] - tpots[key]) == pytest.approx(1.30, abs=0.005)  # as in docs/real-runs.md
    (held,) = [h for h in held_out(one) if h.concurrency == 1]
    assert (held.draft, held.k) == ("good", 3)
    assert held.measured == pytest.approx(math.log(1.30), abs=0.005)
    assert held.growth_error is not None
    assert held.growth_error < 0.01
    assert surface_of(DATA / "h200-7b") is None  # two K of one draft leave nothing to search


# --- the whole --------------------------------------------------------------------------------------------------------


def test_the_bench_runs_and_guided_is_not_absurd() -> None:
    found = bench(6, seed=11, names=("guided", "grid", "random"), workers=1)
    result = simulated_result(found)
    strategies = result["strategies"]
    assert isinstance(strategies, dict)
    assert strategies["guided"]["searches"] == 12
    assert strategies["guided"]["regret_mean"] < 3.0
    assert strategies["guided"]["starts_mean"] < strategies["grid"]["starts_mean"]
    assert set(result["by_life_sd_percent"]) == {"0", "1", "3", "15"}  # type: ignore[call-overload]


def test_the_last_line_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--surfaces", "2", "--strategy", "grid", "--only-simulated", "--workers", "1"])
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (code, result["bench"], result["surfaces"], list(result["strategies"])) == (0, "search", 2, ["grid"])


def test_the_tuners_own_estimate_of_acceptance_is_what_a_life_tells() -> None:
    random = np.random.default_rng(2)
    answers = walk(runs_at(np.full((24, 8), 0.7), random.random((24, 136))), 8)
    grown = told_growth(candidate("any", 8), load_point(1), answers)
    assert grown.source is GrowthSource.REPLAY
    assert (grown.n, len(grown.logs)) == (24, 8)
    assert grown.logs[-1] == pytest.approx(log_growth(answers), abs=1e-9)


def test_strategies_share_one_noise() -> None:
    one = simulated(2, 4)
    results = run(one, ("random", "grid", "guided", "median_mad"), Noise(0.03))
    assert results["random"].starts == results["guided"].starts < results["grid"].starts
    assert results["grid"].starts == results["median_mad"].starts == len(one.candidates) + 1
    assert results["grid"].locate_s == results["median_mad"].locate_s


def test_the_page_shows_the_kept_result() -> None:
    text = PAGE.read_text(encoding="utf-8")
    result = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    assert filled(text, result) == text
    assert f"{result['strategies']['guided']['regret_p95']:.2f} %" in text
    with pytest.raises(ValueError, match="no place for noise"):
        filled(text.replace("<!-- noise -->", ""), result)
