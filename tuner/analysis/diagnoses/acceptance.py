"""Too little is accepted: a weak draft, text without repetition, a K that is too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.analysis.apart import NGRAM
from tuner.analysis.breakeven import need
from tuner.analysis.comparison import advantage
from tuner.analysis.diagnoses.measured import Line, Measured, Point
from tuner.analysis.diagnoses.noise import rough_lives
from tuner.analysis.diagnoses.phrases import listed, multiple, number, percent, share, where
from tuner.analysis.diagnoses.vocabulary import near_zero
from tuner.analysis.statistics import Estimate, exp
from tuner.records import Confidence, Diagnosis, Figure, TrialFigures

SMALL_K = 3
"""Positions that tell a draft's quality: a good draft holds them, whatever K is."""
HALF = 0.5
"""Share below which practice says: another draft, or a smaller K. Half of what is proposed is then thrown away."""

OFTEN = 0.8
"""Share of steps with a draft from which on it is not drafts that are missing."""


def draft_too_weak(seen: Measured) -> Iterator[Diagnosis]:
    """A model's first tokens are accepted less than half the time on average, and it was measured slower."""
    for line in seen.lines:
        if not line.has_model or not seen.falls_short(line) or (line.draft is not None and near_zero(line)):
            continue
        found = _early(seen, line)
        if found and all((accepted.value or 0.0) < HALF for _, accepted in found):
            yield _weak(seen, line, found)


def few_matches(seen: Measured) -> Iterator[Diagnosis]:
    """n-gram was measured slower, as steps with a match times what is accepted of it come to less than half."""
    for line in seen.lines:
        if line.method not in NGRAM or not seen.falls_short(line):
            continue
        found = [(_useful(point, accepted), point, accepted) for point, accepted in _early(seen, line)]
        if not found or max(gain for gain, _, _ in found) >= HALF:
            continue
        _, point, accepted = max(found, key=lambda one: one[0])
        coverage = point.load.figures["draft_coverage"].value or 0.0
        yield Diagnosis(
            code="few_matches",
            subject=line.subject,
            what=_what_fails(line.subject, coverage),
            evidence=(
                f"at best {percent(coverage)} of the steps had a draft, and {share(accepted)} of what was copied was "
                f"accepted ({where(point.load_point, line.loads)}, {number(accepted)})",
                *_cost(seen, line),
            ),
            confidence=_sure(seen, line, [accepted]),
            next_step="n-gram suits summaries, extraction and code edits: measure such traffic, or use a draft model.",
        )


def _what_fails(subject: str, coverage: float) -> str:
    """Return what goes wrong: matches are rare, or (ngram_gpu drafts in every step) what follows them is another."""
    little = "these answers repeat little of their prompts and themselves."
    if coverage >= OFTEN:
        return f"{subject} copies what does not follow: {little}"
    return f"{subject} finds too little to copy: {little}"


def k_too_long(seen: Measured) -> Iterator[Diagnosis]:
    """The first positions hold, the last is accepted less than half the time, and a smaller K is clearly faster."""
    for line in seen.lines:
        longest, early = line.candidates[-1], _early(seen, line)
        k, best = longest.candidate.k, seen.answer(line.temperature).best
        if k <= SMALL_K or best.key == longest.candidate.key or rough_lives(line):
            continue
        if not early or any((accepted.value or 0.0) < HALF for _, accepted in early):
            continue
        points = [p for p in line.points(longest) if len(p.load.acceptance_by_position) >= k]
        last = [point.load.acceptance_by_position[k - 1] for point in points]
        if not last or any(figure.value is None or figure.value >= HALF for figure in last):
            continue
        better = _clearly_faster(line, longest)
        if better:
            of_the_answer = (one for one in better if one[0].candidate.key == best.key)
            yield _too_long(seen, line, points[0], *next(of_the_answer, max(better, key=lambda one: one[1].mean)))


def below_half(seen: Measured) -> Iterator[Diagnosis]:
    """The recommended candidate throws away more than half of what it proposes, and pays all the same."""
    for line in seen.lines:
        answer = seen.answer(line.temperature)
        if not line.has_model or not seen.wins(line):
            continue
        trial = next(one for one in line.candidates if one.candidate.key == answer.best.key)
        points = line.points(trial)
        rates = [point.load.figures["acceptance_rate"] for point in points]
        if not rates or any(rate.value is None or rate.value >= HALF for rate in rates):
            continue
        smaller = [str(one.candidate.k) for one in line.candidates if one.candidate.k < trial.candidate.k]
        compared = f"; K = {smaller[0]} was measured too" if len(smaller) == 1 else ""
        if len(smaller) > 1:
            compared = f"; K = {listed(smaller)} were measured too"
        yield Diagnosis(
            code="acceptance_below_half",
            subject=line.subject,
            what=(
                f"Less than half of what {answer.best.label} proposes is accepted. Practice says another draft or a "
                f"smaller K; measured, it pays as it is."
            ),
            evidence=(
                f"{percent(rates[0].value or 0.0)} is accepted at {where(points[0].load_point, line.loads)} "
                f"({number(rates[0])})",
                f"it runs at {multiple(answer.objective)} of no speculation{compared}",
            ),
            confidence=Confidence.MEDIUM,
            next_step=(
                "Keep it. A draft that guesses better would gain more."
                if smaller or answer.best.k == 1
                else f"Keep it. Try K below {answer.best.k}; a draft that guesses better would gain more."
            ),
        )


# --- a weak draft -----------------------------------------------------------------------------------------------------


