"""One variable at a time: what changed, whether that is the cause, and which sweep would tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tuner.artifact import BestConfig, load_best_config
from tuner.compare.changes import Attribution, Variable, attribution
from tuner.identity.between import change_words, changes_between
from tuner.identity.differences import FIELDS, Difference

MEASURED = Path(__file__).parents[1] / "golden" / "artifacts" / "v1-h200-7b.yaml"
Change = Callable[[BestConfig], BestConfig]


def engine(version: str) -> Change:
    def change(config: BestConfig) -> BestConfig:
        on = config.measured_on
        newer = on.engine.model_copy(update={"version": version})
        return config.model_copy(update={"measured_on": on.model_copy(update={"engine": newer})})

    return change


def fingerprinted(key: str, value: Any) -> Change:
    return lambda config: config.model_copy(update={"fingerprint": {**config.fingerprint, key: value}})


def target(name: str) -> Change:
    def change(config: BestConfig) -> BestConfig:
        known = {**config.fingerprint, "target": {"hash": name, "of": "name"}}
        return config.model_copy(update={"target": name, "fingerprint": known})

    return change


def environment(**env: str) -> Change:
    return lambda config: config.model_copy(update={"environment": {**config.environment, **env}})


def driver(version: str) -> Change:
    def change(config: BestConfig) -> BestConfig:
        on = config.measured_on
        from tuner.artifact.model import DeviceDetail

        detail = DeviceDetail(device=on.devices[0], driver=version)
        return config.model_copy(update={"measured_on": on.model_copy(update={"device_details": (detail,)})})

    return change


def tuner(version: str) -> Change:
    return lambda config: config.model_copy(update={"tuner_version": version})


def between(*changes: Change, before: Change | None = None, compared: tuple[str, ...] = ()) -> Attribution:
    old = load_best_config(MEASURED)
    old = before(old) if before else old
    new = old
    for change in changes:
        new = change(new)
    return attribution(old, new, compared, {"chat"})


def test_nothing_changed() -> None:
    found = between()
    assert (found.changes, found.variables, found.sweeps) == ((), (), ())
    assert found.words == "Nothing that is recorded changed between the sweeps."


@pytest.mark.parametrize(
    ("change", "before", "variable"),
    [
        (engine("0.99.0"), None, Variable.ENGINE),
        (target("org/other"), None, Variable.TARGET),
        (fingerprinted("engine_args", {"max_model_len": 4096}), None, Variable.ARGUMENTS),
        (environment(VLLM_USE_X="1"), None, Variable.ENVIRONMENT),
        (driver("580.1"), driver("570.1"), Variable.DRIVER),
        (driver("570.2"), driver("570.1"), Variable.DRIVER),
        (tuner("9.9"), None, Variable.TUNER),
    ],
    ids=lambda value: value.value if isinstance(value, Variable) else "",
)
def test_one_change_is_the_cause(change: Change, before: Change | None, variable: Variable) -> None:
    found = between(change, before=before)
    assert (found.variables, found.sweeps) == ((variable,), ())
    assert found.words.startswith(
        f"Only one thing that is recorded changed, so it is the cause of what differs: {variable.value} ("
    )


def test_two_changes_hide_the_cause_and_one_sweep_would_tell() -> None:
    found = between(engine("0.99.0"), target("org/other"))
    assert found.variables == (Variable.ENGINE, Variable.TARGET)
    assert "2 things changed at once" in found.words
    assert found.words.endswith("so the cause of a difference cannot be told.")
    old = load_best_config(MEASURED).measured_on.engine.version
    assert found.sweeps == (f"target as in NEW, engine as in OLD: tuner sweep org/other --engine VENV_WITH_VLLM_{old}",)


def test_of_three_changes_each_sweep_changes_one_more_and_the_engine_last() -> None:
    found = between(engine("0.99.0"), target("org/other"), environment(VLLM_USE_X="1"))
    assert [sweep.partition(":")[0] for sweep in found.sweeps] == [
        "target as in NEW, environment and engine as in OLD",
        "target and environment as in NEW, engine as in OLD",
    ]
    assert found.sweeps[0].endswith("(in the environment of OLD)")
    assert found.sweeps[1].endswith("(in the environment of NEW)")


def test_a_draft_is_a_cause_where_it_is_compared() -> None:
    drafts = fingerprinted("drafts", {"good": {"hash": "b", "of": "content", "scheme": 2, "parts": {"weights": "b"}}})

    def known(config: BestConfig) -> BestConfig:
        from tuner.artifact.model import ModelIdentity

        model = ModelIdentity(id="/models/good", hash="a", of="content")
        identity = config.identity.model_copy(update={"drafts": {"good": model}})
        first = {"good": {"hash": "a", "of": "content", "scheme": 2, "parts": {"weights": "a"}}}
        return fingerprinted("drafts", first)(config.model_copy(update={"identity": identity}))

    assert between(drafts, before=known, compared=("good",)).variables == (Variable.DRAFT,)
    other = between(drafts, before=known, compared=("other",))
    assert other.variables == ()
    assert [change.difference.field for change in other.changes] == ["draft.good.weights"]


def test_an_eval_set_that_only_one_used_or_that_is_common_is_no_cause() -> None:
    sets = fingerprinted("eval_sets", {"chat": "a", "code": "b"})
    assert between(fingerprinted("eval_sets", {"chat": "a"}), before=sets).variables == ()
    assert between(fingerprinted("eval_sets", {"chat": "a", "code": "c"}), before=sets).variables == (
        Variable.EVAL_SET,
    )


def test_another_name_of_the_same_content_is_no_cause() -> None:
    one = Difference("target.revision", "aaa", "bbb", "with the same content", stale=False)
    from tuner.compare.changes import _variable

    assert _variable(one, (), ()) is None
    assert _variable(Difference("target.weights", "a", "b", ""), (), ()) is Variable.TARGET


def test_every_field_of_a_difference_has_a_variable_but_load_points() -> None:
    from tuner.compare.changes import _variable

    for field in FIELDS:
        name = f"{field}.x" if field in ("draft", "env", "eval_sets", "engine_args") else field
        found = _variable(Difference(name, "a", "b", ""), ("x",), ())
        assert (found is None) == (field == "load_points"), field


def test_changes_between_two_sweeps_have_the_tuners_own_version_and_are_cut_short() -> None:
    old = load_best_config(MEASURED)
    (one,) = changes_between(old, tuner("9.9.9")(old))
    assert (one.field, one.now, one.stale) == ("tuner.version", "9.9.9", False)
    assert change_words(Difference("a", None, ["x", "y"], "")) == "a none -> 2 of them"
    assert change_words(Difference("a", "x" * 40, 1, "")) == f"a {'x' * 12}... -> 1"


def test_another_name_is_another_target_where_its_content_is_not_known() -> None:
    old = load_best_config(MEASURED)
    old = old.model_copy(update={"fingerprint": {**old.fingerprint, "target": {}}})
    new = old.model_copy(update={"target": "org/other"})
    assert [one.field for one in changes_between(old, new)] == ["target"]
    assert changes_between(old, old) == ()
