"""The finalists' fresh engine lives: what each round gave, and how fine a difference they could tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.analysis.rounds import round_speedups
from tuner.analysis.wording import effect_words
from tuner.records import Answer, Findings, LoadFigures, Metric, Resolution, TrialFigures
from tuner.words import full_label, milliseconds, times

_ABOUT = (
    "After selection the winner, its closest rival and their baselines were measured again, in rounds of one life "
    "each, started one after another: the best of many single figures is too high on average, and two lives of one "
    "engine can differ by more than the effect."
)
_RESTS = " The answer comes from these lives alone."
_DOES_NOT_REST = " They are fewer than an answer needs: it still is that of the single lives."


def lives_section(findings: Findings, names: Sequence[str]) -> Iterator[str]:
    """Yield the section; nothing where no finalist was measured again.  names: arguments that tell candidates apart."""
    if not findings.finals:
        return
    yield "## Fresh engine lives"
    yield ""
    yield _ABOUT + (_RESTS if rests_on_fresh_lives(findings) else _DOES_NOT_REST)
    yield ""
    speedup = _speedup_of(findings.goal.metric)
    yield f"| candidate | load point | lives | TPOT | {speedup} | for prompts like these | speedup in each round |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for trial in findings.finals:
        yield from (_row(trial, load, names) for load in trial.loads)
    yield ""
    if findings.goal.metric is not Metric.TPOT:
        yield f"{findings.goal.metric.words} decided, and the rounds are of it; prompts like these are asked of TPOT."
        yield ""
    for answer in findings.answers:
        yield from _precision(answer)


def rests_on_fresh_lives(findings: Findings) -> bool:
    """Whether enough fresh lives were measured for an answer to come from them."""
    return any(answer.lives > 1 for answer in findings.answers)


def _speedup_of(metric: Metric) -> str:
    return "speedup (95 %)" if metric is Metric.TPOT else f"{metric.words} speedup (95 %)"


def _row(trial: TrialFigures, load: LoadFigures, names: Sequence[str]) -> str:
    figures = load.figures
    cells = [
        full_label(trial.candidate, names),
        load.load_point.label,
        str(trial.lives),
        milliseconds(figures["tpot_s"]),
        times(figures[trial.metric.speedup]) if trial.metric.speedup in figures else "",
        times(figures["speedup_tpot_similar_prompts"]) if "speedup_tpot_similar_prompts" in figures else "",
        " ".join(f"{speedup:.2f}" for speedup in round_speedups(load).values()),
    ]
    return f"| {' | '.join(cells)} |"


def _precision(answer: Answer) -> Iterator[str]:
    if answer.lives < 2 or answer.resolution is None:
        return
    parts = [f"At temperature {answer.temperature:g}: {_spread(answer.resolution)}"]
    if answer.screened is not None and answer.screened.value is not None:
        parts.append(f"Before selection, in one life, {answer.best.label} showed {times(answer.screened)}.")
    yield " ".join(parts)
    yield ""


def _spread(resolution: Resolution) -> str:
    words = f"an effect of {effect_words(resolution.smallest_effect)} would be seen in nine of ten sweeps like this one"
    if resolution.life_sd is None or resolution.repeat_sd is None:
        return f"{words}."
    if resolution.life_sd == 0.0:
        return f"{words}; lives differed no more than their repeats explain ({resolution.repeat_sd:.1%} SD)."
    return (
        f"{words}; from life to life the speedup differs by {resolution.life_sd:.1%} (SD), and the repeats within a "
        f"life add {resolution.repeat_sd:.1%}."
    )
