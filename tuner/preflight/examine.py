"""Every candidate against every rule: what files tell before an engine starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuner.errors import ModelError
from tuner.preflight.model_files import has_tokenizer
from tuner.preflight.model_view import ModelFiles, read_model
from tuner.preflight.rules import DRAFT_RULES, TARGET_RULES, Rule, Setting
from tuner.preflight.vocabulary import Comparison, compare
from tuner.records import Candidate
from tuner.records.notice import Level, Notice
from tuner.space.methods import METHODS, ModelNeed


@dataclass(frozen=True)
class Models:
    """The models of a sweep as their files show them.

    drafts: by draft name, of those that load a model.  comparisons: of their token maps with the target's, where known.
    """

    target: ModelFiles
    drafts: Mapping[str, ModelFiles] = field(default_factory=dict)
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)


@dataclass(frozen=True)
class Examined:
    """What files tell.

    notices: each once, errors first.  refused: why a candidate would not start, by its key.
    """

    notices: tuple[Notice, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def read_models(
    target: tuple[str, str],
    drafts: Mapping[str, tuple[str, str]],
    *,
    python: str,
    tokenizer: str | None = None,
    trust_remote_code: bool = False,
    with_tokens: bool = True,
) -> Models:
    """Read what the rules ask for.

    target, drafts by name: each a checked directory and what the user wrote for it.  python: the engine's.
    tokenizer: directory of the target's tokenizer where it is not its own.  with_tokens: read the token maps too.
    Raises ModelError for a config.json that is none.
    """

    def read(directory: str, name: str, reference: str, tokens: Path) -> ModelFiles:
        own = tokens if has_tokenizer(tokens) else None
        return read_model(
            Path(directory),
            name,
            reference,
            python=python,
            tokenizer=own,
            trust_remote_code=trust_remote_code,
            with_tokens=with_tokens,
        )

    of_target = read(*_named(target, "target"), Path(tokenizer or target[0]))
    views = {name: read(directory, name, reference, Path(directory)) for name, (directory, reference) in drafts.items()}
    comparisons = {
        name: compare(of_target.vocabulary, view.vocabulary)
        for name, view in views.items()
        if of_target.vocabulary is not None and view.vocabulary is not None
    }
    return Models(of_target, views, comparisons)


def _named(model: tuple[str, str], name: str) -> tuple[str, str, str]:
    return model[0], name, model[1]


def examine(
    candidates: Iterable[Candidate], models: Models, *, version: str, build: str, env: Mapping[str, str] | None = None
) -> Examined:
    """Return what the rules say of these candidates.

    version, build: of the engine.  env: what it is given.
    """
    notices: list[Notice] = []
    refused: dict[str, str] = {}
    every = tuple(candidates)
    methods = frozenset(candidate.speculation.method for candidate in every if candidate.speculation)
    for candidate in every:
        setting = replace(_setting(candidate, models, version, build, env or {}), methods=methods)
        rules: Sequence[Rule] = DRAFT_RULES if candidate.speculation else TARGET_RULES
        found = [notice for rule in rules if (notice := rule(setting)) is not None]
        notices += [notice for notice in found if notice not in notices]
        if errors := [notice for notice in found if notice.level is Level.ERROR]:
            refused[candidate.key] = errors[0].what
    return Examined(by_level(notices), refused)


def _setting(candidate: Candidate, models: Models, version: str, build: str, env: Mapping[str, str]) -> Setting:
    spec = candidate.speculation
    name = spec.draft_name if spec else ""
    draft = models.drafts.get(name)
    return Setting(models.target, candidate.engine_args, version, build, spec, draft, models.comparisons.get(name), env)


def by_level(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return the notices with errors first, hints last, and otherwise in their order."""
    order = list(Level)
    return tuple(sorted(notices, key=lambda notice: order.index(notice.level)))


def needs_tokens(methods: Iterable[str]) -> bool:
    """Whether one of these methods has the target judge token ids of another model's vocabulary."""
    return "draft_model" in methods


def loads_model(method: str) -> bool:
    """Whether a draft of this method is a model directory (a custom class is an import path)."""
    return METHODS[method].model is not ModelNeed.NONE and method != "custom_class"


def sentence(notice: Notice) -> str:
    """Return a notice in one line."""
    return " ".join(part for part in (f"{notice.subject}: {notice.what}.", notice.next_step) if part)


class RefusedByFiles(ModelError):
    """Nothing can be started, for reasons that stand in notices."""


def refusal(notices: Sequence[Notice]) -> RefusedByFiles:
    """Return the error for a sweep of which nothing is left; it names every reason."""
    first, *others = notices
    more = "".join(f"\nalso: {sentence(notice)}" for notice in others)
    return RefusedByFiles(f"{first.subject}: {first.what}", f"{first.next_step}{more}")
