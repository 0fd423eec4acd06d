"""Numbers as people read them: milliseconds, multiples, intervals. The only place that formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tuner.records import (
    Answer,
    Candidate,
    Figure,
    LoadPoint,
    Metric,
    Role,
    SameOutput,
    TrialFigures,
    TrialRecord,
    Verdict,
)

VERDICT_WORDS = {
    Verdict.SPECULATE: "speculate",
    Verdict.SPECULATE_BELOW: "speculate at a concurrency of up to {up_to}, not at {below}",
    Verdict.DO_NOT: "do not speculate",
    Verdict.INCONCLUSIVE: "inconclusive: do not speculate until a better measurement says so",
}


SAME_WORDS = {
    SameOutput.IDENTICAL: "identical",
    SameOutput.NEAR_TIES: "the same but for near-ties",
    SameOutput.UNEXPLAINED: "some part, cause not known",
    SameOutput.NO_DIFFERENCE_FOUND: "no difference found",
    SameOutput.DIFFERS: "differ",
    SameOutput.NOT_COMPARED: "not compared",
}

ROLE_WORDS = {
    Role.BASELINE: "baseline",
    Role.CANDIDATE: "candidate",
    Role.BASELINE_AGAIN: "baseline again",
    Role.CANDIDATE_AGAIN: "candidate again",
    Role.FINAL: "fresh life of a finalist",
    Role.SAME_RUNNER: "baseline with what speculation drags along",
    Role.DRAFT_ALONE: "draft alone",
    Role.SCHEDULE: "K schedule as deployed, static K and baseline",
}


def distinguishing(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """Return the engine arguments in which these candidates differ; their labels alone would look the same."""
    seen = [dict(candidate.engine_args) for candidate in candidates]
    names = dict.fromkeys(name for args in seen for name in args)
    return tuple(name for name in names if any(args.get(name) != seen[0].get(name) for args in seen))


def full_label(candidate: Candidate, arguments: Iterable[str]) -> str:
    """Return the candidate's label with those of its engine arguments: "good K=3 (max_model_len 2048)"."""
    given = [f"{name} {candidate.engine_args.get(name, 'default')}" for name in arguments]
    return f"{candidate.label} ({', '.join(given)})" if given else candidate.label


def engine_words(version: str, build: str) -> str:
    """Return "vLLM 0.32.0 (cpu)", or say that it is simulated."""
    return f"simulated engine (as vLLM {version.partition('+')[0]})" if build == "sim" else f"vLLM {version} ({build})"


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


def time_left_words(left_s: float, between_s: tuple[float, float] | None) -> str:
    """Return "about 3 min 20 s", or "3 min 20 s to 5 min 00 s" where the ends are apart."""
    least_s, most_s = said_ends_s(left_s, between_s)
    return f"about {duration(left_s)}" if least_s == most_s else f"{duration(least_s)} to {duration(most_s)}"


def said_ends_s(left_s: float, between_s: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of the time left as people are told them: the estimate alone where they are close together."""
    return (left_s, left_s) if between_s is None or between_s[1] < 1.25 * between_s[0] else between_s


def verdict_words(answer: Answer) -> str:
    """Return the verdict as a phrase that names K and draft: "speculate: good, K = 4"."""
    return verdict_phrase(answer.verdict, answer.best, answer.up_to, answer.below)


def verdict_phrase(verdict: Verdict, best: Candidate, up_to: int | None, below: int | None) -> str:
    """Return a verdict as `verdict_words` does, of an answer that was read from an artifact too."""
    phrase = VERDICT_WORDS[verdict].format(up_to=up_to, below=below)
    if best.speculation is None or verdict not in (Verdict.SPECULATE, Verdict.SPECULATE_BELOW):
        return phrase
    return f"{phrase}: {best.draft_name}, K = {best.k}"


def unfinished_words(left_open: Sequence[str], ended_by: str) -> str:
    """Return that a sweep is not finished, what is open, and the limit that ended it, like "max_trials: 9"."""
    parts = [f"the limit {ended_by} ended it"] if ended_by else []
    parts += [f"open: {', '.join(left_open)}"] if left_open else []
    told = f" ({'; '.join(parts)})" if parts else ""
    return f"the sweep is not finished: this is the state so far{told}"


def trial_words(record: TrialRecord, figures: TrialFigures | None) -> str:
    """Return a finished trial in a line: its figures by load point, or why it has none."""
    if record.failure is not None:
        failure = record.failure
        return f"failed ({failure.code or failure.kind.value}): {failure.what or failure.message}"
    if figures is None:
        return "measured"
    again, names = not figures.candidate.k, _load_names([load.load_point for load in figures.loads])
    return "; ".join(
        f"{name}{_load_words(load.figures, figures.metric, again=again)}"
        for name, load in zip(names, figures.loads, strict=True)
    )


def _load_names(points: Sequence[LoadPoint]) -> list[str]:
    """Return what tells the load points apart: "concurrency 4: "."""
    if len(points) < 2:
        return [""] * len(points)
    steps = [point.concurrency for point in points]
    return [
        f"{point.label}: " if len(set(steps)) < len(steps) else f"concurrency {step}: "
        for point, step in zip(points, steps, strict=True)
    ]


def _load_words(figures: Mapping[str, Figure], metric: Metric, *, again: bool) -> str:
    """Return a load point's figures.  again: whether a speedup is that of a baseline over its own first life."""
    words = f"TPOT {milliseconds(figures['tpot_s'])}"
    speedup = figures.get(metric.speedup)
    of = "" if metric is Metric.TPOT else f"{metric.words} "
    if speedup is None:
        return words
    if again:
        return f"{words}, drift: the baseline itself is {of}{times(speedup, interval=False)} of its first life"
    return f"{words}, {of}{times(speedup)}"
