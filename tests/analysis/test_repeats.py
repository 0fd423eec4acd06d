"""How many repeats: as many as it takes to see the effect that matters, and never because of how large it looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.analysis.life import counting_repeats, load_view
from tuner.analysis.repeats import another_repeat, repeat_words, tolerance
from tuner.records import LoadMeasurement, Protocol, Trial

Make = Callable[..., Trial]
PROTOCOL = Protocol(repeats=3, max_repeats=6, resolve=0.03)
FAR = (1.0, 1.2, 0.9, 1.1, 1.0, 0.95)


def wanted(make_trial: Make, factors: Sequence[float], protocol: Protocol = PROTOCOL, base_s: float = 0.02) -> bool:
    """Whether another repeat is wanted after repeats whose TPOT is `base_s` times each of `factors`."""
    trial = make_trial(tpot=lambda load, prompt, repeat: base_s * (1 + prompt) * factors[repeat], repeats=len(factors))
    return another_repeat(trial.record.loads[0], trial.samples, protocol)


Marks = Mapping[int, tuple[str, ...]]


def marked(trial: Trial, **marks: Marks) -> LoadMeasurement:
    """Return the trial's load with problems or disturbances, by repeat index."""
    load = trial.record.loads[0]
    repeats = tuple(
        replace(r, **{name: by_index.get(r.index, ()) for name, by_index in marks.items()})  # type: ignore[arg-type]
        for r in load.repeats
    )
    return replace(load, repeats=repeats)


def test_the_tolerance_is_a_quarter_of_the_effect() -> None:
    assert tolerance(0.03) == pytest.approx(0.0073897, abs=1e-7)  # ln(1.03) = 0.0295588


@pytest.mark.parametrize(
    ("distance", "more"),
    # Two repeats at log distance d from each other: s^2 = d^2/2, s^2/2 = d^2/4, so the standard error is d/2.
    [(0.0146, False), (0.0149, True)],
)
def test_it_goes_on_while_the_standard_error_is_above_the_tolerance(
    make_trial: Make, distance: float, more: bool
) -> None:
    protocol = replace(PROTOCOL, repeats=2)
    assert wanted(make_trial, (1.0, math.exp(distance)), protocol) is more


@pytest.mark.parametrize("count", range(7))
def test_there_are_at_least_the_least_and_at_most_the_most(make_trial: Make, count: int) -> None:
    assert wanted(make_trial, (1.0,) * count) is (count < 3)
    assert wanted(make_trial, FAR[:count]) is (count < 6)


def test_a_most_below_the_least_adds_nothing(make_trial: Make) -> None:
    assert wanted(make_trial, FAR[:2], Protocol(repeats=3, max_repeats=2))
    assert not wanted(make_trial, FAR[:3], Protocol(repeats=3, max_repeats=2))


def test_a_single_repeat_cannot_say_how_repeats_differ(make_trial: Make) -> None:
    assert wanted(make_trial, (1.0,), Protocol(repeats=1, max_repeats=4))
    assert not wanted(make_trial, (1.0,), Protocol(repeats=1, max_repeats=1))


@pytest.mark.parametrize("kind", ["problems", "disturbances"])
def test_repeats_that_are_not_sound_are_measured_again(make_trial: Make, kind: str) -> None:
    trial = make_trial(repeats=4)
    one: Marks = {0: ("x",)}
    two: Marks = {0: ("x",), 2: ("y",)}
    all_six: Marks = dict.fromkeys(range(6), ("x",))
    assert not another_repeat(marked(trial, **{kind: one}), trial.samples, PROTOCOL)
    assert another_repeat(marked(trial, **{kind: two}), trial.samples, PROTOCOL)
    full = make_trial(repeats=6)
    assert not another_repeat(marked(full, **{kind: all_six}), full.samples, PROTOCOL)


def test_only_sound_repeats_say_how_repeats_differ(make_trial: Make) -> None:
    trial = make_trial(tpot=lambda load, prompt, repeat: 0.02 * (5.0 if repeat == 1 else 1.0), repeats=4)
    assert another_repeat(trial.record.loads[0], trial.samples, PROTOCOL)
    assert not another_repeat(marked(trial, disturbances={1: ("throttled",)}), trial.samples, PROTOCOL)


def test_answers_without_a_tpot_are_not_repeated_for_it(make_trial: Make) -> None:
    trial = make_trial(tokens=1)
    assert not another_repeat(trial.record.loads[0], trial.samples, PROTOCOL)


def test_requests_that_failed_have_no_say(make_trial: Make) -> None:
    trial = make_trial(failed=2)
    assert not another_repeat(trial.record.loads[0], trial.samples, PROTOCOL)


@settings(deadline=None)
@given(st.lists(st.floats(0.9, 1.1), min_size=3, max_size=5), st.floats(1e-4, 1e2))
def test_the_rule_does_not_see_how_fast_the_engine_is(make_trial: Make, factors: list[float], speed: float) -> None:
    trial = make_trial(repeats=len(factors), tpot=lambda load, prompt, repeat: 0.02 * factors[repeat])
    view = load_view(trial, trial.record.loads[0].load_point.key)
    assert view is not None
    error = math.sqrt(view.repeat_spread(lambda sample: sample.tpot_s).variance)
    if abs(error - tolerance(PROTOCOL.resolve)) > 1e-9:  # Rounding decides on the very limit only.
        assert wanted(make_trial, factors) is wanted(make_trial, factors, base_s=0.02 * speed)


def test_words_say_what_is_still_open() -> None:
    assert repeat_words(1, Protocol(repeats=3, max_repeats=3)) == "repeat 2/3"
    assert repeat_words(3, PROTOCOL) == "repeat 4 (of 3-6)"


@pytest.mark.parametrize(
    ("problems", "disturbed", "left"),
    [
        ((), (), [0, 1, 2, 3]),
        ((), (1,), [0, 2, 3]),
        ((), (1, 3), [0, 2]),
        ((), (0, 1, 3), [0, 1, 2, 3]),  # A single undisturbed one would not say how repeats differ.
        ((2,), (1,), [0, 3]),
        ((2,), (1, 3), [0, 1, 3]),
        ((0, 1, 2, 3), (), []),
    ],
)
def test_disturbed_repeats_are_left_out_where_two_others_remain(
    make_trial: Make, problems: tuple[int, ...], disturbed: tuple[int, ...], left: list[int]
) -> None:
    measured = marked(
        make_trial(repeats=4),
        problems=dict.fromkeys(problems, ("x",)),
        disturbances=dict.fromkeys(disturbed, ("y",)),
    )
    assert [repeat.index for repeat in counting_repeats(measured.repeats)] == left


def test_a_view_holds_the_samples_of_the_repeats_that_count(make_trial: Make) -> None:
    trial = make_trial(repeats=3)
    load = marked(trial, disturbances={1: ("y",)})
    view = load_view(replace(trial, record=replace(trial.record, loads=(load,))), load.load_point.key)
    assert view is not None
    assert {sample.repeat for sample in view.samples} == {0, 2} == {r.index for r in view.repeats}
