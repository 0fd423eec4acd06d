"""Pages of built runs: no plots, no files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests.conftest import build_manifest, build_trial
from tuner.analysis.apart import apart
from tuner.analysis.findings import findings
from tuner.page.english import ENGLISH
from tuner.page.given import Given
from tuner.records import Diagnosis, Findings, LoadPoint, Protocol, Role, RunManifest, Trial
from tuner.records.notice import Confidence
from tuner.report_page import report_parts

LOADS = tuple(LoadPoint("chat", c, 33) for c in (1, 8, 32))
SPEEDS = {0: (1.0, 1.0, 1.0), 1: (1.3, 1.2, 0.95), 3: (1.7, 1.4, 0.9), 5: (1.6, 1.2, 0.7)}
CAUSE = Diagnosis("k_too_long", "good", "K = 5 is too long.", ("1.70x at K = 3",), Confidence.HIGH, "Take K = 3.")


def speed(k: int, loads: Sequence[LoadPoint] = LOADS) -> Callable[[LoadPoint, int, int], float]:
    """Return TPOT in seconds by SPEEDS, prompts and repeats a little apart."""
    of = dict(zip([load.key for load in loads], SPEEDS[k], strict=False))
    return lambda load, prompt, repeat: 0.02 / of[load.key] * (1 + 0.01 * prompt + 0.001 * repeat)


def categorised(trial: Trial, names: Sequence[str] = ("chat", "maths")) -> Trial:
    """Return the trial with prompts of these categories in turn."""

    def category(prompt_id: str) -> str:
        return names[int(prompt_id[1:]) % len(names)]

    return replace(trial, samples=tuple(replace(s, category=category(s.prompt_id)) for s in trial.samples))


def trials(draft: str = "good", loads: Sequence[LoadPoint] = LOADS, **facts: Any) -> list[Trial]:
    """Return a baseline, three K of a draft and the baseline again."""
    base = [build_trial(0, loads=loads, tpot=speed(0, loads), kv_cache_tokens=1000, max_model_len=512)]
    base += [
        build_trial(i, k=k, draft=draft, loads=loads, tpot=speed(k, loads), kv_cache_tokens=900, **facts)
        for i, k in enumerate((1, 3, 5), 1)
    ]
    return [*base, build_trial(4, loads=loads, tpot=speed(0, loads), role=Role.BASELINE_AGAIN)]


def given(
    of: Sequence[Trial] | None = None,
    loads: Sequence[LoadPoint] = LOADS,
    change: Callable[[Findings], Findings] = lambda found: found,
    **manifest: object,
) -> Given:
    """Return what a page is made of.  change: made to the findings.  manifest: its other fields."""
    measured = trials() if of is None else of
    found = change(replace(findings(measured, loads), diagnoses=(CAUSE,)))
    fields: dict[str, object] = {"engine_build": "cuda", "repeat_with": ("tuner", "sweep", "org/a b"), **manifest}
    about: RunManifest = replace(build_manifest(loads=loads, protocol=Protocol()), **fields)  # type: ignore[arg-type]
    return Given(
        manifest=about,
        findings=found,
        trials=measured,
        subtitle="target on a GPU",
        apart=apart(measured, loads),
        parts=report_parts(about, found, measured),
        explained=("## Not measured", "", "- good K=2: it cannot win", ""),
        files={"serve.yaml": "model: target\n", "serve.speculate.yaml": "model: target\n# K\n", "serve.env": "A=1\n"},
        fingerprint={"target": "abc"},
        words=ENGLISH,
    )
