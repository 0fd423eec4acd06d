"""What no single value of a search-space file can tell: engine arguments and drafts against the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tuner.records import Json, slug
from tuner.space.availability import guessed_method
from tuner.space.engine_flags import MANAGED, engine_arg_problem, known_engine_args
from tuner.space.explain import nearest, path_text, unknown_key
from tuner.space.file_model import DraftPart, SpaceFile
from tuner.space.methods import METHODS, Method, ModelNeed, option_problem
from tuner.space.old_flags import changed_draft, flag_name, new_method, old_flag
from tuner.space.search_space import DraftSpec
from tuner.space.yaml_lines import Loc, YamlText

_UNCHECKED = "If this engine has the flag and the tuner does not know it, put it under `unchecked_engine_args:`."
GPU_COUNTS = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
"""Engine arguments whose product is the number of GPUs of one engine."""


def check_engine_args(yaml: YamlText, file: SpaceFile) -> None:
    """Refuse unknown and managed engine arguments, bad values, and names that stand in two places.

    Raises SpaceError.
    """
    for name, value in file.engine_args.items():
        _check_arg(yaml, ("engine_args", name), [value])
    for name, values in file.choices.items():
        _check_arg(yaml, ("choices", name), values)
    for name in file.unchecked_engine_args:
        _refuse_managed(yaml, ("unchecked_engine_args", name))
    _check_once(yaml, file)
    for name in GPU_COUNTS:
        if len(file.choices.get(name, [])) > 1:
            message = f"{name} cannot be a choice: candidates would need different numbers of GPUs."
            raise yaml.error(("choices", name), message, f"Put one value under `engine_args:`; sweep once per {name}.")


def check_concurrency(yaml: YamlText, file: SpaceFile) -> None:
    """Refuse load points with more requests in flight than the engine takes into a batch.  Raises SpaceError.

    The others would queue, where they cost TTFT and no TPOT: the engine would look faster under load than it is.
    """
    given = [
        {**file.engine_args, **file.unchecked_engine_args}.get("max_num_seqs"),
        *file.choices.get("max_num_seqs", []),
    ]
    limit = min((value for value in given if isinstance(value, int)), default=None)
    for i, part in enumerate(file.load_points):
        if limit is not None and max(part.concurrency) > limit:
            message = f"load_points[{i}] has concurrency {max(part.concurrency)}, but max_num_seqs is {limit}."
            raise yaml.error(("load_points", i), message, "Raise `max_num_seqs:`, or leave that concurrency out.")


def check_batched_tokens(yaml: YamlText, file: SpaceFile) -> None:
    """Refuse a batch of fewer tokens than requests, which every engine refuses when it starts.  Raises SpaceError."""
    given = {**file.engine_args, **file.unchecked_engine_args}
    tokens, requests = given.get("max_num_batched_tokens"), given.get("max_num_seqs")
    if isinstance(tokens, int) and isinstance(requests, int) and tokens < requests:
        message = f"max_num_batched_tokens {tokens} is below max_num_seqs {requests}: the engine refuses it."
        raise yaml.error(("engine_args", "max_num_batched_tokens"), message, "Raise `max_num_batched_tokens:`.")


def check_metric(yaml: YamlText, file: SpaceFile) -> None:
    """Refuse E2E latency as the metric where the arms' answers may differ in length.  Raises SpaceError."""
    if file.objective.metric != "e2e":
        return
    for i, part in enumerate(file.load_points):
        warm = next((temperature for temperature in part.temperature if temperature > 0), None)
        if warm is not None and not part.ignore_eos:
            message = (
                f"objective.metric e2e: load_points[{i}] ({', '.join(part.eval_set)}) samples at temperature "
                f"{warm:g}, where the answers of the two arms differ in length."
            )
            way_out = "Add `ignore_eos: true` there, use temperature 0, or `metric: tpot`."
            raise yaml.error(("load_points", i), message, way_out)


def _check_arg(yaml: YamlText, loc: Loc, values: Sequence[Json]) -> None:
    name = str(loc[-1])
    _refuse_managed(yaml, loc)
    if name not in known_engine_args():
        raise unknown_key(yaml, loc, known_engine_args(), _UNCHECKED)
    for i, value in enumerate(values):
        if problem := engine_arg_problem(name, value):
            here = (*loc, i) if loc[0] == "choices" else loc
            raise yaml.error(here, f"{path_text(loc)} {problem}, not {value!r}.", f"Change `{name}:` there.")


def _refuse_managed(yaml: YamlText, loc: Loc) -> None:
    name = flag_name(loc[-1])
    if error := old_flag(yaml, loc):
        raise error
    if name in MANAGED:
        raise yaml.error(loc, f"{name} cannot be set as an engine argument.", MANAGED[name])


def _check_once(yaml: YamlText, file: SpaceFile) -> None:
    places: dict[str, str] = {}
    for place in ("engine_args", "choices", "unchecked_engine_args"):
        for name in getattr(file, place):
            if name in places:
                message = f"{name} stands under {places[name]} and under {place}."
                raise yaml.error((place, name), message, "Keep one of the two.")
            places[name] = place


def draft_specs(yaml: YamlText, file: SpaceFile) -> tuple[DraftSpec, ...]:
    """Return the drafts of the file, checked against the table of methods.  Raises SpaceError."""
    specs: list[DraftSpec] = []
    for i, part in enumerate(file.drafts):
        spec = _draft_spec(yaml, ("drafts", i), part, file.k)
        for j, other in enumerate(specs):
            if spec.name == other.name:
                message = f"drafts[{j}] and drafts[{i}] are both named {spec.name!r}."
                raise yaml.error(("drafts", i), message, "Give each a `name:` of its own.")
            if replace(spec, name="", ks=()) == replace(other, name="", ks=()):
                message = f"drafts[{i}] ({spec.name}) is the same as drafts[{j}] ({other.name})."
                raise yaml.error(("drafts", i), message, "Leave one of them out, and give the other all the K.")
        specs.append(spec)
    return tuple(specs)


