"""A step costs too much for what it gives: a slow draft, or an engine that leaves the device waiting."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import linear_regression

from tuner.analysis.apart import RULES, DraftApart
from tuner.analysis.diagnoses.measured import Line, Measured, Point
from tuner.analysis.diagnoses.noise import rough_lives
from tuner.analysis.diagnoses.phrases import milliseconds, multiple, number, percent, steps, where
from tuner.analysis.step_growth import draft_time
from tuner.records import Confidence, Diagnosis, Figure

FASTER, MUCH_FASTER = RULES
"""Times that a draft should be faster than its target: the rule of thumb of practice, 5x, better 10x."""
PER_TOKEN = 1 / FASTER
"""Plain steps that one proposed token may take, by that rule."""
BUSY = 0.8
"""Share of the time that a GPU works for which it counts as busy (recorded baselines: 93 to 100 %)."""
IDLE = 0.2
"""By so much less busy with a draft than without: more than NVML's readings differ by from repeat to repeat."""
HOLDS = 0.75
"""Share of the first positions from which acceptance is not what keeps a draft from paying."""

REJECTED = 0.5
"""Share of the first positions below which no larger K pays."""


def draft_too_slow(seen: Measured) -> Iterator[Diagnosis]:
    """A draft that was measured slower is less than 5x (10x) faster than its target.

    First choice is the draft timed alone. Where only the growth of a step tells, a longer verification and what the
    engine adds are in it too, and it is no more than probable; then not where the device waits or lives differ.
    """
    for line in seen.lines:
        if not line.has_model or not seen.falls_short(line):
            continue
        rows = [row for row in seen.timed_apart.drafts if row.draft == line.draft and _at(row, line)]
        found = _timed(seen, line, rows) if rows else _from_growth(seen, line)
        if found is not None:
            yield found


def engine_overhead(seen: Measured) -> Iterator[Diagnosis]:
    """The device waits under speculation and works without: launches and scheduling set the pace, not computing."""
    for line in seen.lines:
        if not line.has_model:
            continue
        idle = [point for point in _representative(seen, line) if waits(seen, point)]
        if not idle:
            continue
        busy = [f"{where(p.load_point, line.loads)}: {_busy_words(seen, p)}" for p in idle]
        label = idle[0].trial.candidate.label
        split = _split(line, idle[0])
        yield Diagnosis(
            code="engine_overhead",
            subject=line.subject,
            what=f"With {label} the device waits for the engine: launching and scheduling cost time, not computing.",
            evidence=(f"GPU busy with and without it, {'; '.join(busy)}", *([split[0]] if split else [])),
            confidence=_overhead_confidence(seen, line, idle),
            next_step=_better_draft(seen, idle[0]) or (split[1] if split else _either(line, idle[0])),
        )


def waits(seen: Measured, point: Point) -> bool:
    """Whether the device is busy without speculation and clearly less so with it."""
    plain = seen.plain(point)
    before = plain.figures.get("gpu_utilisation") if plain else None
    now = point.load.figures.get("gpu_utilisation")
    if before is None or now is None or before.value is None or now.value is None:
        return False
    return before.value >= BUSY and before.value - now.value >= IDLE


# --- a slow draft -----------------------------------------------------------------------------------------------------


def _at(row: DraftApart, line: Line) -> bool:
    return any(load.key == row.load_point.key for load in line.loads)


def _timed(seen: Measured, line: Line, rows: list[DraftApart]) -> Diagnosis | None:
    slowest = min(rows, key=lambda row: row.ratio.value or float("inf"))
    ratio = slowest.ratio
    if ratio.value is None or ratio.value >= MUCH_FASTER:
        return None
    rule = FASTER if ratio.value < FASTER else MUCH_FASTER
    shown = ratio.high is not None and ratio.high < rule and seen.clearly_slower(line)
    sure = Confidence.HIGH if shown else Confidence.MEDIUM
    return Diagnosis(
        code="draft_too_slow",
        subject=line.subject,
        what=f"{line.subject} is less than {rule:g}x faster than its target: drafting eats what its tokens bring.",
        evidence=(
            f"alone it takes {milliseconds(slowest.draft_tpot)} a token and the target "
            f"{milliseconds(slowest.target_tpot)}, {multiple(ratio)} ({number(ratio)}, "
            f"{where(slowest.load_point, line.loads)})",
        ),
        confidence=sure if rule == FASTER else Confidence.LOW,
        next_step=_FASTER_DRAFT,
    )


