"""What the study is told of trials, in a session and again from the records: both must say the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import optuna
import pytest

from tuner.records import Candidate, Failure, FailureKind, Json, LoadPoint, Role, Trial
from tuner.search.observing import tried
from tuner.search.samplers import Search
from tuner.search.study import Study
from tuner.search.telling import Telling

Make = Callable[..., Trial]
LOAD = LoadPoint(eval_set="chat", concurrency=1, max_tokens=33)
OTHER = {"max_num_seqs": 4}


def open_telling(candidates: Sequence[Candidate], sampler: str = "grid") -> Telling:
    storage = cast("Any", optuna.storages.InMemoryStorage())
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return Telling(Study(storage, "run", candidates, [0.0], Search(sampler, (LOAD,))), [0.0], [LOAD])


def attributes(telling: Telling) -> dict[str, Mapping[str, Json]]:
    trials = telling._study._study.get_trials(deepcopy=False)
    return {trial.user_attrs["candidate"]: trial.user_attrs for trial in trials if trial.user_attrs.get("told")}


@pytest.fixture
def trials(make_trial: Make) -> list[Trial]:
    memory = Failure(FailureKind.CRASHED, "ended", cause="CUDA out of memory")
    return [
        make_trial(0, tpot=0.02),
        make_trial(1, tpot=0.021, device="node-b/cpu"),
        make_trial(2, k=1, tpot=0.015),
        make_trial(3, k=2, tpot=0.012, device="node-b/cpu"),
        make_trial(4, k=4, failure="illegal instruction"),
        make_trial(5, k=6, failure=memory),
        make_trial(6, role=Role.BASELINE_AGAIN, tpot=0.02),
        make_trial(7, k=2, final_round=0),
    ]


def test_a_study_rebuilt_from_the_records_holds_the_same_attributes(trials: list[Trial]) -> None:
    candidates = list(dict.fromkeys(trial.record.candidate.key for trial in trials))
    by_key = {trial.record.candidate.key: trial.record.candidate for trial in trials}
    space = [by_key[key] for key in candidates]
    session, rebuilt = open_telling(space), open_telling(space)
    session.resume([], lambda record: True)
    while session.ask().candidate:
        pass
    for trial in trials:
        session.keep(trial)
    assert rebuilt.resume(trials, lambda record: True) == [trial.record for trial in trials]
    assert attributes(session) == attributes(rebuilt)
    assert len(attributes(session)) == 5
    assert attributes(session)[trials[5].record.candidate.key]["failed"] == "ended"
    assert session.best == rebuilt.best == "good K=2 1.75x"


@pytest.mark.parametrize("sampler", ["guided", "tpe"])
def test_the_sampler_reads_from_the_study_what_the_records_say(trials: list[Trial], sampler: str) -> None:
    space = list({trial.record.candidate.key: trial.record.candidate for trial in trials}.values())
    telling = open_telling(space, sampler)
    telling.resume(trials, lambda record: True)
    study = telling._study
    assert study._sampler.tried(study._study) == tried(trials, [LOAD], space)


def test_a_baseline_that_nobody_asked_for_answers_its_question(make_trial: Make) -> None:
    plain, other = make_trial(0), make_trial(1, args=OTHER)
    telling = open_telling([plain.record.candidate, other.record.candidate])
    telling.resume([], lambda record: True)
    telling.keep(other)
    assert telling.ask().candidate == plain.record.candidate
    assert telling.ask().candidate is None
    assert set(attributes(telling)) == {other.record.candidate.key}


def test_the_baseline_of_a_further_device_is_not_told_again(make_trial: Make) -> None:
    plain = make_trial(0)
    telling = open_telling([plain.record.candidate])
    telling.resume([], lambda record: True)
    telling.ask()
    telling.keep(plain)
    telling.keep(make_trial(1, device="node-b/cpu", tpot=0.5))
    (trial,) = telling._study._study.get_trials(deepcopy=False)
    assert trial.values == [pytest.approx(0.02)]


def test_a_baseline_that_failed_on_one_device_and_works_on_another_worked(make_trial: Make) -> None:
    failed, fine = make_trial(0, failure="crash", device="bad"), make_trial(1, device="good")
    telling = open_telling([fine.record.candidate])
    telling.resume([], lambda record: True)
    telling.ask()
    telling.keep(failed)
    telling.keep(fine)
    states = [trial.state.name for trial in telling._study._study.get_trials(deepcopy=False)]
    assert states == ["FAIL", "COMPLETE"]
    found = telling._study._sampler.tried(telling._study._study)
    assert [one.outcome.value for one in found] == ["failed", "measured"]
