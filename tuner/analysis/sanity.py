"""Whether a trial's answers and counters can be true, against its baseline's; looked at before anybody looks at speed.

The unit is the prompt: at temperature 0 the repeats of a prompt are one answer several times, and at several
concurrencies too. Shares are compared by Fisher's exact test, one-sided, at LEVEL divided by the number of load points,
and have to differ by CLEAR_SHARE besides. What the baseline does itself is no fault: small models repeat themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tuner.analysis.life import LoadView, answer_length, load_view
from tuner.analysis.statistics import Column, exp, fisher_more, log_ratios, mean_estimate
from tuner.records import Bar, BarKind, LoadPoint, RequestSample, Trial

LEVEL = 0.01
CLEAR_SHARE = 0.10
"""Difference of two shares of prompts below which nothing is made of it."""
REPETITIVE = 0.5
"""Share of an answer's 4-grams that were in it before, above which it counts as repeating itself."""
JUDGED_LENGTH = 16
"""Tokens below which an answer is too short to repeat itself."""
LENGTHS = (0.8, 1.25)
"""Geometric mean ratio of answer lengths, candidate / baseline, outside which they differ."""

_NGRAM = 4
_CHARACTERS_PER_TOKEN = 4
_ROUNDING = 1e-9


def text_bars(trial: Trial, baseline: Trial, load_points: Sequence[LoadPoint]) -> tuple[Bar, ...]:
    """Return what bars the trial because of its answers; one Bar of each kind, with the first load point's evidence."""
    level = LEVEL / max(len(load_points), 1)
    found: dict[BarKind, list[str]] = {}
    for load in load_points:
        own, base = load_view(trial, load.key), load_view(baseline, load.key)
        if own is None or base is None:
            continue
        for check in (_degenerate, _lengths, _wrong):
            bar = check(own, base, level)
            if bar is not None:
                found.setdefault(bar.kind, []).append(f"{load.label}: {bar.text}")
    return bars_of(found)


def bars_of(found: Mapping[BarKind, Sequence[str]]) -> tuple[Bar, ...]:
    """Return one bar of each kind that was found: the first load point's text, and how many more there are."""
    return tuple(Bar(kind, _first_of(texts)) for kind, texts in found.items() if texts)


def _first_of(texts: Sequence[str]) -> str:
    more = len(texts) - 1
    return texts[0] if not more else f"{texts[0]}; also at {more} more load point{'s' if more > 1 else ''}"


def _degenerate(own: LoadView, base: LoadView, level: float) -> Bar | None:
    compared = compared_shares(own, base, lambda sample: empty(sample) or repeats_itself(sample))
    if compared is None or not compared.clear(level):
        return None
    loops = compared_shares(own, base, repeats_itself)
    what = "repeat themselves" if loops and loops.clear(level) else "are empty or repeat themselves"
    return Bar(BarKind.DEGENERATE_TEXT, f"{compared.words} {what} ({compared.evidence})")


def _wrong(own: LoadView, base: LoadView, level: float) -> Bar | None:
    compared = compared_shares(own, base, lambda sample: None if sample.correct is None else not sample.correct)
    if compared is None or not compared.clear(level):
        return None
    return Bar(BarKind.ANSWERS_WRONG, f"{compared.words} miss the reference ({compared.evidence})")


def _lengths(own: LoadView, base: LoadView, level: float) -> Bar | None:
    """Compare lengths by prompt: medians over its answers, a paired t-test over the logs of their ratios."""
    if own.measurement.load_point.ignore_eos:
        return None
    ours, theirs = (view.by_prompt(answer_length) for view in (own, base))
    estimate = mean_estimate([Column(log_ratios(ours, theirs))])
    if estimate is None or LENGTHS[0] <= exp(estimate.mean) <= LENGTHS[1]:
        return None
    if not (estimate.above(0.0, 1 - level) or estimate.below(0.0, 1 - level)):
        return None
    ratio = exp(estimate.mean)
    return Bar(
        BarKind.LENGTH_DIFFERS,
        f"its answers are {ratio:.2f} times as long as the baseline's (geometric mean over {estimate.n} prompts)",
    )


# --- one answer -------------------------------------------------------------------------------------------------------


def empty(sample: RequestSample) -> bool:
    """Whether the answer is nothing or white space."""
    return not sample.text.strip()


def repeats_itself(sample: RequestSample) -> bool:
    """Whether over half of the answer's 4-grams of token ids were in it before.

    The share is 1 - distinct 4-grams / 4-grams (seq-rep-4 of Welleck et al., "Neural Text Generation with Unlikelihood
    Training", 2020). An answer without token ids is judged by its characters, four of which count as a token.
    """
    units: Sequence[object] = sample.token_ids
    scale = 1
    if not units:
        units, scale = sample.text, _CHARACTERS_PER_TOKEN
    return len(units) >= JUDGED_LENGTH * scale and repetition(units, _NGRAM * scale) > REPETITIVE


def repetition(units: Sequence[object], n: int = _NGRAM) -> float:
    """Return the share of n-grams that occurred before in `units`, 0 for fewer than n of them."""
    grams = [tuple(units[i : i + n]) for i in range(len(units) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


# --- two shares -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shares:
    """A share of answers in both arms, over the prompts that both have.  example: a prompt with such an answer."""

    own: float
    base: float
    prompts: int
    example: str

    @property
    def p_value(self) -> float:
        """One-sided p-value of Fisher's exact test; parts of prompts count for the baseline's innocence."""
        hits = math.floor(self.own * self.prompts + _ROUNDING)
        tolerated = math.ceil(self.base * self.prompts - _ROUNDING)
        return fisher_more(hits, self.prompts, tolerated, self.prompts)

    def clear(self, level: float) -> bool:
        """Whether the trial's share is clearly larger."""
        return self.own - self.base >= CLEAR_SHARE - _ROUNDING and self.p_value < level

    @property
    def words(self) -> str:
        """Both shares as the beginning of a sentence."""
        return f"{self.own:.0%} of its answers, {self.base:.0%} of the baseline's,"

    @property
    def evidence(self) -> str:
        """On how much they rest, and where to look."""
        return f"{self.prompts} prompts, p = {self.p_value:.2g}, for one {self.example}"


def compared_shares(own: LoadView, base: LoadView, judge: Callable[[RequestSample], bool | None]) -> Shares | None:
    """Return the mean over prompts of the share of a prompt's answers that `judge` is true of, in both arms.

    None where no prompt was judged in both.
    """
    ours, theirs = _share_by_prompt(own, judge), _share_by_prompt(base, judge)
    common = [prompt for prompt in ours if prompt in theirs]
    if not common:
        return None
    own_mean, base_mean = (math.fsum(shares[p] for p in common) / len(common) for shares in (ours, theirs))
    return Shares(own_mean, base_mean, len(common), max(common, key=lambda p: ours[p] - theirs[p]))


def _share_by_prompt(view: LoadView, judge: Callable[[RequestSample], bool | None]) -> Mapping[str, float]:
    judged: dict[str, list[bool]] = {}
    for sample in view.samples:
        verdict = judge(sample)
        if verdict is not None:
            judged.setdefault(sample.prompt_id, []).append(verdict)
    return {prompt: sum(verdicts) / len(verdicts) for prompt, verdicts in judged.items()}
