"""The Optuna study: every candidate at most once, as the sampler says, and always what the records say."""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
import sqlalchemy
from optuna.trial import TrialState

from tuner.errors import InputError
from tuner.records import Candidate, Json, Speculation
from tuner.search.database import open_storage
from tuner.search.samplers import Search
from tuner.search.study import Done, Study


def draft(k: int, name: str = "good", memory: float = 0.9) -> Candidate:
    return Candidate({"gpu_memory_utilization": memory, "dtype": "bfloat16"}, Speculation("draft_model", k, name, name))


BASELINE = Candidate({"gpu_memory_utilization": 0.9, "dtype": "bfloat16"})
GRID = (BASELINE, draft(1), draft(3), draft(1, "weak"))
TEMPERATURES = (0.0, 0.7)
IN_ORDER = Search("grid")
SEEN: dict[str, Json] = {"observed": {"outcome": "measured", "loads": {}, "baseline": {}}}


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with Optuna's tables and nothing in them: making those takes longer than any test here."""
    path = tmp_path_factory.mktemp("database") / "study.db"
    open_storage(f"sqlite:///{path}").engine.dispose()
    return path


@pytest.fixture
def url(tmp_path: Path, empty_database: Path) -> str:
    shutil.copy(empty_database, tmp_path)
    return f"sqlite:///{tmp_path}/study.db"


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., Study]]:
    studies = []

    def open_study(
        candidates: tuple[Candidate, ...] = GRID,
        done: tuple[Done, ...] = (),
        temperatures: tuple[float, ...] = TEMPERATURES,
    ) -> Study:
        study = Study.open(url, "run-1", candidates, temperatures, IN_ORDER)
        studies.append(study)
        study.reconcile(done)
        return study

    yield open_study
    for study in studies:
        study.close()


def stored(url: str) -> list[optuna.trial.FrozenTrial]:
    storage = optuna.storages.RDBStorage(url)
    trials = optuna.load_study(study_name="run-1", storage=storage).trials
    storage.engine.dispose()
    return trials


def told(url: str) -> dict[str, list[float] | None]:
    return {trial.user_attrs["candidate"]: trial.values for trial in stored(url) if trial.user_attrs.get("told")}


def rest(study: Study) -> list[Candidate]:
    return list(iter(lambda: study.ask().candidate, None))


def test_each_candidate_is_asked_once_baseline_first(opened: Callable[..., Study]) -> None:
    assert rest(opened()) == list(GRID)


def test_the_study_is_an_ordinary_one(opened: Callable[..., Study], url: str) -> None:
    candidates = (*GRID, draft(3, memory=0.8))
    study = opened(candidates)
    for candidate in iter(lambda: study.ask().candidate, None):
        study.tell(candidate, [0.1, 0.2 + candidate.k], {"speedup": 1.5, "state": "ok"})
    trials = stored(url)
    assert [trial.params for trial in trials] == [
        {"arm": candidate.draft_name, "k": candidate.k, "gpu_memory_utilization": candidate.engine_args[name]}
        for candidate in candidates
        for name in ["gpu_memory_utilization"]
    ]
    assert [trial.values for trial in trials] == [[0.1, 0.2 + candidate.k] for candidate in candidates]
    assert trials[0].user_attrs["speedup"] == 1.5
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    loaded = optuna.load_study(study_name="run-1", storage=url)
    assert [direction.name for direction in loaded.directions] == ["MINIMIZE", "MINIMIZE"]
    loaded._storage.remove_session()
    loaded._storage._backend.engine.dispose()  # type: ignore[attr-defined]


def test_a_failed_candidate_is_a_failed_trial_and_not_asked_again(opened: Callable[..., Study], url: str) -> None:
    study = opened()
    assert study.ask().candidate == BASELINE
    study.tell(BASELINE, None, {"state": "crashed"})
    assert stored(url)[0].state is TrialState.FAIL
    assert rest(opened(done=((BASELINE, None, {"state": "crashed"}),))) == list(GRID[1:])
    assert told(url) == {BASELINE.key: None}


