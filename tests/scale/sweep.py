"""A whole sweep - the product's own loop, store, study and report - on a virtual pool, and what it cost its driver."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.scale.engines import Lab
from tests.scale.virtual_pool import Timeline, VirtualPool
from tuner import measuring, session
from tuner.engine.sim.profile import load_profile
from tuner.prepare import SweepRequest, prepare
from tuner.progress import Progress
from tuner.records import TrialRecord
from tuner.report import manifest_json, write_report
from tuner.search.telling import Telling
from tuner.session import SweepOptions
from tuner.sources.fixed import Refit
from tuner.space.search_space import GRID
from tuner.store import RunStore
from tuner.sweep import _sources

PARTS = {
    "ask": (Telling, "ask"),
    "tell": (Telling, "keep"),
    "save": (RunStore, "save"),
    "progress": (measuring, "outlook"),
    "read all": (RunStore, "trials"),
}
"""What the driver does at each trial, and where."""


@dataclass(frozen=True)
class Size:
    """workers, drafts, ks: how many; every draft at every K.  prompts: of each of two load points.

    lives: fresh ones of each finalist, 1 for none.  reported: whether the report is written too.
    """

    workers: int
    drafts: int
    ks: int
    prompts: int = 9
    lives: int = 1
    reported: bool = False


@dataclass
class Costs:
    """What a sweep cost its driver.

    parts: CPU seconds of each call, by part, in order.  report_s: of the report, 0 where none was asked for.
    """

    timeline: Timeline
    parts: dict[str, list[float]]
    report_s: float = 0.0


class Silent:
    """A view that shows nothing."""

    def message(self, text: str) -> None:
        """Ignore it."""

    def trial_done(self, record: TrialRecord, words: str) -> None:
        """Ignore it."""

    def update(self, progress: Progress) -> None:
        """Ignore it."""


def space_text(size: Size) -> str:
    """Return the space: one set of engine arguments, many checkpoints of a draft."""
    drafts = "".join(
        f"  - {{name: step-{n:03d}, method: draft_model, model: step-{n:03d}, k: {list(range(1, size.ks + 1))}}}\n"
        for n in range(size.drafts)
    )
    return (
        "target: simulated\n"
        f"drafts:\n{drafts}"
        "load_points:\n"
        f"  - {{eval_set: chat, temperature: 0, concurrency: [1, 8], max_tokens: 48, num_prompts: {size.prompts}}}\n"
        f"protocol: {{repeats: 3, lives: {size.lives}, losslessness: false, schedule: false}}\n"
    )


def measured_sweep(size: Size, directory: Path, seed: int = 1) -> Costs:
    """Measure everything of the sweep in `directory`, which has to be empty; the report, where `size` asks for it."""
    space = directory / "space.yaml"
    space.write_text(space_text(size), encoding="utf-8")
    costs = Costs(Timeline(), defaultdict(list))
    pool = VirtualPool(size.workers, Lab(load_profile(), seed), costs.timeline)
    prepared = prepare(SweepRequest(space=str(space), engine="sim"))
    options = SweepOptions(out=directory / "run", pool="local", sampler=GRID)
    sources = partial(_sources, auto_fix=False, refit=Refit(prepared.candidates, {}))
    with (
        RunStore.open(options.out, prepared.fingerprint, manifest_json(prepared.manifest)) as store,
        patch.object(session, "open_pool", _giving(pool)),
        _timed(costs.parts),
    ):
        session.measure(prepared, options, store, Silent(), sources)
    if size.reported:
        began_s = time.process_time()
        write_report(options.out)
        costs.report_s = time.process_time() - began_s
    return costs


def _giving(pool: VirtualPool) -> Callable[..., Any]:
    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[VirtualPool]:
        yield pool

    return opened


@contextmanager
def _timed(parts: dict[str, list[float]]) -> Iterator[None]:
    """Time the driver's parts: their calls, not what they are."""
    originals = {name: getattr(owner, attribute) for name, (owner, attribute) in PARTS.items()}
    try:
        for name, (owner, attribute) in PARTS.items():
            setattr(owner, attribute, _timing(originals[name], parts[name]))
        yield
    finally:
        for name, (owner, attribute) in PARTS.items():
            setattr(owner, attribute, originals[name])


def _timing(call: Callable[..., Any], into: list[float]) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        began_s = time.process_time()
        try:
            return call(*args, **kwargs)
        finally:
            into.append(time.process_time() - began_s)

    return timed