def _from_growth(seen: Measured, line: Line) -> Diagnosis | None:
    """Return the verdict of step times alone, at the lowest concurrency: there verification is cheapest."""
    if rough_lives(line) or any(waits(seen, point) for point in line.points()):
        return None
    load = line.loads[0]
    measured = {k: point.growth for k, point in line.at(load).items() if point.growth is not None}
    if not measured:
        return None
    of_ngram = [
        row
        for row in seen.timed_apart.verification
        if (row.candidate.args_key, row.load_point.key) == (line.first.args_key, load.key)
    ]
    drafting = draft_time(measured, None, of_ngram)
    if drafting is not None and drafting.value is not None:
        if drafting.value <= PER_TOKEN:
            return None
        told, sure = f"beside n-gram's step of the same K each token adds {steps(drafting)}", Confidence.MEDIUM
    else:
        k, growth = _clearest(measured)
        if growth.low is None or (growth.low - 1) / k <= PER_TOKEN:
            return None
        told, sure = f"a step of K = {k} takes {steps(growth)}", Confidence.LOW
    return Diagnosis(
        code="draft_too_slow",
        subject=line.subject,
        what=(
            f"{line.subject} is probably less than {FASTER:g}x faster than its target. Longer verification or the "
            f"engine's own cost would look alike."
        ),
        evidence=(
            f"{told}; a draft {FASTER:g}x faster adds {PER_TOKEN:g} a token ({number(next(iter(measured.values())))}, "
            f"{where(load, line.loads)})",
        ),
        confidence=sure,
        next_step=f"tuner diagnose MODEL times it alone (--drafts-alone). If it is slow: {_FASTER_DRAFT}",
    )


_FASTER_DRAFT = "a draft with fewer layers, or a head (EAGLE, MTP); layers cost more than width."


def _clearest(measured: dict[int, Figure]) -> tuple[int, Figure]:
    return max(measured.items(), key=lambda one: ((one[1].low or 1.0) - 1) / one[0])


# --- an engine that waits ---------------------------------------------------------------------------------------------


def _representative(seen: Measured, line: Line) -> tuple[Point, ...]:
    """Return the points of the line's recommended candidate, else of its fastest."""
    answer = seen.answer(line.temperature)
    chosen = next((t for t in line.candidates if t.candidate.key == answer.best.key), None)
    chosen = chosen or next(
        (t for t in line.candidates if answer.runner_up and t.candidate.key == answer.runner_up.key), None
    )
    if chosen is None:
        best = seen.best_point(line.points())
        chosen = best.trial if best else line.candidates[0]
    return line.points(chosen)


def _busy_words(seen: Measured, point: Point) -> str:
    plain = seen.plain(point)
    now, before = point.load.figures["gpu_utilisation"], plain.figures["gpu_utilisation"] if plain else None
    share = f"{percent(now.value or 0.0)} with, {percent(before.value or 0.0) if before else 'not known'} without"
    return f"{share} ({now.n} repeats)"


def _overhead_confidence(seen: Measured, line: Line, idle: list[Point]) -> Confidence:
    """High where nearly all is accepted and nothing is gained: acceptance cannot be why."""
    first = [seen.first_positions(point, 3) for point in idle]
    held = all(figure is not None and (figure.value or 0.0) >= HOLDS for figure in first)
    return Confidence.HIGH if held and seen.loses(line) else Confidence.MEDIUM


def _split(line: Line, point: Point) -> tuple[str, str] | None:
    """Return what of the step grows with K and what does not, and what that advises; None with a single K.

    The line through the measured growths at this load point: fixed = its value at K = 0 minus a plain step.
    """
    if rough_lives(line):
        return None
    measured = {k: p.growth.value for k, p in line.at(point.load_point).items() if p.growth and p.growth.value}
    if len(measured) < 2 or point.k not in measured:
        return None
    per_token, start = linear_regression(list(measured), list(measured.values()))
    fixed, grows = max(start - 1, 0.0), max(per_token, 0.0) * point.k
    told = f"of a step of {measured[point.k]:.2f} plain ones {grows:.2f} grow with K and {fixed:.2f} are fixed"
    ks = ", ".join(str(k) for k in sorted(measured))
    evidence = f"{told} (line through K = {ks}, {where(point.load_point, line.loads)})"
    if grows >= fixed:
        return evidence, "Each proposed token launches every layer of the draft: take one with fewer layers."
    return evidence, _larger_k(point, max(measured))


def _better_draft(seen: Measured, point: Point) -> str:
    """Return what to do where little is accepted, "" elsewhere: more tokens would be rejected as well."""
    held = seen.first_positions(point, 3)
    if held is None or held.value is None or held.value >= REJECTED:
        return ""
    return (
        "Take a draft that guesses better or has fewer layers: a larger K spreads this over tokens that are rejected."
    )


def _larger_k(point: Point, largest: int) -> str:
    return f"What is fixed spreads over more tokens: try K = {largest + 2}, as long as acceptance holds."


def _either(line: Line, point: Point) -> str:
    """Return what to try where it is not known whether the waiting grows with K."""
    largest = line.candidates[-1].candidate.k
    if largest > point.k:
        return (
            "A draft with fewer layers launches less; measure K again in fresh lives to see whether a larger one pays."
        )
    return f"Measure K = {largest + 2} too: if a step hardly grows, a larger K pays it off; else take fewer layers."
