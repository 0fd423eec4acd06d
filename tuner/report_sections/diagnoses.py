"""Why the answer is what it is: the causes that the measurements show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.records import Confidence, Diagnosis, Json

SURE = {Confidence.HIGH: "clear", Confidence.MEDIUM: "likely", Confidence.LOW: "possible"}
"""How a confidence is said: the intervals show it; the values do; it fits, and other causes fit too."""


def diagnoses_section(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """Yield the section as Markdown; nothing where nothing was found."""
    if not diagnoses:
        return
    yield "## Why"
    yield ""
    for one in diagnoses:
        yield f"- **{one.what}** ({SURE[one.confidence]}; `{one.code}`: {one.subject})"
        yield from (f"  - {sentence}" for sentence in one.evidence)
        yield f"  - next: {one.next_step}"
    yield ""


def diagnosis_lines(diagnoses: Sequence[Diagnosis], most: int) -> Iterator[str]:
    """Yield the first few in a line each, and how many more there are."""
    for one in diagnoses[:most]:
        yield f"{one.what} ({SURE[one.confidence]})"
    if len(diagnoses) > most:
        yield f"{len(diagnoses) - most} more in the report, with evidence and next steps"


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Json]:
    """Return a diagnosis for scripts."""
    return {
        "code": diagnosis.code,
        "subject": diagnosis.subject,
        "what": diagnosis.what,
        "evidence": list(diagnosis.evidence),
        "confidence": diagnosis.confidence.value,
        "next_step": diagnosis.next_step,
    }
