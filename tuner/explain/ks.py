"""What K does, why the chosen one beats its neighbours, and where a larger one stops paying."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.comparison import advantage, load_figures
from tuner.analysis.comparison import counted as counted_of
from tuner.analysis.step_growth import measured_growth
from tuner.explain.facts import AtTemperature
from tuner.explain.figures import counted, fine_share, length, n_of, numbers, ranges, ratio, share, speedup, where
from tuner.explain.lines import Line, Quoted, Section, Table, Value, line
from tuner.records import Barred, Candidate, KCurve, LoadFigures, LoadPoint, TrialFigures
from tuner.words import plain

_COLUMNS = ("column.k", "column.last", "column.tokens", "column.length", "column.speedup")


def steps_section(at: AtTemperature) -> Section:
    """Return what a step is, what a draft's tokens are worth, and each K's figures at the lowest concurrency."""
    return Section("steps", line("steps.title"), tuple(_steps(at)))


def why_section(at: AtTemperature) -> Section:
    """Return what speaks for this K against the ones beside it."""
    chosen = at.chosen
    recommended = chosen is not None and bool(at.answer.best.k)
    title = line("why.title", k=str(chosen.k)) if chosen and recommended else line("why.title_none")
    parts = tuple(_why(at, chosen)) if chosen else (line("answer.nothing_to_compare"),)
    return Section("why", title, (*parts, *_drafts(at), *_barred(at)))


def inflection_section(at: AtTemperature) -> Section:
    """Return where a further token gains next to nothing, and what noise leaves open."""
    return Section("inflection", line("inflection.title"), tuple(_inflections(at)))


# --- what K does ------------------------------------------------------------------------------------------------------


def _steps(at: AtTemperature) -> Iterator[Line | Table]:
    yield line("steps.how")
    yield line("steps.trade")
    line_of = at.same_line()
    if not line_of or at.chosen is None:
        return
    load = at.loads[0]
    place = where(load, at.loads)
    longest = at.single(line_of[max(line_of)])
    figures = load_figures(longest, load) if longest else None
    if figures is not None and len(figures.acceptance_by_position) > 1:
        yield _acceptance(figures, max(line_of), place)
    rows = [row for k, candidate in line_of.items() if (row := _row(at, k, candidate, load)) is not None]
    if rows:
        yield line("steps.table", draft=at.chosen.draft_name, where=place, n=_count(at, line_of, load))
        yield Table(_COLUMNS, tuple(rows))


def _acceptance(figures: LoadFigures, k: int, place: Line) -> Line:
    by_position = figures.acceptance_by_position
    values = [figure.value or 0.0 for figure in by_position]
    return line(
        "steps.acceptance",
        k=str(k),
        where=place,
        first=share(values[0]),
        last=share(values[-1]),
        shares=" ".join(f"{100 * value:.0f}" for value in values),
        n=n_of(by_position[0]),
    )


def _row(at: AtTemperature, k: int, candidate: Candidate, load: LoadPoint) -> tuple[Value, ...] | None:
    trial = at.single(candidate)
    figures = load_figures(trial, load) if trial else None
    if trial is None or figures is None:
        return None
    growth, gain = measured_growth(figures), figures.figures.get(trial.metric.speedup)
    last = figures.acceptance_by_position[-1:] or (None,)
    return (
        str(k),
        share(last[0].value) if last[0] is not None and last[0].value is not None else "-",
        plain(figures.figures["effective_tokens_per_step"]),
        length(growth) if growth else "-",
        speedup(gain) if gain else "-",
    )


def _count(at: AtTemperature, line_of: dict[int, Candidate], load: LoadPoint) -> Value:
    found = [load_figures(trial, load) for c in line_of.values() if (trial := at.single(c)) is not None]
    return n_of(next(figures for figures in found if figures is not None).figures["tpot_s"])


def _drafts(at: AtTemperature) -> Iterator[Line | Table]:
    """Compare the drafts, where there are several; of one that pays nowhere the K that comes nearest."""
    drafts = at.answer.surface.drafts if at.answer.surface else ()
    found = [(draft, draft.static) for draft in drafts if draft.static is not None and draft.static.fastest.k]
    if len(found) < 2:
        return
    rows = [
        (draft.draft_name, str((best.best if best.best.k else best.fastest).k), speedup(best.speedup))
        for draft, best in found
    ]
    yield line("why.drafts")
    yield Table(("column.draft", "column.k", "column.speedup"), tuple(rows))


def _barred(at: AtTemperature) -> Iterator[Line]:
    reasons: dict[str, list[Barred]] = {}
    for one in at.facts.analysed.findings.barred:
        if one.temperature == at.answer.temperature:
            reasons.setdefault(one.candidate.key, []).append(one)
    for first, *more in reasons.values():
        label, text = first.candidate.label, Quoted(first.bar.text)
        if more:
            yield line("why.barred_several", label=label, text=text, count=str(1 + len(more)))
        else:
            yield line("why.barred", label=label, text=text)


# --- against the K beside it ------------------------------------------------------------------------------------------


def _why(at: AtTemperature, chosen: Candidate) -> Iterator[Line | Table]:
    line_of = at.same_line()
    below = max((k for k in line_of if k < chosen.k), default=0)
    above = min((k for k in line_of if k > chosen.k), default=None)
    yield from _alone(at, chosen)
    yield from _below(at, chosen, line_of, below)
    if above is None:
        yield _none_above(at, chosen)
    else:
        yield from _gap(at, chosen, range(chosen.k + 1, above), above)
        yield from _against(at, chosen, line_of[above])
    rival = at.answer.runner_up
    if rival is not None and rival.k and rival.key != chosen.key and rival.k not in (below, above):
        yield from _against(at, chosen, rival)
    if at.answer.best.k and any(_open(at, chosen, other) for k, other in line_of.items() if k > chosen.k):
        yield line("why.smaller_taken", k=str(chosen.k))


def _alone(at: AtTemperature, chosen: Candidate) -> Iterator[Line | Table]:
    """Say how its step compares with a plain one at each load point: all that its speedup is made of."""
    trial, rows = at.fresh(chosen) or at.single(chosen), []
    for load in at.loads:
        figures = load_figures(trial, load) if trial else None
        growth = measured_growth(figures) if figures else None
        if figures is None or growth is None:
            continue
        tokens = figures.figures["effective_tokens_per_step"]
        gain: Value = speedup(figures.figures["speedup_tpot"])
        rows.append((where(load, at.loads), plain(tokens), length(growth), gain))
    if trial is not None and rows:
        lives = line("lives.several", lives=str(trial.lives)) if trial.lives > 1 else line("lives.once")
        yield line("why.step", label=chosen.label, lives=lives)
        yield Table(("column.load", "column.tokens", "column.length", "column.speedup"), tuple(rows))


def _below(at: AtTemperature, chosen: Candidate, line_of: dict[int, Candidate], below: int) -> Iterator[Line]:
    if chosen.k == 1:
        yield line("why.smallest")
    elif not below:
        smaller = [k for k in _space(at, chosen) if k < chosen.k]
        yield line("why.none_below", missing=ranges(smaller)) if smaller else line("why.none_in_space")
    else:
        yield from _gap(at, chosen, range(below + 1, chosen.k), below)
        yield from _against(at, chosen, line_of[below])


def _space(at: AtTemperature, chosen: Candidate) -> tuple[int, ...]:
    """Return the K that the space has for the draft; () in runs of older versions."""
    return at.facts.analysed.manifest.draft_ks.get(chosen.draft_name, ())


def _gap(at: AtTemperature, chosen: Candidate, between: range, nearest: int) -> Iterator[Line]:
    """Say why the K directly beside is not the one that it is compared with."""
    if not between:
        return
    missing = [k for k in between if k in _space(at, chosen)]
    key = "why.gap" if missing else "why.gap_space"
    yield line(key, missing=ranges(missing or between), k=str(nearest))


def _none_above(at: AtTemperature, chosen: Candidate) -> Line:
    larger = [k for k in _space(at, chosen) if k > chosen.k]
    return line("why.none_above", missing=ranges(larger)) if larger else line("why.largest", k=str(chosen.k))


def _pair(at: AtTemperature, chosen: Candidate, other: Candidate) -> tuple[TrialFigures, TrialFigures] | None:
    """Return the figures of both over fresh lives, else of both single lives: the two are never mixed."""
    fresh = at.fresh(chosen), at.fresh(other)
    single = at.single(chosen), at.single(other)
    for first, second in (fresh, single):
        if first is not None and second is not None:
            return first, second
    return None


def _open(at: AtTemperature, chosen: Candidate, other: Candidate) -> bool:
    """Whether noise does not separate the two."""
    pair = _pair(at, chosen, other)
    lead = advantage(*pair, at.claimed) if pair else None
    return lead is None or not (lead.above(0.0) or lead.below(0.0))


def _against(at: AtTemperature, chosen: Candidate, other: Candidate) -> Iterator[Line]:
    pair = _pair(at, chosen, other)
    lead = advantage(*pair, at.claimed) if pair else None
    if pair is None or lead is None:
        return
    told = "faster" if lead.above(0.0) else "slower" if lead.below(0.0) else "open"
    verdict = told if told == "open" or lead.lives > 1 else f"{told}_here"
    yield line(
        "why.against",
        label=chosen.label,
        other=other.label,
        ratio=ratio(lead),
        n=counted(lead.n, counted_of(pair[0])),
        lives=line("lives.several", lives=str(lead.lives)) if lead.lives > 1 else line("lives.one"),
        verdict=line(f"why.{verdict}"),
    )


# --- the inflection point ---------------------------------------------------------------------------------------------


def _inflections(at: AtTemperature) -> Iterator[Line]:
    chosen = at.chosen
    curves = [
        c for c in at.answer.curves if chosen and (c.draft_name, c.args_key) == (chosen.draft_name, chosen.args_key)
    ]
    if not curves:
        yield line("inflection.none")
        return
    threshold = fine_share(curves[0].inflection.threshold).replace(".0", "")
    yield line("inflection.what", threshold=threshold)
    for curve in curves:
        yield _inflection(curve, where(curve.load_point, at.loads), threshold)
    if any(len(curve.inflection.candidates) > 1 for curve in curves):
        yield line("inflection.open")
    if chosen is not None and at.answer.best.k and any(c.inflection.k not in (None, chosen.k) for c in curves):
        loads = numbers(sorted({load.concurrency for load in at.claimed}))
        yield line("inflection.not_best", k=str(chosen.k), loads=loads)


def _inflection(curve: KCurve, place: Line, threshold: str) -> Line:
    found = curve.inflection
    ks, last = ranges(found.candidates), max(point.k for point in curve.points)
    if found.k is not None:
        if len(found.candidates) == 1:
            return line("inflection.sharp", where=place, k=str(found.k))
        return line("inflection.at", where=place, k=str(found.k), ks=ks)
    if found.candidates == (last,):
        return line("inflection.not_reached", where=place, k=str(last), threshold=threshold)
    return line("inflection.unresolved", where=place, ks=ks)