def _draft_spec(yaml: YamlText, loc: Loc, part: DraftPart, shared_ks: Sequence[int] | None) -> DraftSpec:
    method = _method(yaml, (*loc, "method"), part.method)
    _check_model(yaml, loc, part, method)
    ks = part.k or shared_ks
    if not ks:
        message = f"{path_text(loc)} has no k, and the file has none for all drafts."
        raise yaml.error(loc, message, "Add `k: {min: 1, max: 8}` at the top of the file, or in the draft.")
    _check_options(yaml, (*loc, "options"), part, ks)
    return DraftSpec(_name(yaml, loc, part), part.method, part.model, part.options, tuple(ks))


def _method(yaml: YamlText, loc: Loc, name: str) -> Method:
    if name in METHODS:
        return METHODS[name]
    if new := new_method(name):
        step = changed_draft(yaml, loc, method=new)
        raise yaml.error(loc, f"{name!r} is an old name of the method {new}.", f"{step}\n{_since(new)}")
    near = nearest(name, METHODS)
    hint = f"; the nearest known one is {near!r}" if near else ""
    raise yaml.error(loc, f"unknown method {name!r}{hint}.", f"Known methods: {', '.join(METHODS)}.")


def _since(method: str) -> str:
    return f"vLLM has method {method} from {METHODS[method].first} on."


def _check_model(yaml: YamlText, loc: Loc, part: DraftPart, method: Method) -> None:
    if method.model is ModelNeed.REQUIRED and part.model is None:
        message = f"{path_text(loc)}: method {part.method} needs a model."
        raise yaml.error(loc, message, f"Add `model:`, {method.model_words}.")
    if method.model is ModelNeed.NONE and part.model is not None:
        message = f"{path_text(loc)}: method {part.method} takes no model, but {part.model!r} is given."
        raise yaml.error((*loc, "model"), message, "Leave `model:` out, or use method draft_model.")
    if part.model is None:
        return
    if method.model_pattern and not re.fullmatch(method.model_pattern, part.model):
        message = f"{path_text(loc)}: {part.model!r} is no model for method {part.method}."
        raise yaml.error((*loc, "model"), message, f"Write {method.model_words}.")
    if problem := taken_for_another(part.method, part.model):
        message, guess = problem
        step = changed_draft(yaml, (*loc, "model"), method=guess, **({"model": None} if guess == "ngram" else {}))
        raise yaml.error((*loc, "model"), f"{path_text(loc)}: {message}.", step)


def taken_for_another(method: str, model: str) -> tuple[str, str] | None:
    """Return why vLLM would not use `model` as a draft of `method`, and the method that it would use; None if it does.

    It goes by the path, whatever the method says. Here only the path's last part counts, which tells what the model is.
    """
    if method == "draft_model" and model in ("ngram", "[ngram]"):
        return f"a draft model named {model!r} stood for the method ngram in old releases", "ngram"
    found = guessed_method(method, model.rstrip("/").rpartition("/")[2])
    if found is None:
        return None
    guess, part = found
    return f"vLLM runs a draft with {part!r} in its name as method {guess}, and this is {model!r}", guess


_ELSEWHERE: Mapping[str, str] = {
    "num_speculative_tokens": "Write it as `k:` of the draft.",
    "method": "Write it as `method:` of the draft, one level up.",
    "model": "Write it as `model:` of the draft, one level up.",
}


def _check_options(yaml: YamlText, loc: Loc, part: DraftPart, ks: Sequence[int]) -> None:
    method = METHODS[part.method]
    for name in part.options:
        if name not in method.options:
            raise _unknown_option(yaml, (*loc, name), part, method.options)
    if found := option_problem(method, part.options, ks):
        name, problem = found
        message = f"{path_text((*loc, name))} {problem}."
        raise yaml.error((*loc, name), message, f"Change `{name}:` in the options of this draft.")


def _unknown_option(yaml: YamlText, loc: Loc, part: DraftPart, known: Iterable[str]) -> Exception:
    name = str(loc[-1])
    if name in _ELSEWHERE:
        return yaml.error(loc, f"{name!r} is no option of a draft.", _ELSEWHERE[name])
    if error := old_flag(yaml, loc):
        return error
    having = [other for other, method in METHODS.items() if name in method.options]
    if having:
        message = f"method {part.method} has no option {name!r}; methods that have it: {', '.join(having)}."
        return yaml.error(loc, message, "Leave it out, or change the method.")
    return unknown_key(yaml, loc, known)


def _name(yaml: YamlText, loc: Loc, part: DraftPart) -> str:
    if part.name is None:
        return default_name(part.method, part.model)
    if part.name == "none" or slug(part.name) != part.name:
        reason = "stands for no draft" if part.name == "none" else "is also a file name"
        message = f"{path_text((*loc, 'name'))}: {part.name!r} cannot be a draft's name, which {reason}."
        raise yaml.error((*loc, "name"), message, "Use letters, digits, '.', '_' and '-'.")
    return part.name


def default_name(method: str, model: str | None) -> str:
    """Return the name of a draft that was given none: the last part of its model's path or id, or its method."""
    if model is None:
        return method
    last = model.removeprefix("demo:").rstrip("/").rsplit("/", 1)[-1]
    name = slug(last)
    return f"{name}-draft" if name == "none" else name
