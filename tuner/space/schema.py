"""From a search-space file to a SearchSpace, or one message that says where the file is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from pydantic import ValidationError

from tuner.errors import SpaceError
from tuner.records import Goal, LoadPoint, Metric, Protocol, Sampling, slug
from tuner.space.checks import (
    check_batched_tokens,
    check_concurrency,
    check_engine_args,
    check_metric,
    default_name,
    draft_specs,
    taken_for_another,
)
from tuner.space.explain import nearest, validation_error
from tuner.space.file_model import LEAST_LIVES, LoadPart, ObjectivePart, ProtocolPart, SpaceFile
from tuner.space.old_flags import new_form
from tuner.space.search_space import DraftSpec, Limits, Objective, SearchSpace
from tuner.space.shipped import shipped_dir, shipped_names
from tuner.space.traffic import read_traffic, weighted
from tuner.space.yaml_lines import YamlText, read_yaml

__all__ = ["DraftSpec", "Limits", "Objective", "SearchSpace", "find_space", "load_space"]

KIND = "search_spaces"
SUFFIX = ".yaml"


def find_space(name_or_path: str) -> Path:
    """Return the file of a search space: a path, or the name of one that comes with the tuner.  Raises SpaceError."""
    path = Path(name_or_path)
    try:
        if path.is_file():
            return path
    except OSError as error:  # a folder without permission, a name longer than names can be
        raise SpaceError(f"{name_or_path[:80]} cannot be read: {error.strerror}.", "Check the path.") from error
    names = shipped_names(KIND, SUFFIX)
    if name_or_path in names:
        return shipped_dir(KIND) / f"{name_or_path}{SUFFIX}"
    near = nearest(path.stem, names)
    hint = f"; the nearest shipped one is {near!r}" if near else ""
    what = "is a directory, not a search-space file" if path.is_dir() else "is neither a file nor a shipped space"
    raise SpaceError(f"Search space {name_or_path!r} {what}{hint}.", f"Name a YAML file, or one of {', '.join(names)}.")


def load_space(
    name_or_path: str,
    *,
    target: str | None = None,
    eval_set: str | None = None,
    drafts: Sequence[str] = (),
    draft_k: int | None = None,
) -> SearchSpace:
    """Read and check a search space.

    target, eval_set: instead of the file's.  drafts: models of draft_model drafts beside the file's, at the file's K,
    or at draft_k where the file has none.
    Raises SpaceError with file:line, the key, the nearest known key and the next step.
    """
    yaml = read_yaml(find_space(name_or_path))
    file = _validated(yaml)
    check_engine_args(yaml, file)
    check_concurrency(yaml, file)
    check_batched_tokens(yaml, file)
    check_metric(yaml, file)
    traffic = read_traffic(yaml, file)
    all_drafts = _with_named_drafts(yaml, file, draft_specs(yaml, file), drafts, draft_k)
    return SearchSpace(
        name=slug(yaml.path.stem),
        description=file.description,
        source=yaml.text,
        target=target or file.target,
        drafts=all_drafts,
        load_points=weighted(_load_points(yaml, file.load_points, eval_set), traffic),
        traffic=traffic,
        engine_args={**file.engine_args, **file.unchecked_engine_args},
        env=file.env,
        choices={name: tuple(values) for name, values in file.choices.items()},
        protocol=_protocol(file.protocol),
        objective=_objective(file.objective),
        limits=Limits(**file.limits.model_dump()),
        sampler=file.search.sampler,
    )


def _validated(yaml: YamlText) -> SpaceFile:
    if not isinstance(yaml.value, dict):
        what = "is empty" if yaml.value is None else "does not hold keys with values"
        raise yaml.error((), f"the search space {what}.", "Start from a copy of one in search_spaces/.")
    try:
        return SpaceFile.model_validate(yaml.value)
    except ValidationError as error:
        raise validation_error(yaml, error) from error


def _with_named_drafts(
    yaml: YamlText, file: SpaceFile, specs: tuple[DraftSpec, ...], models: Sequence[str], k: int | None
) -> tuple[DraftSpec, ...]:
    """Return `specs` with one draft_model draft for each of `models`; each name is made unique."""
    ks = tuple(file.k or ([k] if k else []))
    if models and not ks:
        raise yaml.error((), "there is no k for the drafts named beside the file.", "Add `k: {min: 1, max: 8}`.")
    for model in models:
        if not model.strip():
            raise SpaceError("A draft was named with an empty path.", "Give a model directory or hub id.")
        if problem := taken_for_another("draft_model", model):
            message, _ = problem
            step = f"Write it in the search space, and leave --draft out. {new_form({'speculative_model': model})}"
            raise SpaceError(f"--draft {model}: {message}.", step)
        spec = DraftSpec(default_name("draft_model", model), "draft_model", model, {}, ks)
        taken = {other.name for other in specs}
        if any(other.model == model and other.method == spec.method and not other.options for other in specs):
            raise SpaceError(f"Draft {model!r} is named twice.", "Name it once, in the file or beside it.")
        free = (f"{spec.name}-{n}" for n in range(2, len(taken) + 3))
        specs += (replace(spec, name=next(name for name in (spec.name, *free) if name not in taken)),)
    if not specs:
        raise yaml.error(("drafts",), "no drafts, so there is nothing to compare.", _NO_DRAFTS)
    return specs


_NO_DRAFTS = "Add `drafts: [{method: ngram}]`, or name a draft model with --draft."


def _load_points(yaml: YamlText, parts: Sequence[LoadPart], eval_set: str | None) -> tuple[LoadPoint, ...]:
    """Return every load point in the file's order; with another eval set, points that become equal count once."""
    points: dict[str, LoadPoint] = {}
    for i, part in enumerate(parts):
        for point in _expanded(part, [eval_set] if eval_set else part.eval_set):
            if point.key in points and not eval_set:
                message = f"the load point {point.label!r} is there twice."
                raise yaml.error(("load_points", i), message, "Leave one of the two out.")
            points.setdefault(point.key, point)
    return tuple(points.values())


def _expanded(part: LoadPart, eval_sets: Sequence[str]) -> list[LoadPoint]:
    return [
        LoadPoint(
            eval_set=eval_set,
            concurrency=concurrency,
            max_tokens=part.max_tokens,
            sampling=Sampling(float(temperature), float(part.top_p), part.top_k, part.seed),
            ignore_eos=part.ignore_eos,
            num_prompts=part.num_prompts,
            weight=float(part.weight),
        )
        for eval_set, temperature, concurrency in product(eval_sets, part.temperature, part.concurrency)
    ]


def _objective(part: ObjectivePart) -> Objective:
    return Objective(Goal(Metric(part.metric), **part.limits.model_dump()), part.inflection_threshold)


def _protocol(part: ProtocolPart) -> Protocol:
    """Return the protocol; one that proves less than the default says so even if the file does not."""
    least = {"repeats": ProtocolPart().repeats[0], "lives": LEAST_LIVES}
    less = []
    if part.repeats[0] < least["repeats"]:
        less.append(f"{part.repeats[0]} instead of {least['repeats']} repeats")
    if part.lives[0] < least["lives"]:
        less.append(f"{part.lives[0]} instead of {least['lives']} fresh engine lives of the finalists")
    if not part.baseline_again:
        less.append("the baseline is not measured again at the end, so drift is unknown")
    fields = part.model_dump() | {
        "repeats": part.repeats[0],
        "max_repeats": part.repeats[1],
        "lives": part.lives[0],
        "max_lives": part.lives[1],
        "reduced": part.reduced.strip() or (f"{'; '.join(less)}." if less else ""),
    }
    return Protocol(**fields)
