"""What a diagnosis says: the causes behind an answer, in tables, in plain words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.apart import RULES, DraftApart, Verification
from tuner.explanation import Explanation, how
from tuner.extras import Dragged
from tuner.records import Figure, Findings, Json, LoadFigures, TrialFigures
from tuner.report import Report
from tuner.words import milliseconds, plain, times

WEAK_ACCEPTANCE = 0.5
"""Acceptance of the first token below which a draft rarely pays: half of all drafts then give nothing."""


def main_findings(report: Report) -> list[str]:
    """Return what stands behind the answer, one sentence each, the answer first."""
    explained = report.explanation
    sentences = [f"At temperature {answer.temperature:g}: {answer.why}" for answer in report.findings.answers]
    sentences += [_draft_words(row) for row in explained.apart.drafts]
    sentences += [f"{draft} could not be served alone: {why}." for draft, why in explained.apart.failed.items()]
    sentences += [f"{name} was not served alone: {why}." for name, why in explained.heads.items()]
    sentences += _weak_drafts(report.findings)
    for row in explained.apart.verification:
        sentences.append(
            f"A step that verifies up to {row.candidate.k} tokens ({row.candidate.draft_name}, draft coverage "
            f"{plain(row.coverage)}) takes {times(row.growth)} of a plain step at {row.load_point.label}."
        )
    return [*sentences, *_dragged_words(explained)]


def _draft_words(row: DraftApart) -> str:
    rules = {
        True: "keeps the {rule:g}x rule",
        False: "breaks the {rule:g}x rule",
        None: "leaves the {rule:g}x rule open",
    }
    kept = " and ".join(rules[kept].format(rule=rule) for rule, kept in zip(RULES, row.rules, strict=True))
    return (
        f"{row.draft} alone takes {milliseconds(row.draft_tpot)} a token and the target "
        f"{milliseconds(row.target_tpot)} at {row.load_point.label}: {times(row.ratio)} faster, which {kept}."
    )


def acceptances(findings: Findings) -> Iterator[tuple[TrialFigures, LoadFigures]]:
    """Yield each speculative trial with its figures at each load point."""
    for trial in findings.trials:
        if trial.candidate.k:
            yield from ((trial, load) for load in trial.loads)


def _weak_drafts(findings: Findings) -> list[str]:
    sentences = []
    for trial, load in acceptances(findings):
        first = load.acceptance_by_position[0] if load.acceptance_by_position else None
        if first is not None and first.value is not None and first.value < WEAK_ACCEPTANCE:
            sentences.append(
                f"{trial.candidate.label} is a weak draft at {load.load_point.label}: only {first.value:.0%} of its "
                f"first tokens are accepted."
            )
    return sentences


def _dragged_words(explained: Explanation) -> list[str]:
    sentences = [_drags(dragged) for dragged in explained.dragged]
    for second in explained.second:
        for split in second.splits:
            sentences.append(
                f"Of {split.candidate.label}'s {times(split.speedup)} at {split.load_point.label}, the settings alone "
                f"are {times(split.settings)} and speculation alone is {times(split.speculation)}."
            )
    return [sentence for sentence in sentences if sentence]


def _drags(dragged: Dragged) -> str:
    names = ", ".join(dict.fromkeys(record.candidate.draft_name for record in dragged.trials))
    parts = []
    if dragged.effects.changes:
        parts.append(f"drags along {' and '.join(dragged.effects.changes)}")
    parts += [f'changes what cannot be reproduced without it ("{line}")' for line in dragged.effects.others]
    if not parts:
        return f"Speculation with {names} drags nothing along that its log tells."
    return f"Speculation with {names} {'; '.join(parts)}."


def diagnosis(report: Report) -> dict[str, Json]:
    """Return the causes as JSON; times in seconds."""
    explained = report.explanation
    return {
        "findings": list(main_findings(report)),
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
