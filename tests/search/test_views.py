from __future__ import annotations

from tests.search.searching import World, load, speculating
from tuner.analysis.prediction import ModelError
from tuner.records import Candidate, Outcome, Tried
from tuner.search.belief import fitted
from tuner.search.curves import History, curves
from tuner.search.opening import reference_curves
from tuner.search.views import View, view

ARGS = ({"max_num_seqs": 64}, {"max_num_seqs": 32})
CURVES = curves([speculating(k, args=args) for args in ARGS for k in range(1, 9)])
MODEL = ModelError()


def seen(world: World, *tried: Tried) -> View:
    history = History(tried)
    references = reference_curves(CURVES, history)
    fits = fitted(references, history, world.loads, MODEL)
    return view(CURVES, references, history, world.loads, MODEL, fits)


def runs(world: World, *candidates: Candidate) -> list[Tried]:
    return [world.run(one) for one in candidates]


def test_the_best_is_a_baseline_where_nothing_beats_it() -> None:
    world = World(rates={"good": 0.1})
    found = seen(world, *runs(world, Candidate(ARGS[0]), speculating(8, args=ARGS[0])))
    assert found.best is not None and found.best.candidate == Candidate(ARGS[0]) and found.best.belief is None
    assert not found.pays


def test_the_best_is_a_measured_candidate_where_one_is_faster() -> None:
    world = World()
    found = seen(world, *runs(world, Candidate(ARGS[0]), speculating(8, args=ARGS[0])))
    assert found.best is not None and found.best.candidate.k == 8 and found.pays
    assert [b.curve for b in found.references] == [CURVES[0]] and [b.curve for b in found.variants] == [CURVES[1]]


def test_the_faster_of_two_baselines_counts() -> None:
    world = World(rates={"good": 0.1}, extra=lambda c, at: -0.1 if c.engine_args == ARGS[1] else 0.0)
    bases = [Candidate(args) for args in ARGS]
    found = seen(world, *runs(world, *bases, speculating(8, args=ARGS[0])))
    assert found.best is not None and found.best.candidate == bases[1]


def test_nothing_measured_nothing_best() -> None:
    found = seen(World([load()]), Tried(Candidate(ARGS[0]), Outcome.RUNNING))
    assert found.best is None and found.references == ()
