"""Do target and draft speak of the same tokens?

vLLM (checked in 0.32.0, config/speculative.py, verify_equal_vocab_size_if_draft_model) compares the integer vocab_size
of method draft_model alone, unless use_heterogeneous_vocab is set; it never looks at what the ids stand for. The token
ids of the draft are then judged by the target, so a draft of another tokenizer runs and nearly nothing is accepted.
"""

from __future__ import annotations

from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules.setting import Setting
from tuner.records import Json
from tuner.records.notice import Level, Notice
from tuner.space.methods import METHODS
from tuner.space.versions import release

FEW = 0.01
"""Share of the ids up to which two token maps count as the same but for some tokens."""
_MUCH_SHARED = 0.5
_OPTION = "use_heterogeneous_vocab"


def padded_size(setting: Setting) -> Notice | None:
    """The token maps agree where both have a token, and the integer sizes differ: the engine refuses it."""
    found, comparison = _sizes(setting), setting.comparison
    if found is None or found[0] == found[1] or comparison is None or comparison.conflicting_share > FEW:
        return None
    target, draft = found
    same = f"its tokens are the target's{f' (except {comparison.conflicting})' if comparison.conflicting else ''}"
    names = f"{setting.draft.reference} OUT --like {setting.target.reference}" if setting.draft else ""
    return setting.about_draft(
        "padded_vocab_size",
        Level.ERROR,
        f"{same}, but its vocab_size is {draft} and the target's {target}: the engine refuses it",
        f"Run `tuner models pad {names}` and use OUT as the draft{_or_heterogeneous(setting)}.",
        target_vocab_size=target,
        draft_vocab_size=draft,
        **_evidence(setting),
    )


def different(setting: Setting) -> Notice | None:
    """Sizes and token maps differ: the engine refuses it."""
    found = _sizes(setting)
    if found is None or found[0] == found[1]:
        return None
    if setting.comparison is not None and setting.comparison.conflicting_share <= FEW:
        return None
    target, draft = found
    known = "and its tokenizer is another one" if setting.comparison else "(its tokens could not be compared)"
    return setting.about_draft(
        "different_vocabulary",
        Level.ERROR,
        f"its vocab_size is {draft} and the target's {target} {known}: the engine refuses it",
        f"Take a draft of the target's own family{_or_heterogeneous(setting)}.",
        target_vocab_size=target,
        draft_vocab_size=draft,
        **_evidence(setting),
    )


def different_tokenizer_same_size(setting: Setting) -> Notice | None:
    """Equal sizes, other tokens: the engine starts it without a word."""
    comparison = setting.comparison
    if not _one_size(setting) or comparison is None or comparison.conflicting_share <= FEW:
        return None
    return setting.about_draft(
        "different_tokenizer_same_size",
        Level.WARNING,
        f"its tokenizer is another one: {comparison.conflicting} of {comparison.draft_tokens} token ids stand for "
        f"another text than the target's. The engine starts it without a word, and hardly any token will be accepted",
        f"Take a draft of the target's own family{_or_heterogeneous(setting)}.",
        **_evidence(setting),
    )


def some_tokens_differ(setting: Setting) -> Notice | None:
    """Equal sizes, nearly the same tokens, as between generations of one family."""
    comparison = setting.comparison
    if not _one_size(setting) or comparison is None or comparison.same or comparison.conflicting_share > FEW:
        return None
    return setting.about_draft(
        "some_tokens_differ",
        Level.HINT,
        f"{comparison.differing} of its token ids are not the target's: where one of them comes up, the draft is wrong",
        "",
        **_evidence(setting),
    )


def end_token_differs(setting: Setting) -> Notice | None:
    """The draft ends its answers with another token, as a base model does beside an instruct model."""
    draft = setting.draft.vocabulary if setting.draft and setting.method == "draft_model" else None
    target = setting.target.vocabulary
    if draft is None or target is None or setting.comparison is None or setting.comparison.conflicting:
        return None
    own, wanted = draft.special.get("eos_token"), target.special.get("eos_token")
    if own is None or wanted is None or own == wanted:
        return None
    return setting.about_draft(
        "end_token_differs",
        Level.HINT,
        f"its end-of-text token is {draft.texts[own]!r} and the target's {target.texts[wanted]!r}: is it a base model "
        f"beside an instruct model? The target's chat format is then new to it",
        "Take the instruct variant as the draft, if there is one.",
        target_eos=wanted,
        draft_eos=own,
    )


