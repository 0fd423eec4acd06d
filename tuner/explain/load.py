"""What more requests at once change, and what the draft costs against what it brings."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.comparison import load_figures
from tuner.analysis.diagnoses.phrases import milliseconds
from tuner.explain.facts import AtTemperature
from tuner.explain.figures import n_of, numbers, speedup, where
from tuner.explain.lines import Line, Listed, Quoted, Section, Table, Value, line
from tuner.records import (
    BestK,
    Candidate,
    Crossover,
    Effect,
    LoadFigures,
    LoadPoint,
    Role,
    Surface,
    TrialFigures,
)
from tuner.report_sections.schedule import worth_telling
from tuner.report_sections.surface import looks_good_by_luck


def concurrency_section(at: AtTemperature) -> Section:
    """Return the best K by concurrency, and where speculation stops paying."""
    return Section("concurrency", line("load.title"), tuple(_concurrency(at)))


def cost_section(at: AtTemperature) -> Section:
    """Return what the draft takes: time of its own, memory."""
    return Section("cost", line("cost.title"), tuple(_cost(at)))


def _concurrency(at: AtTemperature) -> Iterator[Line | Table]:
    surface = at.answer.surface
    measured = sorted({load.concurrency for load in at.loads})
    if surface is None or not surface.best or len(measured) < 2:
        yield line("load.one", concurrency=numbers(measured))
        return
    yield line("load.why")
    yield Table(
        ("column.concurrency", "column.best", "column.speedup", "column.effect", "column.open"),
        tuple(_row(surface, concurrency) for concurrency in surface.concurrencies),
    )
    yield line("load.open_means")
    if any(not best.best.k for best in surface.best.values()):
        yield line("load.none_means")
    luck = looks_good_by_luck(at.facts.analysed.findings, at.answer)
    if luck:
        yield line("load.not_enough", candidates=str(luck.candidates), needed=luck.needed)
    yield from crossover_lines(surface.crossover)
    held = surface.static
    if held is not None and held.best.k and dict(surface.static_crossover.effects) != dict(surface.crossover.effects):
        yield line("load.static", label=held.best.label, effects=_effects(surface.static_crossover))
    yield from _schedule(at)


def _schedule(at: AtTemperature) -> Iterator[Line]:
    for schedule in worth_telling(at.facts.analysed.findings):
        if schedule.temperature == at.answer.temperature:
            yield line("load.schedule", text=Quoted(schedule.why))


def _row(surface: Surface, concurrency: int) -> tuple[Value, ...]:
    best = surface.best.get(concurrency)
    if best is None:
        return str(concurrency), line("load.none_may_win"), "-", "-", "-"
    effect = line(f"effect.{surface.crossover.effects.get(concurrency, best.effect).value}")
    named: Value = best.best.label if best.best.k else line("load.nearest", label=best.fastest.label)
    return str(concurrency), named, speedup(best.speedup), effect, _open(best)


def _open(best: BestK) -> Value:
    others = [c for c in best.not_excluded if c.key != best.best.key]
    if not others:
        return "-"
    return Listed(tuple(other.label if other.k else line("plain") for other in _ordered(others)))


def _ordered(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (not c.k, c.draft_name, c.k))


def crossover_lines(crossover: Crossover) -> Iterator[Line]:
    """Yield where speculation pays, and where it stops."""
    pays, slower, unclear = (crossover.at(effect) for effect in (Effect.PAYS, Effect.SLOWER, Effect.UNCLEAR))
    yield line("load.effects", effects=_effects(crossover))
    if crossover.between:
        low, high = crossover.between
        yield line("load.between", low=str(low), high=str(high))
    elif pays and not slower and not unclear:
        yield line("load.above", last=str(pays[-1]))
    elif pays and not slower and unclear[0] > pays[-1]:
        one = pays[-1] == 1
        yield line("load.unclear_above_one") if one else line("load.unclear_above", last=str(pays[-1]))


def _effects(crossover: Crossover) -> Listed:
    found = ((effect, crossover.at(effect)) for effect in (Effect.PAYS, Effect.UNCLEAR, Effect.SLOWER))
    return Listed(tuple(line(f"load.{effect.value}_at", at=numbers(at)) for effect, at in found if at), "clauses")


def _cost(at: AtTemperature) -> Iterator[Line]:
    chosen = at.chosen
    if chosen is None:
        yield line("answer.nothing_to_compare")
        return
    yield line("cost.rule")
    yield from _alone(at, chosen)
    yield from _first_token(at, chosen)
    yield from _memory(at, chosen)


def _alone(at: AtTemperature, chosen: Candidate) -> Iterator[Line]:
    keys = {load.key for load in at.loads}
    drafts = at.facts.analysed.explanation.apart.drafts
    rows = [row for row in drafts if row.draft in _names(chosen) and row.load_point.key in keys]
    for row in rows:
        yield line(
            "cost.alone",
            draft=chosen.draft_name,
            draft_time=milliseconds(row.draft_tpot),
            target_time=milliseconds(row.target_tpot),
            ratio=speedup(row.ratio),
            where=where(row.load_point, at.loads),
            n=n_of(row.ratio),
        )
    if not rows and chosen.speculation is not None and chosen.speculation.draft:
        yield line("cost.not_alone", draft=chosen.draft_name)


def _names(chosen: Candidate) -> tuple[str, ...]:
    assert chosen.speculation is not None
    return tuple(filter(None, (chosen.draft_name, chosen.speculation.draft)))


def _first_token(at: AtTemperature, chosen: Candidate) -> Iterator[Line]:
    """Say what speculation does to the wait for the first token, which TPOT leaves out."""
    trial = at.fresh(chosen) or at.single(chosen)
    found = [(load, figures.figures["ttft_ratio"]) for load in at.loads if (figures := _with_wait(trial, load))]
    if found:
        ratios = (line("cost.at", ratio=speedup(waits), where=where(load, at.loads)) for load, waits in found)
        yield line("cost.first_token", ratios=Listed(tuple(ratios)), n=n_of(found[0][1]))


def _with_wait(trial: TrialFigures | None, load: LoadPoint) -> LoadFigures | None:
    figures = load_figures(trial, load) if trial else None
    return figures if figures and "ttft_ratio" in figures.figures and figures.figures["ttft_ratio"].value else None


def _memory(at: AtTemperature, chosen: Candidate) -> Iterator[Line]:
    records = at.facts.analysed.records
    single = (Role.BASELINE, Role.CANDIDATE)
    rooms = {
        key: next(
            (r.engine.kv_cache_tokens for r in records if r.role in single and r.candidate.key == key and r.engine),
            None,
        )
        for key in (chosen.key, chosen.baseline.key)
    }
    given, plain = rooms[chosen.key], rooms[chosen.baseline.key]
    if given and plain and given < plain:
        yield line("cost.memory", label=chosen.label, given=f"{given:,}", plain=f"{plain:,}")
