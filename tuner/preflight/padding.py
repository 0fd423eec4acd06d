"""How many vocabulary rows a padded draft needs, and whether padding is what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tuner.errors import ModelError
from tuner.preflight.examine import Models, read_models
from tuner.preflight.models import check_draft, check_target
from tuner.preflight.rules.vocabulary import FEW

_OTHER_DRAFT = "Take a draft of the target's own family."


@dataclass(frozen=True)
class Wanted:
    """What is to be padded: the draft's directory, and to how many rows.  note: what could not be checked, or ""."""

    draft: Path
    rows: int
    note: str = ""


def rows_for(draft: str, target: str, *, python: str, download: bool = False) -> Wanted:
    """Return what it takes to give `draft` the target's vocabulary size.

    draft, target: directories, `demo:NAME` or hub ids.  Raises ModelError where padding cannot help: another tokenizer,
    equal sizes, tokens that the target has no room for, a model that is missing.
    """
    here = check_draft(draft, draft, download=download, python=python)
    there = check_target(target, download=download, python=python)
    models = read_models((there, target), {draft: (here, draft)}, python=python)
    return Wanted(Path(here), *_rows(models, draft))


def _rows(models: Models, name: str) -> tuple[int, str]:
    target, draft = models.target, models.drafts[name]
    comparison = models.comparisons.get(name)
    if target.vocab_size is None:
        raise ModelError(f"{target.reference}: its config.json names no vocab_size", "Is it a language model?")
    note = "" if comparison else "the token maps could not be compared: one of both has no tokenizer that can be read"
    if comparison is not None and comparison.conflicting:
        assert comparison.first is not None
        number, wanted, own = comparison.first
        note = (
            f"{comparison.conflicting} token ids stand for another text, first id {number} ({own!r}, the target's is "
            f"{wanted!r}): where one of them comes up, the draft is wrong"
        )
    if comparison is not None and comparison.conflicting_share > FEW:
        raise ModelError(
            f"{draft.reference} has another tokenizer: {comparison.conflicting} token ids stand for another text, "
            f"first id {number} ({own!r}, the target's is {wanted!r}); padding cannot help",
            _OTHER_DRAFT,
        )
    if draft.embedding_rows == draft.vocab_size == target.vocab_size:
        raise ModelError(f"{draft.reference} has vocab_size {target.vocab_size} already", "Use it as it is.")
    if draft.vocabulary is not None and draft.vocabulary.size > target.vocab_size:
        raise ModelError(
            f"{draft.reference} has token ids up to {draft.vocabulary.size - 1}, and the target's vocab_size is "
            f"{target.vocab_size}: the rows of real tokens would be cut",
            _OTHER_DRAFT,
        )
    return target.vocab_size, note
