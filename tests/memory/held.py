"""Predicted against logged, for every recorded engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.memory.models import CONFIGS, write_model
from tuner.engine.logscan import kv_cache_tokens
from tuner.engine.memory_log import engine_memory
from tuner.preflight.memory import Device, MemoryPlan, memory_plans
from tuner.records import Candidate, Speculation
from tuner.space.versions import version_row

HERE = Path(__file__).parent
RECORDED = HERE.parent / "data"
H200 = Device("gpu", "NVIDIA H200", round(139.81 * 2**30))
"""As CUDA counts it. The logs do not say it; two shares of the same model (0.90 and 0.92) give it as well."""
RTX_4090 = Device("gpu", "RTX 4090", round(23.53 * 2**30))
"""From the log: 0.52 GiB of graphs are said to be 0.0221 of it."""
FITTED, FRESH = "fitted", "fresh"


@dataclass(frozen=True)
class Case:
    """One engine start.  kind: whether a constant of the plan was fitted to it.  source: where its log or record is."""

    name: str
    source: str
    kind: str
    target: str
    draft: str
    candidate: Candidate
    device: Device
    version: str
    weights: int | None
    kv_tokens: int | None
    graphs: int | None = None
    other: int | None = None


@dataclass(frozen=True)
class Held:
    """A case with its plan."""

    case: Case
    plan: MemoryPlan

    @property
    def weights_error(self) -> float | None:
        """Predicted / logged - 1, of the weights."""
        return self.plan.weights / self.case.weights - 1 if self.case.weights else None

    @property
    def kv_error(self) -> float | None:
        """Predicted / logged - 1, of the KV cache in tokens."""
        return self.plan.kv_tokens / self.case.kv_tokens - 1 if self.case.kv_tokens else None


def recorded_cases() -> Iterator[Case]:
    """Yield the trials of the recorded sweeps on the H200; their logs are not kept, their KV cache is."""
    recorded = (
        ("h200-14b", "14B", FITTED),
        ("h200-14b-grid", "14B", FITTED),
        ("h200-7b", "7B", FITTED),
        ("h200-14b-shallow", "14B", FRESH),
    )
    for run, target, kind in recorded:
        for path in sorted((RECORDED / run / "trials").glob("*/record.json")):
            record = json.loads(path.read_bytes())["record"]
            spec = record["candidate"]["speculation"]
            candidate = _candidate(record["candidate"]["engine_args"], spec)
            draft = ("42M" if spec["draft_name"] == "shallow" else "135M") if spec and spec["draft"] else ""
            memory = record["engine"].get("memory") or {}
            yield Case(
                name=f"{run}, {candidate.label}",
                source=f"tests/data/{run}/trials/{path.parent.name}",
                kind=kind,
                target=target,
                draft=draft,
                candidate=candidate,
                device=H200,
                version="0.26.0",
                weights=memory.get("weights_bytes"),
                kv_tokens=record["engine"]["kv_cache_tokens"],
                graphs=memory.get("graph_bytes"),
            )


def _candidate(args: dict[str, Any], spec: dict[str, Any] | None) -> Candidate:
    if spec is None:
        return Candidate(args)
    given = Speculation(
        spec["method"], spec["num_speculative_tokens"], spec["draft_name"], spec["draft"], spec["options"]
    )
    return Candidate(args, given)


def logged_cases() -> Iterator[Case]:
    """Yield the engines whose logs are in logs/."""
    args = {"max_model_len": 2048, "max_num_seqs": 32, "kv_cache_memory_bytes": 4 * 2**30}
    draft, schedule = ("draft_model", "good"), {"num_speculative_tokens_per_batch_size": [[1, 4, 5], [5, 16, 3]]}
    yield _logged("h200-14b-base", "14B", Candidate(args), H200, "0.26.0", FITTED)
    yield _logged("h200-14b-n03-k3", "14B", _speculating(args, *draft, 3), H200, "0.26.0", FITTED)
    yield _logged("h200-14b-n03-sched", "14B", _speculating(args, *draft, 5, schedule), H200, "0.26.0", FITTED)
    yield _logged("h200-ngram-gpu", "7B", _speculating(args, "ngram_gpu", "ngram", 3), H200, "0.26.0", FITTED)
    on_cpu = {"max_model_len": 1024, "max_num_seqs": 8, "gpu_memory_utilization": 0.3, "enforce_eager": True}
    host = Device("cpu", "host", round(18.59 * 2**30))
    yield _logged("cpu-auto", "demo", _speculating(on_cpu, *draft, 3), host, "0.32.0", FITTED)
    published = {"max_model_len": 16384, "gpu_memory_utilization": 0.9764}
    # https://github.com/LMCache/LMCache/issues/3430 (read 2026-12-01): a default start on a 24 GB card.
    yield _logged("rtx4090-qwen3-8b", "Qwen3-8B", Candidate(published), RTX_4090, "0.21.0", FRESH)


def _speculating(args: dict[str, Any], method: str, name: str, k: int, options: Any = None) -> Candidate:
    draft = f"/models/{name}" if method == "draft_model" else None
    return Candidate(args, Speculation(method, k, name, draft, options or {}))


def _logged(log: str, target: str, candidate: Candidate, device: Device, version: str, kind: str) -> Case:
    text = (HERE / "logs" / f"{log}.log").read_text(encoding="utf-8")
    memory = engine_memory(text)
    assert memory is not None
    draft = "135M" if candidate.speculation and candidate.speculation.draft else ""
    tokens, source = kv_cache_tokens(text), f"tests/memory/logs/{log}.log"
    return Case(
        f"{log}, {candidate.label}",
        source,
        kind,
        target,
        draft,
        candidate,
        device,
        version,
        memory.weights_bytes,
        tokens,
        memory.graph_bytes,
        memory.other_bytes,
    )


def held(directory: Path) -> list[Held]:
    """Return every case with its plan; the models' files are written below `directory`."""
    models = {name: write_model(directory / name, config) for name, config in CONFIGS.items()}
    found = []
    for case in (*logged_cases(), *recorded_cases()):
        drafts = {case.candidate.draft_name: models[case.draft]} if case.draft else {}
        share = version_row(case.version).gpu_memory_utilization
        plans, unplanned = memory_plans(
            [case.candidate], models[case.target], drafts, case.device, default_utilization=share
        )
        assert not unplanned, unplanned
        found.append(Held(case, plans[0].plan))
    return found
