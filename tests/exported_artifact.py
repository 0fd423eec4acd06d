"""Artifacts whose recommendation is what a test asks for, for the tests of exporters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.artifact import BestConfig, load_best_config
from tuner.artifact.beside import ConcurrencyLimit, Recommended, Speculation
from tuner.records import Json, Verdict

MEASURED = Path(__file__).parent / "golden" / "best_config.yaml"
GOOD = Speculation(method="draft_model", draft="org/draft", num_speculative_tokens=4, options={})
ADVICE = ("Route at most 8 requests to it.", "Where nothing else limits the load, max-num-seqs: 8 does.")


def artifact(
    verdict: Verdict = Verdict.SPECULATE,
    *,
    target: str = "org/target",
    speculation: Speculation | None = GOOD,
    engine_args: Mapping[str, Json] | None = None,
    env: Mapping[str, str] | None = None,
    static: Speculation | None = None,
    engine: Mapping[str, Any] | None = None,
    devices: tuple[str, ...] = ("NVIDIA H200",),
    temperature: float = 0.0,
    why: str = "It was measured.",
) -> BestConfig:
    """Return an artifact; do_not and inconclusive recommend no speculation, whatever is asked for."""
    config = load_best_config(MEASURED)
    (answer,) = config.answers
    args = dict(engine_args or {})
    served = speculation if verdict in (Verdict.SPECULATE, Verdict.SPECULATE_BELOW) else None
    below = verdict is Verdict.SPECULATE_BELOW
    recommended = Recommended(
        serve_config="serve.yaml",
        static_serve_config="serve.static.yaml" if static else None,
        static_speculation=static,
        baseline_serve_config="serve.baseline.yaml",
        chosen_by=answer.recommended.chosen_by,
        speculation=served,
        engine_args=args,
        up_to_concurrency=8 if below else None,
        slower_at_concurrency=32 if below else None,
        limit=_limit(args) if below else None,
    )
    changes = {"verdict": verdict, "why": why, "recommended": recommended, "temperature": temperature}
    measured_on = config.measured_on.model_copy(
        update={"devices": devices, "engine": config.measured_on.engine.model_copy(update=dict(engine or {}))}
    )
    return config.model_copy(
        update={
            "target": target,
            "verdict": verdict,
            "why": why,
            "environment": dict(env or {}),
            "answers": (answer.model_copy(update=changes),),
            "measured_on": measured_on,
        }
    )


def _limit(engine_args: dict[str, Json]) -> ConcurrencyLimit:
    return ConcurrencyLimit(
        up_to_concurrency=8,
        slower_at_concurrency=32,
        serve_config="serve.speculate.yaml",
        speculation=GOOD.model_copy(update={"num_speculative_tokens": 7}),
        engine_args=engine_args,
        max_num_seqs=8,
        advice=ADVICE,
    )
