"""When not to speculate, by this sweep's own figures: a saturated device, short answers, a small target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.analysis.diagnoses.measured import Line, Measured, Point
from tuner.analysis.diagnoses.phrases import milliseconds, multiple, number, percent, share, where
from tuner.analysis.diagnoses.step_cost import waits
from tuner.records import Answer, Candidate, Confidence, Diagnosis, Figure, LoadFigures, Verdict

SAME_ACCEPTANCE = 0.1
"""Difference of acceptance rates up to which it is not acceptance that fell."""
DOMINATES = 0.5
"""Share of an answer's time before its first token from which decoding is the smaller part."""
NEAR_MEMORY = 0.5
"""Share of a step that reading the weights must take for it to be bound by memory (recorded targets: 63 and 75 %)."""


def saturated(seen: Measured) -> Iterator[Diagnosis]:
    """It pays at a low concurrency and not at a high one, with the same acceptance, and the device does not wait."""
    for answer in seen.findings.answers:
        crossing = _crossing(answer)
        if crossing is None:
            continue
        candidate, low, high = crossing
        line = next((x for x in seen.lines if x.temperature == answer.temperature and candidate in x), None)
        if line is None:
            continue
        there, beyond = _at(line, candidate, low), _at(line, candidate, high)
        if there is None or beyond is None or not _is_load(seen, there, beyond):
            continue
        yield _saturated(seen, line, there, beyond)


def answers_too_short(seen: Measured) -> Iterator[Diagnosis]:
    """Most of an answer's time passes before its first token, which speculation does not touch."""
    found = [(load, part) for load in _plain_loads(seen) if (part := _before_first(load)) >= DOMINATES]
    if not found:
        return
    load, part = max(found, key=lambda one: one[1])
    ttft, e2e = load.figures["ttft_s"], load.figures["e2e_s"]
    clear = ttft.low is not None and e2e.high is not None and ttft.low / e2e.high >= DOMINATES
    evidence = [
        f"without speculation {milliseconds(ttft)} of {milliseconds(e2e)} pass before the first token, {percent(part)} "
        f"({number(ttft)}, {load.load_point.label}); were decoding free, an answer would be {1 / part:.2f}x as fast",
    ]
    whole = _whole_answers(seen, load)
    if whole:
        evidence.append(whole)
    yield Diagnosis(
        code="answers_too_short",
        subject=", ".join(where(one.load_point, seen.loads) for one, _ in found),
        what="Answers are too short for speculation to matter: waiting for the first token is most of their time.",
        evidence=tuple(evidence),
        confidence=Confidence.HIGH if clear else Confidence.MEDIUM,
        next_step=(
            "Judge by objective.metric: e2e in the search space; prefix caching or shorter prompts help more here."
        ),
    )


def target_too_small(seen: Measured) -> Iterator[Diagnosis]:
    """All was measured slower, and most of a plain step is not reading weights: speculation has little to save."""
    part = seen.findings.floor.get("bandwidth_share")
    if part is None or part.value is None or part.value >= NEAR_MEMORY:
        return
    if not seen.lines or not all(seen.falls_short(line) for line in seen.lines):
        return
    read = seen.findings.floor["weight_read_s"]
    eager = any(trial.candidate.engine_args.get("enforce_eager") for trial in seen.findings.trials)
    yield Diagnosis(
        code="target_too_small",
        subject="target",
        what="The target is small for this device: most of its steps is not reading weights, which drafts would save.",
        evidence=(
            f"reading the weights takes {milliseconds(read)} ({read.note}), {share(part)} of a plain step at "
            f"concurrency 1 ({number(part)})",
        ),
        confidence=Confidence.MEDIUM,
        next_step=(
            "Measure without enforce_eager first: CUDA graphs save those launches."
            if eager
            else "Do not speculate for this target on this device; n-gram, which launches nothing, may still pay."
        ),
    )


# --- saturation -------------------------------------------------------------------------------------------------------


def _crossing(answer: Answer) -> tuple[Candidate, int, int] | None:
    """Return who pays at which concurrency and not at which higher one."""
    if answer.verdict is Verdict.SPECULATE_BELOW and answer.up_to is not None and answer.below is not None:
        return answer.best, answer.up_to, answer.below
    between = answer.surface.crossover.between if answer.surface else None
    if answer.verdict is Verdict.SPECULATE or answer.surface is None or between is None:
        return None
    return answer.surface.best[between[0]].fastest, *between