def test_several_run_at_once_and_end_in_any_order(opened: Callable[..., Study], url: str) -> None:
    study = opened()
    first, second = study.ask().candidate, study.ask().candidate
    assert first is not None
    assert second is not None
    study.tell(second, [2.0, 2.0], {})
    study.tell(first, [1.0, 1.0], {})
    assert told(url) == {first.key: [1.0, 1.0], second.key: [2.0, 2.0]}


def test_no_trial_is_read_back_while_a_sweep_goes_on(opened: Callable[..., Study]) -> None:
    study, statements = opened(), list[str]()
    sqlalchemy.event.listen(study._storage.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    for candidate in rest(study):
        study.tell(candidate, [0.1, 0.2], {"speedup": 1.5})
    assert any("INSERT INTO trial_user_attributes" in statement for statement in statements)
    assert not [statement for statement in statements if "FROM trial_user_attributes" in statement]


@pytest.mark.parametrize("values", [[1.0], [1.0, float("nan")], [1.0, float("inf")], [1.0, 2.0, 3.0]])
def test_only_one_finite_number_per_temperature_is_a_result(opened: Callable[..., Study], values: list[float]) -> None:
    study = opened()
    study.ask()
    with pytest.raises(ValueError, match="one finite number for each"):
        study.tell(BASELINE, values, {})
    study.tell(BASELINE, [1.0, 2.0], {})
    with pytest.raises(KeyError):
        study.tell(BASELINE, [1.0, 2.0], {})


# ---- after a crash


def test_what_was_running_is_asked_again_baseline_first(opened: Callable[..., Study], url: str) -> None:
    study = opened()
    assert [study.ask().candidate, study.ask().candidate] == list(GRID[:2])
    study.close()
    again = opened()
    assert {trial.state for trial in stored(url)} == {TrialState.FAIL}
    assert rest(again) == list(GRID)
    assert again.notes == []


def test_killed_between_enqueue_and_ask(opened: Callable[..., Study], url: str) -> None:
    study = opened()
    study.ask()
    study._study.enqueue_trial({"arm": "good", "k": 3}, user_attrs={"candidate": GRID[2].key})
    study.close()
    again = opened()
    assert rest(again) == list(GRID)
    assert [trial.user_attrs["candidate"] for trial in stored(url)[2:]] == [candidate.key for candidate in GRID]


def test_killed_between_save_and_tell(opened: Callable[..., Study], url: str) -> None:
    study = opened()
    study.ask()
    study.close()
    again = opened(done=((BASELINE, [1.0, 2.0], {"speedup": 1.0}),))
    assert rest(again) == list(GRID[1:])
    assert told(url) == {BASELINE.key: [1.0, 2.0]}
    assert again.notes == []


def test_killed_in_the_middle_of_tell(opened: Callable[..., Study], url: str) -> None:
    study = opened()
    study.ask()
    study._study._storage.set_trial_user_attr(study._running[BASELINE.key], "told", True)
    study.close()
    opened(done=((BASELINE, [1.0, 2.0], {}),))
    assert told(url) == {BASELINE.key: [1.0, 2.0]}
    opened(done=((BASELINE, [1.0, 2.0], {}),))
    assert len(stored(url)) == 1


def test_a_lost_study_is_rebuilt_from_the_records(opened: Callable[..., Study], url: str, tmp_path: Path) -> None:
    done: tuple[Done, ...] = ((BASELINE, [1.0, 2.0], {"speedup": 1.0}), (GRID[1], None, {"state": "crashed"}))
    first = opened(done=done)
    first.close()
    (tmp_path / "study.db").unlink()
    assert rest(opened(done=done)) == list(GRID[2:])
    assert told(url) == {BASELINE.key: [1.0, 2.0], GRID[1].key: None}
    assert stored(url)[0].params == {"arm": "none", "k": 0}


@pytest.mark.parametrize(
    "done",
    [
        pytest.param((), id="the record was set aside"),
        pytest.param(((BASELINE, [1.0, 9.0], {}),), id="another value"),
        pytest.param(((BASELINE, None, {}),), id="failed"),
        pytest.param(((BASELINE, [1.0, 2.0], SEEN),), id="the search knows less"),
    ],
)
def test_a_study_that_contradicts_the_records_is_rebuilt(
    opened: Callable[..., Study], url: str, done: tuple[Done, ...]
) -> None:
    study = opened()
    study.ask()
    study.tell(BASELINE, [1.0, 2.0], {})
    study.close()
    again = opened(done=done)
    assert told(url) == {candidate.key: values for candidate, values, _ in done}
    assert rest(again) == list(GRID[len(done) :])
    assert "rebuilt from the records" in again.notes[0]


def test_a_larger_space_keeps_what_is_done(opened: Callable[..., Study], url: str) -> None:
    done: tuple[Done, ...] = ((BASELINE, [1.0, 2.0], {}), (draft(1), [1.0, 1.0], {}))
    opened(done=done).close()
    larger = (BASELINE, draft(1), draft(8), draft(1, "new"), draft(1, memory=0.7))
    again = opened(larger, done)
    assert rest(again) == list(larger[2:])
    assert stored(url)[0].params == {"arm": "none", "k": 0, "gpu_memory_utilization": 0.9}


def test_a_smaller_space_keeps_what_is_done(opened: Callable[..., Study], url: str) -> None:
    done: tuple[Done, ...] = ((BASELINE, [1.0, 2.0], {}), (draft(3), [1.0, 1.0], {}))
    assert rest(opened((BASELINE, draft(1)), done)) == [draft(1)]
    assert told(url) == {BASELINE.key: [1.0, 2.0], draft(3).key: [1.0, 1.0]}


# ---- storages


def test_a_study_of_somebody_else_is_left_alone(opened: Callable[..., Study], url: str) -> None:
    storage = optuna.storages.RDBStorage(url)
    optuna.create_study(storage=storage, study_name="run-1").add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(InputError, match="not of this sweep"):
        opened()
    storage.engine.dispose()
    assert len(stored(url)) == 1


def test_other_temperatures_are_another_sweep(opened: Callable[..., Study]) -> None:
    opened().close()
    with pytest.raises(InputError, match="not of this sweep"):
        opened(temperatures=(0.0,))
    with pytest.raises(InputError, match="not of this sweep"):
        opened(temperatures=(0.0, 1.0))


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database " * 500)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _wipe_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096, 3):
        data[page * 4096 : (page + 1) * 4096] = random.Random(page).randbytes(4096)
    path.write_bytes(bytes(data))


def _spoil_a_row(path: Path) -> None:
    data = path.read_bytes()
    assert b'{"name": "IntDistribution"' in data
    path.write_bytes(data.replace(b'{"name": "IntDistribution"', b'{"name": "IntDistributio\xff"'))


@pytest.mark.parametrize("damage", [_garbage, _truncate, _empty, _wipe_pages, _spoil_a_row])
def test_a_damaged_database_is_set_aside_and_rebuilt(
    opened: Callable[..., Study], url: str, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    done: tuple[Done, ...] = ((BASELINE, [1.0, 2.0], {}),)
    opened(done=done).close()
    damage(tmp_path / "study.db")
    again = opened(done=done)
    assert rest(again) == list(GRID[1:])
    assert told(url) == {BASELINE.key: [1.0, 2.0]}
    if damage is not _empty:  # an empty file is an empty database
        assert (tmp_path / "quarantine" / "study.db").exists()
        assert "damaged" in again.notes[0]


def test_a_users_own_file_is_never_moved(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("Hello, world! " * 100)
    with pytest.raises(InputError, match="cannot be used"):
        Study.open(f"sqlite:///{tmp_path}/thesis.tex", "run-1", GRID, TEMPERATURES, IN_ORDER, replace_damaged=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("storage", ["rubbish", "postgresql://me:secret@127.0.0.1:1/x", "sqlite:////no/such/dir/s.db"])
def test_a_storage_that_cannot_be_used_is_one_clear_error(storage: str) -> None:
    with pytest.raises(InputError, match="cannot be used") as caught:
        Study.open(storage, "run-1", GRID, TEMPERATURES, IN_ORDER)
    assert "secret" not in str(caught.value)
    assert caught.value.next_step


def test_arguments_that_are_lists_or_missing_become_choices(opened: Callable[..., Study], url: str) -> None:
    plain = replace(BASELINE, engine_args={})
    listed = replace(BASELINE, engine_args={"sizes": [1, 2], "eager": False})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rest(opened((plain, listed))) == [plain, listed]
    assert stored(url)[1].params == {"arm": "none", "k": 0, "sizes": "[1,2]", "eager": False}
