"""By concurrency: which K is best where, where speculation stops paying, and what one K brings over the traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tuner.analysis.levels import per_sweep_confidence
from tuner.records import (
    Answer,
    BestK,
    Candidate,
    Coverage,
    Crossover,
    DraftSurface,
    Effect,
    Findings,
    Metric,
    Surface,
    Traffic,
    Verdict,
)
from tuner.words import full_label, times

_ABOUT = (
    "Best: of what is clearly faster than no speculation the fastest, or the smallest such K of its draft that noise "
    "does not separate from it; no speculation where nothing is. What was measured faster still, and is not clearly "
    "so, stands among what noise does not exclude. Only measured K are compared. Each interval is one of 95 % by "
    "itself: for the verdict more is asked. Where a figure is of one engine life, it is that of the best of several, "
    "and too high on average."
)


@dataclass(frozen=True)
class Luck:
    """Why what pays in a table is no verdict.  needed: confidence of each claim, in words."""

    candidates: int
    needed: str


def looks_good_by_luck(findings: Findings, answer: Answer) -> Luck | None:
    """Return that many candidates were tried, where something pays by its own interval and yet nothing is recommended.

    None where the answer rests on fresh lives: those judge the finalists alone.
    """
    if answer.verdict is not Verdict.INCONCLUSIVE or answer.lives > 1 or answer.surface is None:
        return None
    barred = {one.candidate.key for one in findings.barred if one.temperature == answer.temperature}
    tried = {trial.candidate.key for trial in findings.trials if trial.candidate.k} - barred
    if len(tried) < 2 or not answer.surface.crossover.at(Effect.PAYS):
        return None
    return Luck(len(tried), f"{100 * per_sweep_confidence(len(tried)):.4g} %")


def surface_section(findings: Findings, names: Sequence[str]) -> Iterator[str]:
    """Yield the section; nothing where a single concurrency was measured.

    names: arguments that tell candidates apart.
    """
    for answer in findings.answers:
        surface = answer.surface
        if surface is None or len(surface.concurrencies) < 2 or not surface.best:
            continue
        at = f", temperature {answer.temperature:g}" if len(findings.answers) > 1 else ""
        yield f"## By concurrency{at}"
        yield ""
        yield from _table(surface, findings.traffic.get(answer.temperature), names)
        yield ""
        if len(surface.drafts) > 1:
            yield from _drafts(surface, findings, names)
            yield ""
        yield from _sentences(findings, answer, surface, names)
        luck = looks_good_by_luck(findings, answer)
        if luck:
            yield (
                f'"Pays" is said here by an interval of 95 % alone. It is not enough for a verdict: {luck.candidates} '
                f"candidates were tried, and one of them may look good by luck, so each claim has to be {luck.needed} "
                "sure."
            )
            yield ""
        yield _ABOUT
        yield ""


def _table(surface: Surface, covered: Coverage | None, names: Sequence[str]) -> Iterator[str]:
    columns = ["concurrency", "best", "speedup (95 %)", "lives", "not excluded by noise"]
    if covered:
        columns.insert(1, "share of busy time")
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---:|' * (len(columns) - 4)}---|---:|---:|---|"
    for concurrency in surface.concurrencies:
        best = surface.best.get(concurrency)
        cells = [str(concurrency), *(_best_cells(best, names) if best else ("none may win", "-", "-", "-"))]
        if covered:
            cells.insert(1, f"{covered.shares.get(concurrency, 0.0):.0%}")
        yield f"| {' | '.join(cells)} |"
    if surface.static:
        cells = ["one K for all", *_best_cells(surface.static, names)]
        if covered:
            cells.insert(1, f"{sum(covered.shares.values()):.0%}")
        yield f"| {' | '.join(cells)} |"


def _best_cells(best: BestK, names: Sequence[str]) -> tuple[str, str, str, str]:
    nearest = "" if best.best.k else f"nearest {full_label(best.fastest, names)}: "
    speedup = f"{nearest}{times(best.speedup)}"
    return full_label(best.best, names) if best.best.k else "none", speedup, str(best.lives), _open(best, names)


def _open(best: BestK, names: Sequence[str]) -> str:
    """Return "good K = 3, 4; no speculation"."""
    plain = [candidate for candidate in best.not_excluded if not candidate.k]
    parts = []
    ordered = sorted((c for c in best.not_excluded if c.k), key=lambda c: (_line(c, names), c.k))
    for line, of_line in groupby(ordered, key=lambda c: _line(c, names)):
        parts.append(f"{line[0]} K = {', '.join(str(c.k) for c in of_line)}{line[1]}")
    return "; ".join([*parts, *("no speculation" for _ in plain[:1])])


def _line(candidate: Candidate, names: Sequence[str]) -> tuple[str, str]:
    return candidate.draft_name, full_label(candidate, names).removeprefix(candidate.label)


def _drafts(surface: Surface, findings: Findings, names: Sequence[str]) -> Iterator[str]:
    args = {trial.candidate.args_key: trial.candidate.baseline for trial in findings.trials}
    yield f"| best K of each draft | {' | '.join(map(str, surface.concurrencies))} |"
    yield f"|---|{'---:|' * len(surface.concurrencies)}"
    for draft in surface.drafts:
        plain = args.get(draft.args_key)
        given = full_label(plain, names).removeprefix(plain.label) if plain else ""
        yield f"| {draft.draft_name}{given} | {' | '.join(_draft_cell(draft, c) for c in surface.concurrencies)} |"


def _draft_cell(draft: DraftSurface, concurrency: int) -> str:
    best = draft.best.get(concurrency)
    if best is None:
        return "-"
    if best.best.k:
        return f"K = {best.best.k}, {times(best.speedup)}"
    return f"none (nearest K = {best.fastest.k}, {times(best.speedup, interval=False)})"


def _sentences(findings: Findings, answer: Answer, surface: Surface, names: Sequence[str]) -> Iterator[str]:
    covered = findings.traffic.get(answer.temperature)
    static, words = surface.static, crossover_words(surface.crossover)
    if static:
        held = full_label(static.best if static.best.k else static.fastest, names)
        same = words == crossover_words(surface.static_crossover)
        also = f", and with {held} at all of them" if same else ""
        yield f"With the best K at each concurrency{also}, speculation {words}."
        if not same:
            yield f"With {held} at all of them it {crossover_words(surface.static_crossover)}."
        yield ""
        missing = f" {covered.beyond:.0%} of the busy time is not covered." if covered and covered.beyond else ""
        yield _static_words(static, covered, findings.goal.metric, names) + missing
    else:
        yield f"With the best K at each concurrency, speculation {words}."
    yield ""


def crossover_words(crossover: Crossover) -> str:
    """Return "pays at 1 and 8 and is slower at 32: it stops paying between 8 and 32", to follow "speculation"."""
    pays, slower, unclear = (crossover.at(effect) for effect in (Effect.PAYS, Effect.SLOWER, Effect.UNCLEAR))
    said = [
        f"pays at {_list(pays)}" if pays else "",
        f"cannot be told from none at {_list(unclear)}" if unclear else "",
        f"is slower at {_list(slower)}" if slower else "",
    ]
    *first, last = filter(None, said)
    words = f"{', '.join(first)} and {last}" if first else last
    if crossover.between:
        return f"{words}: it stops paying between {crossover.between[0]} and {crossover.between[1]}"
    if pays and not slower and not unclear:
        return f"{words}, that is wherever it was measured: where it stops paying is above {pays[-1]}"
    if pays and not slower and unclear[0] > pays[-1]:
        return f"{words}: where it stops paying is not known"
    return words


def _list(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _static_words(static: BestK, covered: Coverage | None, metric: Metric, names: Sequence[str]) -> str:
    over = f"Over the traffic{_source(covered.traffic)}" if covered else "Over all load points"
    weights = "shares of busy time" if covered else "their weights"
    how = f"the geometric mean of {metric.words} ratios by {weights}"
    if static.best.k:
        return f"{over}, {full_label(static.best, names)} is the best single K: {times(static.speedup)}, {how}."
    what = "every single K is slower" if static.effect is Effect.SLOWER else "no single K is clearly faster"
    nearest = f"nearest is {full_label(static.fastest, names)}: {times(static.speedup)}, {how}"
    return f"{over}, {what} than no speculation; {nearest}."


def _source(traffic: Traffic) -> str:
    if not traffic.source:
        return ""
    return f" ({traffic.source}: {traffic.samples:,} samples, {traffic.idle / traffic.samples:.0%} of them idle)"
