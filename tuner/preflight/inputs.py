"""Checks everything that can be known to fail before an engine is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tuner.errors import EvalSetError
from tuner.preflight.context import REPLACE_CONFIG, context_limit, trained_context
from tuner.preflight.lengths import PromptLengths, check_fit, prompts_in_use, summarise
from tuner.preflight.model_files import check_tokenizer, read_config
from tuner.preflight.models import find_model
from tuner.preflight.tokens import Counted, TokenizerSpec, chat_template_text, count_tokens, count_words
from tuner.records import EvalSet, Json, Prompt
from tuner.space.schema import SearchSpace


def check_inputs(
    space: SearchSpace,
    eval_sets: Mapping[str, EvalSet],
    *,
    python: str,
    simulated: bool,
    target: str,
    download: bool = False,
) -> dict[str, PromptLengths]:
    """Check chat template and prompt lengths of a space; return the lengths by eval set.

    target: the directory that `check_target` returned (not read for the simulated engine, which counts words).
    Raises InputError: ModelError for a tokenizer or chat template, EvalSetError for a prompt.
    """
    in_use = prompts_in_use(eval_sets, space.load_points)
    if simulated:
        unit, limit = "words", context_limit(_max_model_lens(space), None)
        counts = {name: _all_counted(name, prompts, count_words(prompts)) for name, prompts in in_use.items()}
    else:
        tokenizer = _tokenizer(space, target, python, download)
        unit, limit = "tokens", _limit(space, Path(target))
        counts = _count_in_one_go(in_use, tokenizer)
    if limit is not None:
        for point in space.load_points:
            check_fit(point, in_use[point.eval_set], counts[point.eval_set], limit, unit)
    return {name: summarise(lengths, unit, limit) for name, lengths in counts.items()}


def _max_model_lens(space: SearchSpace) -> tuple[Json, ...]:
    if "max_model_len" in space.choices:
        return space.choices["max_model_len"]
    return (space.engine_args["max_model_len"],) if "max_model_len" in space.engine_args else ()


def _limit(space: SearchSpace, target: Path) -> int | None:
    replaced = any(space.engine_args.get(name) for name in REPLACE_CONFIG)
    trained = None if replaced else trained_context(read_config(target, "target"))
    return context_limit(_max_model_lens(space), trained)


def _tokenizer(space: SearchSpace, target: str, python: str, download: bool) -> TokenizerSpec:
    args = space.engine_args
    directory = tokenizer_directory(args, target, python=python, download=download)
    template = chat_template_text(args.get("chat_template"))
    return TokenizerSpec(python, directory, args.get("trust_remote_code") is True, template)


def tokenizer_directory(engine_args: Mapping[str, Json], target: str, *, python: str, download: bool = False) -> str:
    """Return where the engine takes the tokenizer from: the target's directory unless an argument names another.

    Raises ModelError if that one has no tokenizer.
    """
    named = engine_args.get("tokenizer")
    if not isinstance(named, str) or not named:
        return target
    directory = find_model(named, "tokenizer", download=download, python=python)
    check_tokenizer(directory, "tokenizer")
    return str(directory)


def _count_in_one_go(in_use: Mapping[str, Sequence[Prompt]], tokenizer: TokenizerSpec) -> dict[str, tuple[int, ...]]:
    """Count all sets in one run of the script: loading the tokenizer is what costs time."""
    counted = count_tokens([prompt for prompts in in_use.values() for prompt in prompts], tokenizer)
    counts: dict[str, tuple[int, ...]] = {}
    begin = 0
    for name, prompts in in_use.items():
        end = begin + len(prompts)
        problems = {index - begin: why for index, why in counted.problems.items() if begin <= index < end}
        counts[name] = _all_counted(name, prompts, Counted(counted.counts[begin:end], problems))
        begin = end
    return counts


def _all_counted(name: str, prompts: Sequence[Prompt], counted: Counted) -> tuple[int, ...]:
    """Return the counts, all known; EvalSetError if the chat template refused a prompt."""
    for index, why in counted.problems.items():
        message = f"prompt {prompts[index].id!r} of eval set {name!r} is refused by the chat template: {why}"
        raise EvalSetError(message, "Change its messages (roles, order), or use another chat template.")
    return tuple(count for count in counted.counts if count is not None)