def not_compared(setting: Setting) -> Notice | None:
    """One of both has no tokenizer that can be read, so only the sizes are known."""
    if not _one_size(setting) or setting.comparison is not None or setting.draft is None:
        return None
    which = "it" if setting.draft.vocabulary is None else "the target"
    return setting.about_draft(
        "tokens_not_compared",
        Level.HINT,
        f"{which} has no tokenizer that can be read, so only the vocabulary sizes were compared",
        "Copy the tokenizer's files of its base model beside it, to have its tokens compared.",
    )


def little_shared(setting: Setting) -> Notice | None:
    """use_heterogeneous_vocab lets the draft propose only what both vocabularies have."""
    comparison = setting.comparison
    if setting.option(_OPTION) is not True or comparison is None or not comparison.target_tokens:
        return None
    share = comparison.shared / comparison.target_tokens
    if share >= _MUCH_SHARED:
        return None
    return setting.about_draft(
        "little_shared_vocabulary",
        Level.WARNING,
        f"only {share:.0%} of the target's tokens are also the draft's: with {_OPTION} it can propose no others",
        "Take a draft with more tokens in common.",
        shared_tokens=comparison.shared,
    )


def draft_rows(setting: Setting) -> Notice | None:
    """The draft's weights have another number of rows than its config.json says."""
    if setting.draft is None or setting.method != "draft_model":
        return None
    if (problem := rows_problem(setting.draft)) is None:
        return None
    return setting.about_draft("embedding_rows_differ", _rows_level(setting.draft), *problem)


def target_rows(setting: Setting) -> Notice | None:
    """The target's weights have another number of rows than its config.json says."""
    if setting.engine_args.get("load_format") == "dummy" or (problem := rows_problem(setting.target)) is None:
        return None
    return setting.about_target("embedding_rows_differ", _rows_level(setting.target), *problem)


def rows_problem(model: ModelFiles) -> tuple[str, str] | None:
    """Return what is wrong with the real rows, and what to do; None if they are right or not known.

    vLLM asserts it at loading (0.32.0, model_executor/layers/vocab_parallel_embedding.py, weight_loader).
    """
    for what, rows in (("embedding", model.embedding_rows), ("output matrix", model.output_rows)):
        if rows is not None and model.vocab_size is not None and rows != model.vocab_size:
            return (
                f"config.json says vocab_size {model.vocab_size}, and the {what} has {rows} rows: it cannot be loaded",
                f"Set vocab_size to {rows} in its config.json if the weights are right, or get the model again.",
            )
    return None


def _rows_level(model: ModelFiles) -> Level:
    """Models of other media may have rows of their own for these (Llama 3.2 Vision: 8), which their loader expects."""
    return Level.WARNING if model.media else Level.ERROR


def _sizes(setting: Setting) -> tuple[int, int] | None:
    """Return target's and draft's integer size where the engine compares them."""
    if setting.draft is None or setting.method != "draft_model" or setting.option(_OPTION) is True:
        return None
    target, draft = setting.target.vocab_size, setting.draft.vocab_size
    return (target, draft) if target is not None and draft is not None else None


def _one_size(setting: Setting) -> bool:
    sizes = _sizes(setting)
    return sizes is not None and sizes[0] == sizes[1]


def _or_heterogeneous(setting: Setting) -> str:
    since = METHODS["draft_model"].options[_OPTION].since
    if release(setting.version) < release(since):
        return ""
    return f", or set the draft's option {_OPTION}: true (it then proposes only tokens that both have)"


def _evidence(setting: Setting) -> dict[str, Json]:
    comparison, draft = setting.comparison, setting.draft
    if comparison is None or draft is None or draft.vocabulary is None or setting.target.vocabulary is None:
        return {}
    return {
        "differing_ids": comparison.differing,
        "first_difference": list(comparison.first) if comparison.first else None,
        "target_tokens_sha256": setting.target.vocabulary.sha256[:16],
        "draft_tokens_sha256": draft.vocabulary.sha256[:16],
    }