def _weak(seen: Measured, line: Line, found: Sequence[tuple[Point, Figure]]) -> Diagnosis:
    point, accepted = max(found, key=lambda one: one[1].value or 0.0)
    at = f" at temperature {line.temperature:g}" if line.temperature else ""
    return Diagnosis(
        code="draft_too_weak",
        subject=line.subject,
        what=(
            f"{line.subject} guesses too little right{at}: on average less than half of its first tokens are accepted, "
            f"and it was measured slower than no speculation."
        ),
        evidence=(
            f"at best {share(accepted)} of its first {min(point.k, SMALL_K)} tokens are accepted on average "
            f"({where(point.load_point, line.loads)}, {number(accepted)})",
            *_cost(seen, line),
        ),
        confidence=_sure(seen, line, [figure for _, figure in found]),
        next_step=" ".join(
            [
                "Another draft: a larger one of the family, a distilled one, or an EAGLE or MTP head of this target "
                "(tuner breakeven RUN says what it has to reach).",
                *_cheaper(line, point),
            ]
        ),
    )


def _sure(seen: Measured, line: Line, accepted: Sequence[Figure]) -> Confidence:
    """High where whole intervals show both: less than half is accepted, and it is slower."""
    few = all((figure.high or 1.0) < HALF for figure in accepted)
    return Confidence.HIGH if few and seen.clearly_slower(line) else Confidence.MEDIUM


def _cheaper(line: Line, point: Point) -> list[str]:
    """Return what costs less to try than another draft: a smaller K where at least first tokens are mostly accepted."""
    k, spec = line.first.k, line.first.speculation
    holds = (point.load.acceptance_by_position[0].value or 0.0) >= HALF
    tries = [f"Cheaper to try: K = {max(k // 2, 1)} instead of {k}."] if k > 1 and holds else []
    if line.temperature and spec and "draft_sample_method" not in spec.options:
        tries.append("With draft_sample_method: probabilistic the draft samples as the target does.")
    return tries


def _cost(seen: Measured, line: Line) -> Iterator[str]:
    """Yield the fastest candidate's speedup, and what a step costs against what it gives where it lacks most."""
    trial, speedup = seen.overall(line)[0]
    points = line.points(trial)
    label, at, n = trial.candidate.label, where(points[0].load_point, line.loads), number(speedup)
    if len(points) == 1:
        yield f"{label} runs at {multiple(speedup)} of no speculation at {at}, its best ({n})"
    else:
        yield f"{label} runs at {multiple(speedup)} of no speculation over its load points, its best ({n})"
    point = max(points, key=lambda one: one.shortfall)
    growth, tokens = point.growth, point.load.figures["effective_tokens_per_step"].value
    if not point.shortfall or growth is None or growth.value is None:
        return
    wanted = need(1.0, point.k, growth).acceptance
    least = (
        f", with {share(wanted)} of them accepted, each alike"
        if wanted.value is not None
        else f": more than K = {point.k} can give"
    )
    cost = (
        f"at {where(point.load_point, line.loads)} a step takes as long as {growth.value:.2f} plain ones and gives "
        f"{tokens:.2f} tokens"
    )
    yield f"{cost}; to pay, it has to give {growth.value:.2f}{least}"


def _useful(point: Point, accepted: Figure) -> float:
    return (point.load.figures["draft_coverage"].value or 0.0) * (accepted.value or 0.0)


def _early(seen: Measured, line: Line) -> list[tuple[Point, Figure]]:
    """Return at each load point what is accepted of the first SMALL_K positions, of the K that shows it best."""
    found = []
    for load in line.loads:
        by_k = line.at(load)
        short = [k for k in by_k if k <= SMALL_K]
        point = by_k[max(short) if short else min(by_k)]
        accepted = seen.first_positions(point, SMALL_K)
        if accepted is not None:
            found.append((point, accepted))
    return found


# --- a K that is too long ---------------------------------------------------------------------------------------------


def _clearly_faster(line: Line, longest: TrialFigures) -> list[tuple[TrialFigures, Estimate]]:
    """Return the candidates of smaller K that are faster over all load points, by their whole interval."""
    loads = [point.load_point for point in line.points(longest)]
    leads = ((one, advantage(one, longest, loads)) for one in line.candidates[:-1])
    return [(one, lead) for one, lead in leads if lead is not None and lead.above(0.0)]


def _too_long(seen: Measured, line: Line, point: Point, better: TrialFigures, lead: Estimate) -> Diagnosis:
    k, interval = point.k, lead.interval()
    spread = f" (95 % {exp(interval[0]):.2f}-{exp(interval[1]):.2f})" if interval else ""
    shares = " ".join(f"{100 * (figure.value or 0.0):.0f}" for figure in point.load.acceptance_by_position)
    drafts = point.load.acceptance_by_position[0]
    return Diagnosis(
        code="k_too_long",
        subject=line.subject,
        what=f"K = {k} is longer than what {line.subject} guesses right: a smaller K is faster.",
        evidence=(
            f"accepted by position, per cent of all drafts: {shares} ({number(drafts)}, "
            f"{where(point.load_point, line.loads)})",
            f"K = {better.candidate.k} is {exp(lead.mean):.2f}x as fast as K = {k}{spread}, n = {lead.n} prompts",
        ),
        confidence=Confidence.HIGH if min(better.lives, point.trial.lives) > 1 else Confidence.MEDIUM,
        next_step=(
            f"Keep K at {better.candidate.k} or near it, and leave K = {k} out of the search space."
            if seen.wins(line)
            else f"Leave K = {k} out of the search space; K = {better.candidate.k} is not shown to pay either."
        ),
    )
