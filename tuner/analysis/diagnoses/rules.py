"""The rules, the most telling first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tuner.analysis.diagnoses import acceptance, memory, noise, outputs, setup, step_cost, traffic, vocabulary
from tuner.analysis.diagnoses.measured import Measured
from tuner.records import Confidence, Diagnosis


@dataclass(frozen=True)
class Rule:
    """One kind of cause.  codes: of the diagnoses that it may give.  aside: good to know, and never why.

    find: nothing where its data is missing.
    """

    codes: tuple[str, ...]
    find: Callable[[Measured], Iterable[Diagnosis]]
    aside: bool = False


RULES = (
    Rule(("outputs_fault",), outputs.fault),
    Rule(("memory_at_start", "memory_for_kv_cache", "memory_in_verification"), memory.out_of_memory),
    Rule(("memory_for_kv_cache",), memory.preempted),
    Rule(("vocabulary_mismatch", "head_of_another_target"), vocabulary.other_vocabulary),
    Rule(("engine_overhead",), step_cost.engine_overhead),
    Rule(("draft_too_slow",), step_cost.draft_too_slow),
    Rule(("draft_too_weak",), acceptance.draft_too_weak),
    Rule(("few_matches",), acceptance.few_matches),
    Rule(("saturated",), traffic.saturated),
    Rule(("answers_too_short",), traffic.answers_too_short),
    Rule(("target_too_small",), traffic.target_too_small),
    Rule(("noise_too_large",), noise.too_noisy),
    Rule(("k_too_long",), acceptance.k_too_long),
    Rule(("lives_differ",), noise.lives_differ),
    Rule(("settings_changed",), setup.settings_changed),
    Rule(("acceptance_below_half",), acceptance.below_half, aside=True),
    Rule(("stacked_accelerators",), setup.stacked, aside=True),
    Rule(("outputs_near_ties",), outputs.near_ties, aside=True),
    Rule(("outputs_sampling_noise",), outputs.sampling_noise, aside=True),
)


def diagnoses(seen: Measured) -> tuple[Diagnosis, ...]:
    """Return the causes that the measurements show, each once: likely ones first, asides last.

    Among these, what is about the recommended draft (where there is none, the nearest) comes before what is about
    others or several; then in the rules' order.
    """
    elsewhere = _other_subjects(seen)
    found = [(rule, one) for rule in RULES for one in rule.find(seen)]

    def rank(pair: tuple[Rule, Diagnosis]) -> tuple[bool, bool, bool]:
        rule, one = pair
        return rule.aside, one.confidence is Confidence.LOW, one.subject in elsewhere or ", " in one.subject

    return tuple(dict.fromkeys(one for _, one in sorted(found, key=rank)))


def _other_subjects(seen: Measured) -> frozenset[str]:
    """Return what diagnoses may call the drafts that no answer is about."""
    asked = [candidate for answer in seen.findings.answers for candidate in (answer.best, answer.runner_up)]
    drafts = {candidate.draft_name for candidate in asked if candidate is not None and candidate.k}
    if not drafts:
        return frozenset()
    lines = [line for line in seen.lines if line.first.draft_name not in drafts]
    return frozenset(name for line in lines for name in (line.subject, *(t.candidate.label for t in line.candidates)))