def _at(line: Line, candidate: Candidate, concurrency: int) -> Point | None:
    points = [p for p in line.points() if p.trial.candidate.key == candidate.key]
    return next((p for p in points if p.load_point.concurrency == concurrency), None)


def _is_load(seen: Measured, there: Point, beyond: Point) -> bool:
    """Whether it is the load that changed: as much is accepted, the step got longer, and the device does not wait."""
    if beyond.speedup is None or there.speedup is None or waits(seen, beyond):
        return False
    if (beyond.speedup.value or 1.0) >= 1.0:
        return False
    rates = [p.load.figures["acceptance_rate"].value for p in (there, beyond)]
    if None in rates or (rates[0] or 0.0) - (rates[1] or 0.0) > SAME_ACCEPTANCE:
        return False
    return there.growth is None or beyond.growth is None or (beyond.growth.value or 0) > (there.growth.value or 0)


def _saturated(seen: Measured, line: Line, there: Point, beyond: Point) -> Diagnosis:
    low, high = there.load_point.concurrency, beyond.load_point.concurrency
    assert there.speedup is not None and beyond.speedup is not None
    evidence = [
        f"{there.trial.candidate.label} runs at {multiple(there.speedup)} of no speculation at concurrency {low} and "
        f"at {multiple(beyond.speedup)} at {high} ({number(beyond.speedup)}), with "
        f"{_rate(there)} and {_rate(beyond)} accepted",
    ]
    if there.growth is not None and beyond.growth is not None:
        evidence.append(
            f"a step takes {there.growth.value:.2f} plain steps at {low} and {beyond.growth.value:.2f} at {high}: "
            f"checking tokens is no longer nearly free"
        )
    against = [p for p in line.points() if p.load_point.key == beyond.load_point.key and p.k > beyond.k and _faster(p)]
    if against:
        other = against[-1]
        evidence.append(
            f"against it: {other.trial.candidate.label}, which checks more tokens, was measured at "
            f"{multiple(other.speedup or _NONE)} there"
        )
    clear = (beyond.speedup.high or 1.0) < 1.0 and there.pays and beyond.trial.lives > 1
    return Diagnosis(
        code="saturated",
        subject=f"concurrency {high}",
        what=(
            f"Above concurrency {low} {line.subject} stops paying: {'' if clear and not against else 'probably '}the "
            f"device has enough to do without drafts."
        ),
        evidence=tuple(evidence),
        confidence=Confidence.LOW if against else Confidence.HIGH if clear else Confidence.MEDIUM,
        next_step=(
            f"Keep an engine that speculates at {low} requests or fewer and start serve.baseline.yaml above"
            f"{_or_else(beyond.k, against)}."
        ),
    )


def _or_else(k: int, against: Sequence[Point]) -> str:
    """Return what else may help: not a smaller K where a larger one was faster, or where there is none."""
    if against:
        return f"; first measure {against[-1].trial.candidate.label} in fresh lives, which may pay there"
    return "; a smaller K costs less there" if k > 1 else ""


_NONE = Figure(None, "x", "", 0)


def _faster(point: Point) -> bool:
    return point.speedup is not None and (point.speedup.value or 0.0) > 1.0


def _rate(point: Point) -> str:
    return percent(point.load.figures["acceptance_rate"].value or 0.0)


# --- short answers ----------------------------------------------------------------------------------------------------


def _plain_loads(seen: Measured) -> list[LoadFigures]:
    """Return the figures of the first baseline at each load point."""
    first: dict[str, LoadFigures] = {}
    for trial in seen.findings.trials:
        if not trial.candidate.k:
            for load in trial.loads:
                first.setdefault(load.load_point.key, load)
    return list(first.values())


def _before_first(load: LoadFigures) -> float:
    ttft, e2e = load.figures["ttft_s"].value, load.figures["e2e_s"].value
    return ttft / e2e if ttft and e2e else 0.0


def _whole_answers(seen: Measured, load: LoadFigures) -> str:
    """Return what the fastest candidate there brings a token and a whole answer; "" where both are not known."""
    points = [p for line in seen.lines for p in line.points() if p.load_point.key == load.load_point.key]
    best = seen.best_point(points)
    token, whole = (best.load.figures.get(name) if best else None for name in ("speedup_tpot", "speedup_e2e"))
    if best is None or token is None or whole is None or whole.value is None:
        return ""
    return f"{best.trial.candidate.label} makes tokens {multiple(token)} as fast and whole answers {multiple(whole)}"
