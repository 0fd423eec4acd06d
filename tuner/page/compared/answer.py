"""Better, same, worse or cannot tell, and what follows."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.artifact.figures import MeasuredFigure
from tuner.artifact.model import Answer
from tuner.compare import Outcome
from tuner.compare.sides import Side
from tuner.compare.words import headline, notes, open_words, sentence
from tuner.page.compared.given import Compared
from tuner.page.view import Block, Code, Points, Tile
from tuner.page.view import Verdict as Card
from tuner.page.words import Words

_TONES = {Outcome.BETTER: "yes", Outcome.SAME: "yes", Outcome.WORSE: "no", Outcome.CANNOT_TELL: "open"}


def answer_blocks(of: Compared) -> Iterator[Block]:
    """Yield the verdict as a card."""
    found, words = of.found, of.words
    title = words.told(headline(found))
    yield Card(
        tone=_TONES[found.outcome],
        headline=title[:1].upper() + title[1:],
        where="",
        why=words.told(sentence(found)),
        tiles=tuple(_tiles(of)),
        notes=(words.told(found.attribution.words),),
    )


def _tiles(of: Compared) -> Iterator[Tile]:
    words, found = of.words, of.found
    first = found.best[0]
    for label, side, best in (("tile_old", of.old.side, first.old), ("tile_new", of.new.side, first.new)):
        found_speedup = answer_at(side, first.temperature).measured.expected_speedup
        value = "-" if found_speedup.value is None else f"{found_speedup.value:.2f}x"
        interval = interval_words(words, found_speedup)
        yield Tile(words(label), value, words("tile_of", interval=interval, what=best) if interval else best)
    deciding = [row for row in found.rows if row.decides]
    told = sum(row.outcome is not Outcome.CANNOT_TELL or row.not_worse for row in deciding)
    value = words("tile_judged_value", n=told, of=len(deciding))
    yield Tile(words("tile_judged"), value, words("tile_judged_detail"))
    changed = found.attribution.variables
    detail = words.told(", ".join(variable.value for variable in changed)) if changed else words("tile_changed_none")
    yield Tile(words("tile_changed"), str(len(changed)), detail)


def answer_at(side: Side, temperature: float) -> Answer:
    """Return the artifact's answer at a temperature."""
    return next(answer for answer in side.config.answers if answer.temperature == temperature)


def interval_words(words: Words, figure: MeasuredFigure) -> str:
    """Return "95 % interval 1.55-1.70"; "" where there is none, or none to speak of."""
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return ""
    return words("interval", low=f"{figure.low:.2f}", high=f"{figure.high:.2f}")


def advice_blocks(of: Compared) -> Iterator[Block]:
    """Yield what to deploy, what would settle what is open, and the sweeps that would name the cause."""
    words, found = of.words, of.found
    lines = [words(f"do_{found.outcome.name.lower()}", old=of.old.side.where)]
    for best in found.best:
        named = {"temperature": f"{best.temperature:g}", "old": words.told(best.old), "new": words.told(best.new)}
        lines.append(words("do_recommended" if best.changed else "do_unchanged", **named))
    yield Points((*lines, *(words.told(line.replace("`", "")) for line in open_words(found))))
    for sweep in found.attribution.sweeps:
        about, _, command = sweep.partition(": ")
        yield Code(f"{words('do_tell')} ({words.told(about)})", command)


def note_blocks(of: Compared) -> Iterator[Block]:
    """Yield what was not compared, notes, and records that could not be used."""
    apart, broken = of.found.not_compared, (*of.old.broken, *of.new.broken)
    lines = (*(f"not compared: {one}" for one in apart), *notes(of.found), *(f"left out: {one}" for one in broken))
    if lines:
        yield Points(tuple(map(of.words.told, lines)))
