"""A comparison in words: one sentence, and the cells of its tables. The only place here that formats numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.compare.causes import About, Cause
from tuner.compare.comparison import Comparison
from tuner.compare.figures import FIGURES
from tuner.compare.judged import Row, Value
from tuner.compare.rule import Outcome

_SPECULATION = {
    Outcome.BETTER: "speculation got better",
    Outcome.SAME: "speculation is as it was",
    Outcome.WORSE: "speculation got worse",
    Outcome.CANNOT_TELL: "whether speculation changed cannot be told",
}
_ENGINE = {
    Outcome.BETTER: "the engine's baseline got faster",
    Outcome.SAME: "the engine's baseline is as fast as it was",
    Outcome.WORSE: "the engine's baseline got slower",
    Outcome.CANNOT_TELL: "whether the engine's baseline changed cannot be told",
}
COLUMNS = ("load point", "figure", "setting", "OLD", "NEW", "NEW / OLD", "tolerance", "verdict")


def sentence(found: Comparison) -> str:
    """Return what happened, in one sentence that keeps speculation and the engine without it apart."""
    said = found.conclusion
    parts = []
    if said.speculation is not None:
        parts.append(_SPECULATION[said.speculation] + _because(found, "speculation"))
    parts.append(_ENGINE[said.engine] + _because(found, "engine"))
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _because(found: Comparison, about: About) -> str:
    told = [_told(cause, found.rows) for cause in found.causes if cause.about == about]
    told += _open_parts(found) if about == "speculation" else []
    return f" ({'; '.join(told)})" if told else ""


def _open_parts(found: Comparison) -> list[str]:
    """Return what is known of speculation's parts where it is open whether it changed."""
    if found.conclusion.speculation is not Outcome.CANNOT_TELL:
        return []
    parts = []
    for figure in ("acceptance_length", "step_cost"):
        outcomes = {row.outcome for row in found.rows if row.figure == figure}
        if outcomes:
            state = "is as it was" if outcomes == {Outcome.SAME} else "cannot be told"
            parts.append(f"{FIGURES[figure].words} {state}")
    return parts


def _told(cause: Cause, rows: Sequence[Row]) -> str:
    """Return the cause without its own words where what stands before it says the same."""
    words = cause_words(cause, rows)
    return words.removeprefix(f"{cause.words}: ") if cause.rows[0].figure == "baseline_tpot" else words


def cause_words(cause: Cause, rows: Sequence[Row]) -> str:
    """Return "fewer tokens are accepted: acceptance length 0.900x (0.890-0.910) at chat, concurrency 1, ..."."""
    figure = cause.rows[0].figure
    of_all = len({row.load_point.key for row in rows if row.figure == figure})
    furthest = max(cause.rows, key=lambda row: abs((row.ratio.value or 1.0) - 1.0))
    where = "at " + " and at ".join(row.load_point.label for row in cause.rows)
    if len(cause.rows) == of_all > 1:
        where = f"at all {of_all} load points"
    if len(cause.rows) > 1:
        where = f"where it changed most, seen {where}"
    named = "" if figure == "step_cost" else f"{FIGURES[figure].words} "  # the cause's own words name it
    return f"{cause.words}: {named}{times(furthest.ratio)} {where}"


def times(ratio: Value) -> str:
    """Return "0.904x (0.893-0.915)", "-" where it is not known."""
    if ratio.value is None:
        return "-"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.3f}x"
    return f"{ratio.value:.3f}x ({ratio.low:.3f}-{ratio.high:.3f})"


def value_words(value: Value, unit: str) -> str:
    """Return a value with its 95 % interval: seconds as milliseconds."""
    if value.value is None:
        return "-"
    scale, ending = (1000.0, " ms") if unit == "s" else (1.0, "x" if unit == "x" else "")
    text = f"{scale * value.value:.4g}{ending}"
    if value.low is None or value.high is None:
        return text
    return f"{text} ({scale * value.low:.4g}-{scale * value.high:.4g})"


def cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a row, in the order of COLUMNS."""
    return (
        row.load_point.label,
        FIGURES[row.figure].words,
        row.of,
        value_words(row.old, row.unit),
        value_words(row.new, row.unit),
        times(row.ratio),
        f"{100 * row.tolerance:g} %",
        _outcome_words(row),
    )


def _outcome_words(row: Row) -> str:
    words = "same or better" if row.outcome is Outcome.CANNOT_TELL and row.not_worse else row.outcome.value
    return words if row.decides else f"{words} (explains)"


def taken_apart(found: Comparison) -> list[str]:
    """Return, for each load point, the change of the speedup and of what it is made of (see tuner.compare.causes)."""
    by_load: dict[str, dict[str, Row]] = {}
    for row in found.rows:
        by_load.setdefault(row.load_point.label, {})[row.figure] = row

    def ratio(at: dict[str, Row], figure: str) -> str:
        value = at[figure].ratio.value if figure in at else None
        return "unknown" if value is None else f"{value:.3f}x"

    return [
        f"{label}: speedup {ratio(at, 'speedup')}, from the baseline's TPOT {ratio(at, 'baseline_tpot')} over "
        f"TPOT {ratio(at, 'tpot')}; acceptance length {ratio(at, 'acceptance_length')}, "
        f"cost of a step with a draft {ratio(at, 'step_cost')}"
        for label, at in by_load.items()
        if "speedup" in at
    ]


def headline(found: Comparison) -> str:
    """Return the verdict in a word or two, with what it means for who waits on it."""
    return {
        Outcome.BETTER: "better",
        Outcome.SAME: "the same, or better, within the tolerances",
        Outcome.WORSE: "worse",
        Outcome.CANNOT_TELL: "cannot tell",
    }[found.outcome]


def confidence_words(found: Comparison) -> str:
    """Return what the intervals are."""
    levels = found.confidences
    return (
        f"Intervals of NEW / OLD hold at {100 * levels.deciding:.2f} % each where they decide and "
        f"{100 * levels.explaining:.2f} % where they explain, so that all together do in 95 % of comparisons or more. "
        "Worse and better need the interval beyond the tolerance, same needs it inside. OLD and NEW have 95 %."
    )


def open_words(found: Comparison) -> list[str]:
    """Return what would settle the figures that decide and cannot be told."""
    open_rows = [row for row in found.rows if row.decides and row.outcome is Outcome.CANNOT_TELL and not row.not_worse]
    if not open_rows:
        return []
    lines = []
    needed = [row.needs_lives for row in open_rows if row.needs_lives is not None]
    if needed:
        lives = max(needed)
        lines.append(
            f"{len(needed)} of {len(open_rows)} open figures would be settled by about {lives} engine lives in each "
            f"sweep (`protocol: lives: {lives}` in the search space)."
        )
    near = [row for row in open_rows if row.needs_lives is None and row.ratio.low is not None]
    if near:
        lines.append(
            f"{len(near)} of {len(open_rows)} open figures would not soon be settled by more lives: too near the edge "
            "of the tolerance for what they vary by."
        )
    blind = [row for row in open_rows if row.ratio.low is None]
    if blind:
        lines.append(
            f"{len(blind)} of {len(open_rows)} open figures have no interval: lives of an engine differ, and one life "
            "does not say by how much. Sweep with `protocol: lives:` of 4 or more, and give run directories or "
            "registry entries rather than files."
        )
    return lines


def notes(found: Comparison) -> list[str]:
    """Return the notes of rows, each once, with where it holds, then those of the comparison."""
    by_note: dict[str, list[str]] = {}
    for row in found.rows:
        if row.note:
            by_note.setdefault(row.note, []).append(FIGURES[row.figure].words)
    return [f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in by_note.items()] + list(found.notes)
