"""A small sweep against the simulated engine for a cluster whose nodes say that they have GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.recording_view import RecordingView
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.progress import Progress
from tuner.records import Role
from tuner.sweep import SweepOptions, SweepResult, run_sweep

SPACE = """
target: simulated
engine_args: {max_model_len: 2048}
drafts:
  - {name: good, method: draft_model, model: good, k: [GOOD]}
  - {name: weak, method: draft_model, model: weak, k: [2]}
load_points:
  - {eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 24}
protocol: {repeats: 2, lives: 1, warmup_requests: 1}
"""
PROFILE = """
targets: [{match: '*', step_s: 0.01}]
drafts:
  - {match: '*weak*', step_s: 0.003, acceptance: [0.1]}
  - {match: '*', step_s: 0.0004, acceptance: [0.8]}
"""
PROMPTS = "".join(f'{{"id": "p{i}", "category": "c", "prompt": "word {i}"}}\n' for i in range(6))


def prepared(good: str = "1, 3") -> Prepared:
    """Return a sweep of a good draft with these K and a weak one, whose engines each take one GPU."""
    Path("prompts.jsonl").write_text(PROMPTS)
    Path("sim.yaml").write_text(PROFILE)
    Path("space.yaml").write_text(SPACE.replace("GOOD", good))
    return replace(prepare(SweepRequest(space="space.yaml", engine="sim:sim.yaml")), gpus_per_worker=1)


@dataclass
class View(RecordingView):
    """Calls `act` at every look at the sweep."""

    act: Callable[[], None] = field(default=lambda: None)

    def update(self, progress: Progress) -> None:
        super().update(progress)
        self.act()


def sweep(inputs: Prepared, view: View) -> SweepResult:
    return run_sweep(inputs, SweepOptions(Path("run"), pool="ray", sampler="grid"), view)


def measured(view: View) -> list[str]:
    return sorted(record.candidate.label for record in view.done if record.ok and record.role is Role.CANDIDATE)


def says(view: View, words: str) -> bool:
    return any(words in message for message in view.messages)
