"""Outputs that are not the baseline's: a fault, a near-tie that rounding decides, or sampling."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.diagnoses.measured import SPECULATES, Measured, Point
from tuner.analysis.diagnoses.phrases import listed, where
from tuner.records import Candidate, Confidence, Diagnosis, SameOutput

Found = dict[str, tuple[Candidate, list[Point]]]


def fault(seen: Measured) -> Iterator[Diagnosis]:
    """Answers differ by more than rounding or chance explain."""
    for candidate, points in _by_candidate(seen, (SameOutput.DIFFERS,)).values():
        first, *more = points
        alone = [p for p in points if p.load_point.concurrency == 1 and p.load_point.sampling.temperature == 0]
        shown = alone[0] if alone else first
        others = f"; also at {listed([_where(seen, p) for p in points if p is not shown])}" if more else ""
        evidence = [f"{_where(seen, shown)}: {shown.load.sameness.note if shown.load.sameness else ''}{others}"]
        if alone:
            evidence.append("one request at a time has no batch whose order could change the rounding")
        yield Diagnosis(
            code="outputs_fault",
            subject=candidate.label,
            what=(
                f"{candidate.label} gives other answers than its target: a fault of the engine, the model or that life."
            ),
            evidence=tuple(evidence),
            confidence=Confidence.HIGH,
            next_step=(
                "Do not deploy it. Measure it again in a fresh life (same command, new --out): if it differs again, "
                "report "
                "it to vLLM with both texts."
            ),
        )


def near_ties(seen: Measured) -> Iterator[Diagnosis]:
    """The recommended candidate's answers part where the target itself hardly prefers either token."""
    wanted = {answer.best.key for answer in seen.findings.answers if answer.verdict in SPECULATES}
    kinds = (SameOutput.NEAR_TIES, SameOutput.UNEXPLAINED)
    for key, (candidate, points) in _by_candidate(seen, kinds).items():
        if key not in wanted:
            continue
        sure = all(p.load.sameness and p.load.sameness.verdict is SameOutput.NEAR_TIES for p in points)
        worst = min(points, key=_equal)
        yield Diagnosis(
            code="outputs_near_ties",
            subject=candidate.label,
            what=f"Some answers of {candidate.label} part from its target's{_how(sure)}",
            evidence=(f"{_where(seen, worst)}: {worst.load.sameness.note if worst.load.sameness else ''}",),
            confidence=Confidence.HIGH if sure else Confidence.LOW,
            next_step=(
                "Nothing: either token is the target's choice. Whoever needs equal bits serves one request at a time."
                if sure
                else "protocol.losslessness: true fetches the probabilities that tell rounding from a fault."
            ),
        )


def sampling_noise(seen: Measured) -> Iterator[Diagnosis]:
    """Sampled answers of the recommended candidate differ, and the test of their distribution found nothing."""
    wanted = {answer.best.key for answer in seen.findings.answers if answer.verdict in SPECULATES}
    for key, (candidate, points) in _by_candidate(seen, (SameOutput.NO_DIFFERENCE_FOUND,)).items():
        if key not in wanted:
            continue
        same = points[0].load.sameness
        yield Diagnosis(
            code="outputs_sampling_noise",
            subject=candidate.label,
            what=(
                f"Sampled answers of {candidate.label} differ from the target's by chance alone, as far as the test "
                "sees."
            ),
            evidence=(f"{_where(seen, points[0])}: {same.note if same else ''}",),
            confidence=Confidence.MEDIUM,
            next_step="Nothing; more samples (--check-distribution N) would see smaller differences.",
        )


def _by_candidate(seen: Measured, verdicts: tuple[SameOutput, ...]) -> Found:
    """Return the single lives' points with such a verdict, by candidate: outputs are compared there."""
    found: Found = {}
    for trial in seen.findings.trials:
        for load in trial.loads:
            if trial.candidate.k and load.sameness is not None and load.sameness.verdict in verdicts:
                found.setdefault(trial.candidate.key, (trial.candidate, []))[1].append(Point(trial, load))
    return found


def _how(sure: bool) -> str:
    return (
        " at near-ties, which rounding decides." if sure else ", not clearly more often than its own: likely rounding."
    )


def _where(seen: Measured, point: Point) -> str:
    return where(point.load_point, seen.loads)


def _equal(point: Point) -> float:
    same = point.load.sameness
    return same.equal / same.compared if same and same.compared else 1.0
