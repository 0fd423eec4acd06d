"""Simulated surfaces: the simulated engine's own cost and acceptance, drawn at random family by family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.searchbench.steps import Matrix, log_growth, quick_growth, runs_at, told_growth, walk
from tests.searchbench.surfaces import BASELINE, TOKENS, Arm, Surface, candidate, load_point
from tuner.engine.sim.model import acceptance, step_time_s
from tuner.engine.sim.profile import DraftModel, Profile, PromptKind, TargetModel
from tuner.records import Candidate, LoadPoint

K_MAX = 8
MEMORY_SHARE = 0.1
"""Of surfaces on which the larger K run out of memory as they start."""
ROUGH_SD = 0.012
JUMPS_IN = 4
ACCEPTANCE = ("geometric", "decaying", "cliff", "mixture")
GRAPHS = {
    "no padding": (),
    "padded finely": (1, 2, 4, *range(8, 513, 8)),
    "padded coarsely": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
}


@dataclass(frozen=True)
class Kind:
    """What a surface is drawn from: acceptance, padding, whether there is a bend and a speculative overhead."""

    shape: str
    padding: str
    bend: bool
    overhead: bool

    @property
    def tags(self) -> tuple[str, ...]:
        """Words for the tables."""
        bend = "bend" if self.bend else "no bend"
        return (self.shape, self.padding, bend, "overhead" if self.overhead else "no overhead")


KINDS = tuple(
    Kind(shape, padding, bend, overhead)
    for overhead in (False, True)
    for bend in (False, True)
    for padding in GRAPHS
    for shape in ACCEPTANCE
)
"""48 of them; surface i is of kind i mod 48."""


def rough(number: int, seed: int) -> Surface:
    """Return that surface with step times that follow no formula: jitter from K to K, and jumps from some K on.

    Each K of a draft is off by ROUGH_SD at all load points and by as much again at each, and in one of JUMPS_IN pairs
    of draft and load point every K from a random one on takes 5 to 25 % longer. It is part of the truth.
    """
    smooth = simulated(number, seed)
    random = np.random.default_rng([seed, number, 9])
    arms = dict(smooth.arms)
    for draft in smooth.drafts:
        keys = [c.key for c in smooth.candidates if c.draft_name == draft]
        added = ROUGH_SD * random.standard_normal((len(keys), 1)) + np.zeros((len(keys), len(smooth.loads)))
        added += ROUGH_SD * random.standard_normal(added.shape)
        for column in range(len(smooth.loads)):
            if random.random() * JUMPS_IN < 1.0:
                added[int(random.integers(1, len(keys))) :, column] += math.log1p(random.uniform(0.05, 0.25))
        for row, key in enumerate(keys):
            more = {load.key: float(added[row, i]) for i, load in enumerate(smooth.loads)}
            logs = {load: log + more[load] for load, log in arms[key].log_tpot.items()}
            arms[key] = replace(arms[key], log_tpot=logs)
    return replace(smooth, name=f"rough-{seed}-{number}", family="rough", arms=arms)


def simulated(number: int, seed: int) -> Surface:
    """Return the surface of that number; no two (number, seed) share their draws."""
    kind = KINDS[number % len(KINDS)]
    random = np.random.default_rng([seed, number, 1])
    drafts = tuple(_draft(f"draft{i}", kind, random) for i in range(int(random.integers(1, 4))))
    target = _target(kind, random)
    drafts = tuple(_costing(draft, target, random) for draft in drafts)
    profile = Profile(
        seed=int(random.integers(2**31)), targets=(target,), drafts=drafts, prompt_kinds=_prompt_kinds(kind, random)
    )
    loads = _loads(random)
    prompts = int(random.integers(12, 37))
    fitting = int(random.integers(3, K_MAX)) if random.random() < MEMORY_SHARE else K_MAX
    arms = {BASELINE.key: Arm({load.key: math.log(step_time_s(profile, None, load.concurrency)) for load in loads})}
    candidates = []
    for draft in drafts:
        runs = runs_at(_given(profile, draft, prompts), random.random((prompts, TOKENS + K_MAX)))
        walked = {k: walk(runs, k) for k in range(1, K_MAX + 1)}
        largest = told_growth(candidate(draft.match, fitting), loads[0], walked[fitting])
        for k, answers in walked.items():
            one = candidate(draft.match, k)
            candidates.append(one)
            grown = largest if k == fitting else quick_growth(answers, k, largest.source)
            arms[one.key] = Arm(_log_tpots(profile, one, loads, answers), log_growth(answers), grown, k <= fitting)
    ratio = max(target.step_s / draft.step_s for draft in drafts)
    tags = (*kind.tags, f"drafts {len(drafts)}", _cost_tag(ratio), _load_tag(loads))
    tags += ("memory for all K" if fitting == K_MAX else "memory for small K",)
    repeat_sd = float(random.uniform(0.01, 0.03))
    return Surface(
        f"simulated-{seed}-{number}",
        "simulated",
        tags,
        loads,
        tuple(candidates),
        arms,
        prompts,
        repeat_sd,
        int(random.integers(2**31)),
    )


def _log_tpots(
    profile: Profile, one: Candidate, loads: tuple[LoadPoint, ...], answers: Sequence[Sequence[int]]
) -> dict[str, float]:
    """Return the mean over prompts of log(step time x steps / tokens) at each load point."""
    grown = log_growth(answers)
    return {load.key: math.log(step_time_s(profile, one.speculation, load.concurrency)) - grown for load in loads}


def _given(profile: Profile, draft: DraftModel, prompts: int) -> Matrix:
    return np.asarray([acceptance(profile, draft, K_MAX, prompt=f"prompt {i}") for i in range(prompts)])


def _target(kind: Kind, random: np.random.Generator) -> TargetModel:
    step_s = float(np.exp(random.uniform(math.log(0.008), math.log(0.04))))
    bend = int(2 ** random.uniform(4.0, 9.0)) if kind.bend else None
    return TargetModel(
        step_s=step_s,
        token_s=step_s * float(np.exp(random.uniform(math.log(0.0002), math.log(0.01 if kind.bend else 0.02)))),
        bend_tokens=bend,
        bent_token_s=step_s / bend * float(random.uniform(0.6, 1.2)) if bend else 0.0,
        pad_to=GRAPHS[kind.padding],
        speculative_overhead_s=step_s * float(random.uniform(0.03, 0.4)) if kind.overhead else 0.0,
    )


def _draft(name: str, kind: Kind, random: np.random.Generator) -> DraftModel:
    first = float(random.uniform(0.4, 0.95))
    if kind.shape == "decaying":
        first, fall = float(random.uniform(0.6, 0.95)), float(random.uniform(0.82, 0.97))
        given = [first * fall**i for i in range(K_MAX)]
    elif kind.shape == "cliff":
        edge, low = int(random.integers(1, 7)), float(random.uniform(0.02, 0.35))
        first = float(random.uniform(0.7, 0.95))
        given = [first if i < edge else low for i in range(K_MAX)]
    else:
        given = [first]
    spread = float(random.uniform(0.3, 0.8) if kind.shape == "mixture" else random.uniform(0.0, 0.5))
    return DraftModel(match=name, acceptance=tuple(given), prompt_sd=spread)


def _costing(draft: DraftModel, target: TargetModel, random: np.random.Generator) -> DraftModel:
    step_s = target.step_s / float(np.exp(random.uniform(math.log(3.0), math.log(100.0))))
    return draft.model_copy(
        update={
            "step_s": step_s,
            "token_s": step_s * float(random.uniform(0.0, 0.01)),
            "overhead_s": target.step_s * float(random.uniform(0.0, 0.05)),
        }
    )


def _prompt_kinds(kind: Kind, random: np.random.Generator) -> tuple[PromptKind, ...]:
    if kind.shape != "mixture":
        return ()
    easy, hard = float(random.uniform(0.25, 0.5)), float(random.uniform(0.2, 0.4))
    return (
        PromptKind(name="easy", share=easy, logit_shift=float(random.uniform(1.0, 2.5))),
        PromptKind(name="hard", share=hard, logit_shift=-float(random.uniform(1.0, 2.5))),
    )


def _loads(random: np.random.Generator) -> tuple[LoadPoint, ...]:
    count = int(random.integers(1, 5))
    powers = sorted(random.choice(9, size=count, replace=False).tolist())
    return tuple(load_point(2**power, float(random.integers(1, 4))) for power in powers)


def _cost_tag(ratio: float) -> str:
    return "draft 3-10x faster" if ratio < 10 else "draft 10-30x faster" if ratio < 30 else "draft 30-100x faster"


def _load_tag(loads: tuple[LoadPoint, ...]) -> str:
    most = max(load.concurrency for load in loads)
    return "concurrency 1-8" if most <= 8 else "concurrency to 64" if most <= 64 else "concurrency to 256"
