"""What was tried again with other engine arguments, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tuner.records import Role, TrialRecord


def retries(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """Return one life of each retry: of the candidate, or of the baseline where the whole sweep was changed."""
    return [r for r in records if r.fix is not None and r.role is (Role.BASELINE if r.fix.whole else Role.CANDIDATE)]


def retried(record: TrialRecord) -> str:
    """Return in a word what was tried again."""
    return "the whole sweep" if record.fix and record.fix.whole else record.label


def fixed_warnings(records: Iterable[TrialRecord]) -> list[str]:
    """Return one sentence a change: what it was made for, and that it is compared within its own group alone."""
    notes: dict[str, list[str]] = {}
    for record in retries(records):
        if record.fix is not None:
            notes.setdefault(record.fix.note, []).append(retried(record))
    return [
        f"{', '.join(dict.fromkeys(labels))}: {note}; compared with a baseline of the same arguments"
        for note, labels in notes.items()
    ]


def fixed_section(records: Iterable[TrialRecord]) -> Iterator[str]:
    """Yield the section of the report; nothing where nothing was changed."""
    found = retries(records)
    if not found:
        return
    yield "## Tried again with other arguments"
    yield ""
    for record in found:
        came = (
            "measured" if record.failure is None else f"failed again: {record.failure.what or record.failure.message}"
        )
        yield f"- {retried(record)} (`trials/{record.name}`): {record.fix.note if record.fix else ''}: {came}"
    yield ""
    yield "Each is compared with its own baseline, started with the same arguments."
    yield ""
