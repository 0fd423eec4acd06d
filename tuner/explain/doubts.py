"""What was not measured, what limits the certainty, and which causes the measurements show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from tuner.analysis.wording import drift_words
from tuner.explain.facts import AtTemperature, Facts, NotMeasured, Why
from tuner.explain.figures import fine_share, ranges, share
from tuner.explain.lines import Line, Quoted, Section, line
from tuner.records import Limit, Verdict
from tuner.search.left import Predicted
from tuner.words import unfinished_words

_SAID_WITH_THE_ANSWER = (unfinished_words((), ""), "simulated engine: these figures describe no real model")


def missing_section(facts: Facts) -> Section:
    """Return what of the search space has no figures, each with its reason."""
    found = tuple(_missing(facts))
    return Section("not_measured", line("missing.title"), found or (line("missing.none"),))


def certainty_section(at: AtTemperature) -> Section:
    """Return what the uncertainty comes from, and what would settle the answer."""
    return Section("certainty", line("doubt.title"), tuple(_certainty(at)))


def causes_section(facts: Facts) -> Section:
    """Return the diagnoses with their evidence and next steps."""
    found = tuple(_causes(facts))
    return Section("causes", line("cause.title"), found or (line("cause.none"),))


def _missing(facts: Facts) -> Iterator[Line]:
    findings, manifest = facts.analysed.findings, facts.analysed.manifest
    ordered = sorted(facts.not_measured, key=lambda one: (one.candidate.draft_name, one.candidate.args_key, one.why))
    groups = groupby(ordered, lambda one: (one.candidate.draft_name, one.candidate.args_key, one.why, one.failed_k))
    for (draft, _, why, _), group in groups:
        yield from _of_reason(draft, why, list(group))
    labels = {record.name: record.label for record in facts.analysed.records}
    for name, reason in findings.failed.items():
        yield line("missing.failed", label=labels.get(name, name), reason=Quoted(reason))
    for label, reason in manifest.unavailable.items():
        yield line("missing.unavailable", label=label, reason=Quoted(reason))
    for covered in findings.traffic.values():
        if covered.beyond > 0:
            yield line("missing.traffic", share=share(covered.beyond))


def _of_reason(draft: str, why: Why, group: Sequence[NotMeasured]) -> Iterator[Line]:
    ks = ranges(one.candidate.k for one in group)
    if why is not Why.PREDICTED:
        failed = next((str(one.failed_k) for one in group if one.failed_k is not None), "")
        yield line("missing.k", draft=draft, ks=ks, reason=line(f"missing.{why.value}", failed=failed))
        return
    for one in sorted(group, key=lambda one: one.candidate.k):
        if one.predicted is not None:
            reason = _predicted(one.predicted)
            yield line("missing.k", draft=draft, ks=str(one.candidate.k), reason=reason)


def _predicted(predicted: Predicted) -> Line:
    if predicted.rough:
        low, high = predicted.bounds
        return line("missing.roughly", low=f"{low:.2f}x", high=f"{high:.2f}x")
    return line("missing.predicted", speedup=f"{math.exp(predicted.log):.2f}x")


def _certainty(at: AtTemperature) -> Iterator[Line]:
    fine, protocol = at.answer.resolution, at.facts.analysed.manifest.protocol
    if fine is None:
        yield line("doubt.no_resolution")
    else:
        yield line(f"doubt.{fine.limited_by.value}")
        if fine.life_sd is not None:
            yield line("doubt.life_sd", sd=fine_share(fine.life_sd))
        yield line("doubt.smallest", effect=fine_share(fine.smallest_effect))
        undecided = at.answer.verdict is Verdict.INCONCLUSIVE
        if undecided and fine.needed is not None and fine.limited_by is not Limit.DRIFT:
            needed = line(f"needed.{fine.limited_by.value}", n=f"{fine.needed:,}")
            yield line("doubt.needed", effect=fine_share(fine.effect), needed=needed)
    if at.answer.lives == 1 and at.chosen is not None:
        yield line("doubt.one_life" if protocol.lives == 1 else "doubt.lives_missing", lives=str(protocol.lives))
    drifts = [figure.value for figure in at.facts.analysed.findings.drift.values() if figure.value is not None]
    worst = max(drifts, key=lambda ratio: abs(math.log(ratio)), default=None)
    yield line("doubt.drift_unknown") if worst is None else line("doubt.drifted", drift=Quoted(drift_words(worst)))
    warnings = at.facts.analysed.findings.warnings
    yield from (line("doubt.warning", text=Quoted(text)) for text in warnings if text not in _SAID_WITH_THE_ANSWER)


def _causes(facts: Facts) -> Iterator[Line]:
    for one in facts.analysed.findings.diagnoses:
        sure = line(f"sure.{one.confidence.value}")
        yield line("cause.line", what=line(f"cause.{one.code}"), subject=Quoted(one.subject), sure=sure)
        yield line("cause.report", text=Quoted(one.what))
        yield from (line("cause.evidence", text=Quoted(sentence)) for sentence in one.evidence)
        yield line("cause.next", advice=line(f"next.{one.code}"))
