"""What holds now, and every sweep as text."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.identity.between import change_words
from tuner.page.past.charts import value_words
from tuner.page.past.given import Over, Sweep
from tuner.page.sections.answer import TONES
from tuner.page.view import Block, Cell, Points, Table, Tile
from tuner.page.view import Verdict as Card
from tuner.registry import Past
from tuner.words import verdict_phrase


def now_blocks(of: Over) -> Iterator[Block]:
    """Yield the newest answer at each temperature, and how often the verdict changed."""
    words = of.words
    for temperature in of.temperatures:
        sweeps = of.sweeps(temperature)
        last = sweeps[-1]
        yield Card(
            tone=TONES[last.answer.verdict],
            headline=_capital(_answer(of, last)),
            where=words("now_where", when=last.when, engine=last.engine, at=of.at(temperature)),
            why=words.told(last.answer.why),
            tiles=tuple(_tiles(of, last)),
            notes=(_changes(of, sweeps),),
        )


def _tiles(of: Over, last: Sweep) -> Iterator[Tile]:
    words, measured = of.words, last.answer.measured
    if last.setting.k:
        yield Tile(words("tile_speedup"), value_words(measured.expected_speedup))
    yield Tile(words("tile_lives"), str(measured.engine_lives))
    yield Tile(words("tile_sweeps"), str(len(of.sweeps(last.answer.temperature))))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _changes(of: Over, sweeps: list[Sweep]) -> str:
    words = of.words
    if len(sweeps) == 1:
        return words("now_only")
    told = [
        words(
            "now_change",
            when=sweep.when,
            old=words.told(sweep.before.value),
            new=words.told(sweep.answer.verdict.value),
        )
        for sweep in sweeps
        if sweep.changed
    ]
    return words("now_changed", changes="; ".join(told)) if told else words("now_kept", n=len(sweeps))


def _answer(of: Over, sweep: Sweep) -> str:
    limit = sweep.answer.recommended.limit
    up_to, below = (limit.up_to_concurrency, limit.slower_at_concurrency) if limit else (None, None)
    return of.words.told(verdict_phrase(sweep.answer.verdict, sweep.setting, up_to, below))


def sweep_blocks(of: Over) -> Iterator[Block]:
    """Yield the table that says what the charts show, and what changed from sweep to sweep."""
    words = of.words
    columns = ("col_when", "col_answer", "col_speedup", "col_lives", "col_engine", "col_changed")
    rows = []
    for temperature in of.temperatures:
        rows += [_row(of, sweep) for sweep in of.sweeps(temperature)]
    head = tuple(Cell(words(name), number=name in ("col_speedup", "col_lives")) for name in columns)
    yield Table(words("sweeps_of", target=of.found.target), head, tuple(rows))


def _row(of: Over, sweep: Sweep) -> tuple[Cell, ...]:
    words, measured = of.words, sweep.answer.measured
    return (
        Cell(f"{sweep.past.entry.kept_at:%Y-%m-%d %H:%M}", of.named(sweep.answer.temperature)),
        Cell(_answer(of, sweep), words("verdict_now") if sweep.changed else ""),
        Cell(value_words(measured.expected_speedup) if sweep.setting.k else "", number=True),
        Cell(str(measured.engine_lives), number=True),
        Cell(sweep.engine, ", ".join(sweep.past.config.measured_on.devices)),
        Cell(_changed(of, sweep.past)),
    )


def _changed(of: Over, past: Past) -> str:
    if past.changed is None:
        return of.words("sweeps_first")
    return ", ".join(change_words(one) for one in past.changed) or of.words("sweeps_nothing")


def broken_blocks(of: Over) -> Iterator[Block]:
    """Yield the entries that could not be read; nothing where there is none."""
    if of.found.broken:
        yield Points(of.found.broken)
