"""What the diagnoses rest on, as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.apart import RULES, DraftApart, Verification
from tuner.explanation import how
from tuner.extras import Dragged
from tuner.records import Figure, Findings, Json, LoadFigures, TrialFigures
from tuner.report import Report


def acceptances(findings: Findings) -> Iterator[tuple[TrialFigures, LoadFigures]]:
    """Yield each speculative trial with its figures at each load point."""
    for trial in findings.trials:
        if trial.candidate.k:
            yield from ((trial, load) for load in trial.loads)


def diagnosis(report: Report) -> dict[str, Json]:
    """Return what the diagnoses rest on, as JSON; times in seconds. The diagnoses themselves are in the summary."""
    explained = report.explanation
    return {
        "draft_and_target": [_draft(row) for row in explained.apart.drafts],
        "not_served_alone": {**explained.apart.failed, **explained.heads},
        "verification": [_verification(row) for row in explained.apart.verification],
        "dragged_along": [_dragged(dragged) for dragged in explained.dragged],
        "second_baselines": [
            {
                "candidate": split.candidate.label,
                "load_point": split.load_point.label,
                "speedup": _figure(split.speedup),
                "settings_alone": _figure(split.settings),
                "speculation_alone": _figure(split.speculation),
            }
            for second in explained.second
            for split in second.splits
        ],
        "acceptance": [
            {
                "candidate": trial.candidate.label,
                "load_point": load.load_point.label,
                "acceptance_rate": load.figures["acceptance_rate"].value,
                "mean_acceptance_length": load.figures["mean_acceptance_length"].value,
                "by_position": [figure.value for figure in load.acceptance_by_position],
            }
            for trial, load in acceptances(report.findings)
        ],
    }


def _draft(row: DraftApart) -> Json:
    return {
        "draft": row.draft,
        "load_point": row.load_point.label,
        "draft_tpot_s": _figure(row.draft_tpot),
        "target_tpot_s": _figure(row.target_tpot),
        "target_over_draft": _figure(row.ratio),
        "rules": {f"{rule:g}x": kept for rule, kept in zip(RULES, row.rules, strict=True)},
    }


def _verification(row: Verification) -> Json:
    return {
        "draft": row.candidate.draft_name,
        "num_speculative_tokens": row.candidate.k,
        "load_point": row.load_point.label,
        "step_s": _figure(row.step),
        "over_plain_step": _figure(row.growth),
        "draft_coverage": row.coverage.value,
    }


def _dragged(dragged: Dragged) -> Json:
    return {
        "candidates": [record.candidate.label for record in dragged.trials],
        "changes": list(dragged.effects.changes),
        "reproduced_by": how(dragged),
        "not_reproducible": list(dragged.effects.others),
    }


def _figure(figure: Figure) -> Json:
    return {"value": figure.value, "low": figure.low, "high": figure.high, "n": figure.n, "estimator": figure.estimator}
