"""K schedules from surfaces made by hand: which K where, in which ranges, and where there is none."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.analysis.k_schedule import (
    Derived,
    derive,
    fewest_ranges,
    ranges,
    schedule_of,
    schedule_words,
    scheduled_k,
)
from tuner.analysis.screening import screening
from tuner.records import SCHEDULE, Candidate, LoadPoint, Role, Trial
from tuner.space.options import VERIFICATION

Make = Callable[..., Trial]
LOADS = tuple(LoadPoint(eval_set="chat", concurrency=c, max_tokens=33) for c in (1, 8, 64))
PLAIN = {1: 0.020, 8: 0.024, 64: 0.060}


def surface(make: Make, tpots: Mapping[int, Mapping[int, float]], **changes: object) -> list[Trial]:
    """Return a baseline, a candidate for each K (TPOT in seconds by concurrency) and the baseline again."""
    loads = [load for load in LOADS if load.concurrency in next(iter(tpots.values()))]

    def trial(number: int, k: int, by_concurrency: Mapping[int, float], role: Role | None = None) -> Trial:
        def tpot(load: LoadPoint, prompt: int, repeat: int) -> float:
            return by_concurrency[load.concurrency] * (1 + 0.01 * ((prompt * 7 + k * 3 + repeat) % 5 - 2) / 10)

        return make(number, k=k, tpot=tpot, loads=loads, role=role, **changes)

    tried = [trial(1 + i, k, by_concurrency) for i, (k, by_concurrency) in enumerate(tpots.items())]
    return [trial(0, 0, PLAIN), *tried, trial(len(tried) + 1, 0, PLAIN, Role.BASELINE_AGAIN)]


def derived(
    trials: Sequence[Trial], unsupported: Callable[[Candidate], str | None] = lambda candidate: None
) -> Derived:
    loads = [load.load_point for load in trials[0].record.loads]
    (screened,) = screening(trials, loads).screened
    return derive(screened, None, (), unsupported)


def speedups(**by_concurrency: float) -> dict[int, float]:
    """Return TPOT by concurrency from speedups: c1=2.0, c8=1.5 ..."""
    return {int(name[1:]): PLAIN[int(name[1:])] / speedup for name, speedup in by_concurrency.items()}


# --- which K where ----------------------------------------------------------------------------------------------------


def test_each_concurrency_gets_its_best_k_and_0_where_speculation_does_not_pay(make_trial: Make) -> None:
    found = derived(
        surface(
            make_trial,
            {
                1: speedups(c1=1.4, c8=1.3, c64=0.8),
                3: speedups(c1=1.9, c8=1.5, c64=0.6),
                5: speedups(c1=2.2, c8=1.1, c64=0.5),
            },
        )
    )
    assert found.candidate is not None
    assert schedule_of(found.candidate) == ((1, 2, 5), (3, 22, 3), (23, 64, 0))
    assert found.candidate.k == 5
    assert found.static is not None and found.static.k == 3
    assert "at concurrency 1 K = 5 is 16% faster than K = 3" in found.why
    assert "at concurrency 64 K = 0 is 67% faster than K = 3" in found.why


def test_a_k_that_noise_does_not_separate_from_the_best_stays_where_it_saves_a_range(make_trial: Make) -> None:
    found = derived(
        surface(make_trial, {3: speedups(c1=2.0, c8=1.5, c64=0.7), 4: speedups(c1=2.0002, c8=1.5001, c64=0.6)})
    )
    assert found.candidate is not None and found.static is not None
    assert schedule_of(found.candidate) == ((1, 22, found.static.k), (23, 64, 0))


def test_the_static_k_stays_where_leaving_it_is_not_worth_it(make_trial: Make) -> None:
    """K = 5 is clearly faster at concurrency 1, by 2 % where 3 % are worth knowing."""
    found = derived(surface(make_trial, {3: speedups(c1=2.0, c8=1.5, c64=1.3), 5: speedups(c1=2.04, c8=1.3, c64=1.1)}))
    assert found.candidate is None
    assert "no other K is clearly faster than K = 3 by 3% or more at any measured concurrency (1, 8, 64)" in found.why


def test_two_k_that_are_tied_share_a_range_though_either_is_best_somewhere(make_trial: Make) -> None:
    found = derived(
        surface(
            make_trial,
            {
                3: speedups(c1=1.5, c8=1.2, c64=1.5),
                5: speedups(c1=2.0, c8=1.5, c64=0.7),
                6: speedups(c1=2.0, c8=1.502, c64=0.6),
            },
        )
    )
    assert found.candidate is not None
    assert schedule_of(found.candidate) == ((1, 22, 5), (23, 64, 3))


def test_a_k_that_may_not_win_is_not_scheduled(make_trial: Make) -> None:
    tpots = {3: speedups(c1=2.0, c8=1.5, c64=1.3), 5: speedups(c1=2.6, c8=1.3, c64=1.1)}
    sound = surface(make_trial, tpots)
    assert derived(sound).candidate is not None
    broken = surface(make_trial, tpots, problems={0: ("accepted tokens 5 > draft tokens 4",)})
    assert derived([*sound[:2], broken[2], sound[3]]).candidate is None


# --- where there is none ----------------------------------------------------------------------------------------------


def test_one_concurrency_gives_no_schedule(make_trial: Make) -> None:
    found = derived(surface(make_trial, {3: speedups(c1=2.0), 5: speedups(c1=1.5)}))
    assert (found.candidate, found.why) == (None, "one concurrency was measured, and a schedule varies K with it")


def test_where_no_draft_is_recommended_there_is_no_schedule(make_trial: Make) -> None:
    found = derived(surface(make_trial, {3: speedups(c1=0.8, c8=0.7)}))
    assert found.candidate is None
    assert "no draft is recommended" in found.why


def test_an_engine_that_does_not_support_it_gives_a_reason_with_what_the_surface_asks_for(make_trial: Make) -> None:
    trials = surface(make_trial, {3: speedups(c1=2.0, c8=1.5, c64=0.7)})
    found = derived(trials, lambda candidate: "it is too old")
    assert found.candidate is None
    assert found.why == "the surface asks for K = 3 at batch sizes 1 to 22, K = 0 at 23 to 64, but it is too old"


# --- ranges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("open_ks", "static", "expected"),
    [
        ([{5}, {3}, {0}], 3, (5, 3, 0)),
        ([{4, 5, 6}, {3, 4}, {0, 1}], 4, (4, 4, 0)),
        ([{5, 6}, {5, 6}, {1, 5}], 3, (5, 5, 5)),
        ([{5}, {1, 5}, {1}], 1, (5, 1, 1)),
        ([{5}, {1, 5}, {1}], 5, (5, 5, 1)),
        ([{2, 3}, {2, 3}], 3, (3, 3)),
        ([{0, 1, 2}], 7, (0,)),
    ],
)
def test_fewest_ranges_then_the_static_k_then_the_smallest(
    open_ks: list[set[int]], static: int, expected: tuple[int, ...]
) -> None:
    assert fewest_ranges([frozenset(ks) for ks in open_ks], static) == expected


def test_k_changes_halfway_on_a_logarithmic_scale() -> None:
    assert ranges({1: 5, 16: 3, 64: 3, 256: 0}) == ((1, 4, 5), (5, 128, 3), (129, 256, 0))
    assert ranges({1: 5, 2: 3}) == ((1, 1, 5), (2, 2, 3))
    assert ranges({4: 5, 6: 5}) == ((1, 6, 5),)


def test_words() -> None:
    assert schedule_words(((1, 4, 5), (5, 32, 0))) == "K = 5 at batch sizes 1 to 4, K = 0 at 5 to 32"


KS_BY_CONCURRENCY = st.dictionaries(st.integers(1, 600), st.integers(0, 16), min_size=1, max_size=12).map(
    lambda found: dict(sorted(found.items()))
)


@given(KS_BY_CONCURRENCY)
def test_every_schedule_is_well_formed_gives_each_concurrency_its_k_and_ends_at_the_largest(ks: dict[int, int]) -> None:
    schedule = ranges(ks)
    assert VERIFICATION[SCHEDULE].problem([list(one) for one in schedule]) is None
    assert {c: scheduled_k(schedule, c) for c in ks} == ks
    assert schedule[-1][1] == max(ks)
    assert all(before[2] != after[2] and before[1] + 1 == after[0] for before, after in pairwise(schedule))


@pytest.fixture(scope="module")
def vllm_rules() -> ModuleType:
    """vLLM's own rules, from the file alone: importing the package would load torch."""
    package = importlib.util.find_spec("vllm")
    file = Path(package.origin or "").parent / "v1/spec_decode/dynamic/utils.py" if package else Path("none")
    if not file.is_file():
        pytest.skip("no vLLM with K schedules is installed")
    spec = importlib.util.spec_from_file_location("vllm_dynamic_rules", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@given(KS_BY_CONCURRENCY)
def test_vllm_takes_every_schedule_and_reads_it_as_we_do(vllm_rules: ModuleType, ks: dict[int, int]) -> None:
    schedule = [list(one) for one in ranges(ks)]
    most, largest = max(1, *ks.values()), max(ks) + 50
    table = vllm_rules.build_dynamic_sd_schedule_lookup(schedule, largest, most)
    assert table[1:] == [scheduled_k(ranges(ks), batch) for batch in range(1, largest + 1)]
