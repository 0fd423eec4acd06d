"""`tuner sweep --if-stale`: whether the last sweep of the target still holds, told before anything is measured."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tuner.artifact import recommended_candidate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuner.artifact.model import Answer, BestConfig
    from tuner.identity import Difference
    from tuner.records import Json
    from tuner.upgrade import LastSweep


def stale_lines(last: LastSweep | None, found: Iterable[Difference]) -> list[str]:
    """Return why it is measured again, or that it is not."""
    if last is None:
        return ["stale: the registry has no sweep of this target at these load points"]
    stale = [one for one in found if one.stale]
    if not stale:
        verdict = last.config.verdict.value
        return [f"fresh: {last.where} ({verdict})", "Nothing is measured. Without --if-stale it would be."]
    return [f"stale: {last.where}", *(f"  {one.field}: {one.measured} -> {one.now} ({one.why})" for one in stale)]


def fresh_summary(last: LastSweep, found: Iterable[Difference]) -> dict[str, Json]:
    """Return the closing JSON object of a sweep that had nothing to do: keys as in tuner.cli.closing.summary."""
    config = last.config
    best = [_best(config, answer) for answer in config.answers]
    answers: list[Json] = [_answer(config, answer) for answer in config.answers]
    return {
        "run": None,
        "finished": config.finished,
        "verdict": config.verdict.value,
        "best": best[0],
        "answers": answers,
        "diagnoses": [one.model_dump(mode="json") for one in config.diagnoses],
        "warnings": list(config.warnings),
        "artifact": last.where,
        "registry_entry": last.where.rpartition("/")[0] or None,
        "fresh": True,
        "started_from": None,
        "against_last": None,
        "engine_starts": 0,
        "trials": 0,
        "failed": 0,
        "failures": [],
        "auto_fix": [],
        "not_measured": [],
        "wall_s": 0.0,
        "overhead_s": 0.0,
        "differences": [asdict(one) for one in found],
    }


def _answer(config: BestConfig, answer: Answer) -> dict[str, Json]:
    speedup, limit = answer.measured.expected_speedup, answer.recommended.limit
    return {
        "temperature": float(answer.temperature),
        "verdict": answer.verdict.value,
        "best": _best(config, answer),
        "speedup": speedup.value,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        "metric": config.objective.metric.value,
        "prompts": speedup.n if speedup.n_of == "prompts" else None,
        "engine_lives": answer.measured.engine_lives,
        "up_to": limit.up_to_concurrency if limit else None,
        "below": limit.slower_at_concurrency if limit else None,
        "why": answer.why,
        "schedule": _schedule(answer),
    }


def _schedule(answer: Answer) -> Json:
    schedule = answer.measured.schedule
    return {"exportable": schedule.exportable, "why": schedule.why} if schedule else None


def _best(config: BestConfig, answer: Answer) -> Json:
    spec = recommended_candidate(config, answer.recommended.limit or answer.recommended).speculation
    if spec is None:
        return None
    return {"method": spec.method, "draft": spec.draft, "num_speculative_tokens": spec.num_speculative_tokens}
