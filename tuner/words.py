"""Numbers as people read them: milliseconds, multiples, intervals. The only place that formats."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.records import Answer, Figure, TrialFigures, TrialRecord, Verdict

VERDICT_WORDS = {
    Verdict.SPECULATE: "speculate",
    Verdict.SPECULATE_BELOW: "speculate, but only below {below} concurrent requests",
    Verdict.DO_NOT: "do not speculate",
    Verdict.INCONCLUSIVE: "inconclusive: do not speculate until a better measurement says so",
}


def times(figure: Figure, *, interval: bool = True) -> str:
    """Return "1.72x (1.65-1.79)", or "-" when undefined."""
    if figure.value is None:
        return "-"
    if interval and figure.low is not None and figure.high is not None:
        return f"{figure.value:.2f}x ({figure.low:.2f}-{figure.high:.2f})"
    return f"{figure.value:.2f}x"


def milliseconds(figure: Figure) -> str:
    """Return "8.01 ms" from a figure in seconds, or "-" when undefined."""
    return "-" if figure.value is None else f"{1000 * figure.value:.4g} ms"


def plain(figure: Figure, digits: int = 2) -> str:
    """Return the bare number, or "-" when undefined."""
    return "-" if figure.value is None else f"{figure.value:.{digits}f}"


def duration(seconds: float) -> str:
    """Return "45 s", "3 min 20 s" or "2 h 05 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def verdict_words(answer: Answer) -> str:
    """Return the verdict as a phrase that names K and draft: "speculate: good, K = 4"."""
    phrase = VERDICT_WORDS[answer.verdict].format(below=answer.below)
    if answer.best.speculation is None or answer.verdict not in (Verdict.SPECULATE, Verdict.SPECULATE_BELOW):
        return phrase
    return f"{phrase}: {answer.best.draft_name}, K = {answer.best.k}"


def trial_words(record: TrialRecord, figures: TrialFigures | None) -> str:
    """Return a finished trial in a line: its figures by load point, or why it has none."""
    if record.failure is not None:
        return f"failed ({record.failure.kind.value}): {record.failure.message}"
    if figures is None:
        return "measured"
    return "; ".join(_load_words(load.figures) for load in figures.loads)


def _load_words(figures: Mapping[str, Figure]) -> str:
    words = f"TPOT {milliseconds(figures['tpot_s'])}"
    speedup = figures.get("speedup_tpot")
    return words if speedup is None else f"{words}, {times(speedup)}"
