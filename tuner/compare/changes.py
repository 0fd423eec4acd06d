"""One variable at a time: what changed between two sweeps, and which sweep would tell the causes apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tuner.artifact import BestConfig
from tuner.identity import Difference
from tuner.identity.between import change_words, changes_between


class Variable(StrEnum):
    """What figures may change by.  One value for everything that would be changed together."""

    ENGINE = "engine"
    TARGET = "target"
    DRAFT = "draft"
    GPU = "GPU"
    DRIVER = "driver"
    EVAL_SET = "eval set"
    ARGUMENTS = "engine arguments"
    ENVIRONMENT = "environment"
    TUNER = "tuner"


_BY_BEGINNING: Mapping[str, Variable] = {
    "engine": Variable.ENGINE,
    "target": Variable.TARGET,
    "draft": Variable.DRAFT,
    "device": Variable.GPU,
    "device.driver": Variable.DRIVER,
    "eval_sets": Variable.EVAL_SET,
    "engine_args": Variable.ARGUMENTS,
    "env": Variable.ENVIRONMENT,
    "tuner": Variable.TUNER,
}
_NO_CAUSE = ("revision", "scheme")
"""Last parts of fields that say nothing of the content: another name, or another way of hashing, of the same files."""


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was in the older sweep.

    variable: None for what can be no cause of a difference at a load point that both sweeps have.
    """

    difference: Difference
    variable: Variable | None

    @property
    def words(self) -> str:
        """Return "engine.version 0.31.0 -> 0.32.0"."""
        return change_words(self.difference)


@dataclass(frozen=True)
class Attribution:
    """What a difference between two sweeps can be put down to.

    variables: those that changed, each once.  With one it is the cause; with more the cause cannot be told, and
    `sweeps` are those that would tell, in words with the command; with none nothing that was recorded changed.
    """

    changes: tuple[Change, ...]
    variables: tuple[Variable, ...]
    sweeps: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return one sentence."""
        if not self.variables:
            return "Nothing that is recorded changed between the sweeps."
        if len(self.variables) == 1:
            return f"Only one thing that is recorded changed, so it is the cause of what differs: {self.named[0]}."
        return (
            f"{len(self.variables)} things changed at once ({', '.join(self.named)}), "
            "so the cause of a difference cannot be told."
        )

    @property
    def named(self) -> tuple[str, ...]:
        """Return each variable with its first change."""
        first = {change.variable: change for change in reversed(self.changes)}
        return tuple(f"{variable.value} ({first[variable].words})" for variable in self.variables)


def attribution(old: BestConfig, new: BestConfig, compared: Collection[str], eval_sets: Collection[str]) -> Attribution:
    """Return what changed from one sweep to the other, and what follows.

    compared: names of the drafts whose figures are compared; another draft is no cause.  eval_sets: names of those at
    common load points; they are the same by definition.
    """
    found = tuple(_change(one, compared, eval_sets) for one in changes_between(old, new))
    variables = tuple(dict.fromkeys(change.variable for change in found if change.variable is not None))
    return Attribution(found, variables, _sweeps(variables, found, old, new))


def _change(one: Difference, compared: Collection[str], eval_sets: Collection[str]) -> Change:
    return Change(one, _variable(one, compared, eval_sets))


def _variable(one: Difference, compared: Collection[str], eval_sets: Collection[str]) -> Variable | None:
    first, _, rest = one.field.partition(".")
    last = one.field.rpartition(".")[2]
    if last in _NO_CAUSE and first in ("target", "draft"):
        return None
    if first == "draft" and not any(rest == name or rest.startswith(f"{name}.") for name in compared):
        return None
    if first == "eval_sets" and rest in eval_sets:
        return None
    if first == "eval_sets" and (one.measured is None or one.now is None):
        return None  # one of the sweeps did not use it: what is compared did not either
    beginnings = (one.field, f"{first}.{rest.partition('.')[0]}", first)
    return next((_BY_BEGINNING[name] for name in beginnings if name in _BY_BEGINNING), None)


def _sweeps(
    variables: tuple[Variable, ...], changes: Iterable[Change], old: BestConfig, new: BestConfig
) -> tuple[str, ...]:
    """Return the sweeps between the two that change one variable each: one fewer than there are variables.

    The n-th of them has the first n variables as in the new sweep and the rest as in the old one; the engine is changed
    last, since an old engine is the easiest to come by.
    """
    order = sorted(variables, key=lambda variable: variable in (Variable.ENGINE, Variable.TUNER))
    found = []
    for done in range(1, len(order)):
        newer, older = order[:done], order[done:]
        words = f"{_joined(newer)} as in NEW, {_joined(older)} as in OLD"
        found.append(f"{words}: {_command(frozenset(newer), tuple(changes), old, new)}")
    return tuple(found)


def _joined(variables: Iterable[Variable]) -> str:
    return " and ".join(variable.value for variable in variables)


def _command(newer: frozenset[Variable], changes: tuple[Change, ...], old: BestConfig, new: BestConfig) -> str:
    """Return the command of such a sweep; what stands in capitals is for the reader to fill in."""
    changed = {change.variable for change in changes}

    def side(variable: Variable) -> BestConfig:
        return new if variable in newer else old

    parts = [f"tuner sweep {side(Variable.TARGET).target}"]
    drafts = dict.fromkeys(
        model.id for model in side(Variable.DRAFT).identity.drafts.values() if Variable.DRAFT in changed
    )
    parts += [f"--draft {draft}" for draft in drafts]
    if Variable.ENGINE in changed:
        parts.append(f"--engine VENV_WITH_VLLM_{side(Variable.ENGINE).measured_on.engine.version}")
    if Variable.ARGUMENTS in changed:
        parts.append(f"--space SPACE_OF_{_name(Variable.ARGUMENTS, newer)}")
    if Variable.EVAL_SET in changed:
        parts.append(f"--eval-set SET_OF_{_name(Variable.EVAL_SET, newer)}")
    return " ".join(parts) + _around(newer, changed)


def _name(variable: Variable, newer: frozenset[Variable]) -> str:
    return "NEW" if variable in newer else "OLD"


def _around(newer: frozenset[Variable], changed: Collection[Variable | None]) -> str:
    """Return what no option of a sweep sets."""
    places = {
        Variable.GPU: "on the GPU of",
        Variable.DRIVER: "with the driver of",
        Variable.ENVIRONMENT: "in the environment of",
        Variable.TUNER: "with the tuner of",
    }
    found = [f"{words} {_name(variable, newer)}" for variable, words in places.items() if variable in changed]
    return f" ({', '.join(found)})" if found else ""
