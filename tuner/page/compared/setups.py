"""What is not the same in the two set-ups, and what engines needed to start and to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from tuner.artifact.beside import Room
from tuner.compare import Read
from tuner.compare.changes import Change
from tuner.page.compared.answer import answer_at
from tuner.page.compared.given import Compared
from tuner.page.sections.basis import MEMORY_COLUMNS, memory_cells, used_columns
from tuner.page.view import Block, Cell, Table, Text, texts
from tuner.page.words import Words
from tuner.records import Candidate, Json, Trial


def setup_blocks(of: Compared) -> Iterator[Block]:
    """Yield every recorded difference, with the variable that it may be the cause by."""
    words, changes = of.words, of.found.attribution.changes
    if not changes:
        yield Text(words("setups_same"))
        return
    head = texts([words(n) for n in ("col_field", "col_old", "col_new", "col_cause")], numbers_from=4)
    yield Table(words("setups_of"), head, tuple(_change(words, change) for change in changes))


def _change(words: Words, change: Change) -> tuple[Cell, ...]:
    one = change.difference
    cause = words.told(change.variable.value) if change.variable else words("setups_no_cause")
    cells = (one.field, _value(words, one.measured), _value(words, one.now), cause)
    return texts(cells, numbers_from=len(cells))


def _value(words: Words, value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return words("setups_none") if value is None else str(value)


def room_blocks(of: Compared) -> Iterator[Block]:
    """Yield how long engines took to start and what memory they had, with and without the recommended speculation."""
    words = of.words
    rows = [row for name, read in of.named for row in _rows(words, name, read)]
    used = used_columns([cells for _, _, cells in rows])
    timed = 2 if any(start[0] for _, start, _ in rows) else 0
    starts = [words(name) for name in ("col_start", "col_n")]
    head = [words("col_sweep"), *starts[:timed], *(words(MEMORY_COLUMNS[i]) for i in used)]
    body = [texts((label, *start[:timed], *(cells[i] for i in used))) for label, start, cells in rows]
    yield Text(words("room_about"))
    yield Table(words("room_of"), texts(head), tuple(body))
    for name, read in of.named:
        if not read.trials:
            yield Text(words("room_unknown", side=name))


_LabelledRow = tuple[str, tuple[str, str], Sequence[str]]


def _rows(words: Words, name: str, read: Read) -> Iterator[_LabelledRow]:
    first = read.side.answers[0]
    plain = Candidate(dict(first.best.engine_args))
    capacity = answer_at(read.side, first.temperature).capacity
    settings = [(plain, capacity.without_speculation), (first.best, capacity.with_speculation)]
    for setting, room in settings if first.best.k else settings[:1]:
        label = words("room_row", side=name, setting=setting.label if setting.k else words("room_plain"))
        lives = [trial for trial in read.trials if trial.record.candidate.key == setting.key and trial.record.ok]
        yield label, _start(lives), memory_cells(lives[0].record) if lives else _room(room)


def _start(lives: Sequence[Trial]) -> tuple[str, str]:
    times = [life.record.phases.start_s for life in lives]
    return (f"{median(times):.1f} s", str(len(times))) if times else ("", "")


def _room(room: Room | None) -> Sequence[str]:
    """Return the cells of `memory_cells` as far as an artifact alone knows them."""
    cells = dict.fromkeys(MEMORY_COLUMNS, "")
    if room is not None:
        cells["col_kv_tokens"] = f"{room.kv_cache_tokens:,}" if room.kv_cache_tokens else ""
        cells["col_kv_requests"] = f"{room.full_length_requests:.1f}" if room.full_length_requests else ""
    return tuple(cells.values())
