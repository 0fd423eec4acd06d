"""No cause is refuted by the figures beside it, whatever was measured and however the baseline drifted."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analysis.diagnoses.seeing import C1, C16, Make, by_concurrency, said, seen, served_alone
from tuner.analysis.diagnoses import Measured, diagnoses
from tuner.records import Confidence, Diagnosis, LoadPoint, Role, Trial

LOADS = (C1, C16)
LOSES = ("draft_too_weak", "few_matches", "draft_too_slow")
"""Codes that say why a draft loses: they may be given only where it was measured slower."""
SECONDS = st.floats(0.008, 0.04)
SHARES = st.floats(0.05, 0.95)


def sweep(make: Make, tpots: list[float], accepted: list[float], noise: float = 0.0) -> list[Trial]:
    """Return two lives of a baseline, three candidates and a draft alone, each with a TPOT at both load points."""

    def trial(number: int, *, name: str = "good", role: Role | None = None, **more: object) -> Trial:
        at = tpots[2 * number : 2 * number + 2]
        uneven = by_concurrency(c1=at[0], c16=at[1])

        def tpot(load: LoadPoint, prompt: int, repeat: int) -> float:
            return uneven(load, prompt, repeat) * (1 + noise * ((3 * prompt + number) % 4))

        return make(number, loads=LOADS, tpot=tpot, draft=name, **({"role": role} if role else {}), **more)

    first, other, ngram = accepted
    return [
        trial(0),
        trial(1, k=3, acceptance=[first**i for i in (1, 2, 3)]),
        trial(2, k=5, name="other", acceptance=[other, *(other * first**i for i in (1, 2, 3, 4))]),
        trial(3, k=3, name="ngram", method="ngram", acceptance=[ngram**i for i in (1, 2, 3)]),
        trial(4, k=1, name="other", acceptance=[other]),
        trial(5, role=Role.BASELINE_AGAIN),
        served_alone(trial(6)),
    ]


HOLDS: tuple[tuple[str, Callable[[float, float], bool]], ...] = (
    (r"gives ([\d.]+) tokens; to pay, it has to give ([\d.]+)", lambda gives, needs: gives <= needs),
    (r"at best (\d+) % (?:\([^)]*\) )?of its first ()", lambda accepted, _: accepted <= 50),
    (r"as fast as K = \d+ \(95 % ([\d.]+)-([\d.]+)", lambda low, _: low >= 1.0),
    (r"the target [\d.]+ ms, ([\d.]+)x()", lambda times, _: times <= 10),
    (r"each token adds ([\d.]+) plain.* adds ([\d.]+) a token", lambda adds, may: adds >= may),
)
"""Sentences of evidence with two figures (or one and nothing), and what holds between them."""


def refuted(one: Diagnosis, measured: Measured) -> list[str]:
    """Return what of a diagnosis its own figures contradict."""
    wrong = [
        sentence
        for sentence in one.evidence
        for pattern, holds in HOLDS
        for first, second in re.findall(pattern, sentence)
        if not holds(float(first), float(second or 0))
    ]
    line = next((line for line in measured.lines if line.subject == one.subject), None)
    overall = [figure for _, figure in measured.overall(line)] if line and one.code in LOSES else []
    if any((figure.value or 0.0) >= 1.0 for figure in overall):
        wrong.append("it was measured faster")
    if one.confidence is Confidence.HIGH and any((figure.high or 9.0) >= 1.0 for figure in overall):
        wrong.append("clear, and its interval has 1 in it")
    return wrong


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(SECONDS, min_size=14, max_size=14),
    st.lists(SHARES, min_size=3, max_size=3),
    st.sampled_from([0.0, 0.1, 0.4]),
)
def test_no_cause_is_refuted_by_its_own_evidence(
    make_trial: Make, tpots: list[float], accepted: list[float], noise: float
) -> None:
    measured = seen(sweep(make_trial, tpots, accepted, noise), LOADS)
    assert {one.code: wrong for one in diagnoses(measured) if (wrong := refuted(one, measured))} == {}


@pytest.mark.parametrize(
    ("again", "sure"), [(0.02, [Confidence.MEDIUM]), (0.03, [Confidence.MEDIUM]), (0.05, [])], ids=str
)
def test_a_drift_that_is_larger_than_the_loss_leaves_weakness_open(
    make_trial: Make, again: float, sure: list[Confidence]
) -> None:
    """At 26 ms a weak draft loses to lives of 20 and 20 or 30 ms; the mean of 20 and 50 is 32: there it does not."""
    tpots = [0.02, 0.02, 0.026, 0.026, *[0.05] * 6, again, again, 0.002, 0.002]
    measured = seen(sweep(make_trial, tpots, [0.3, 0.9, 0.9]), LOADS)
    assert [one.confidence for one in said("draft_too_weak", measured) if one.subject == "good"] == sure
