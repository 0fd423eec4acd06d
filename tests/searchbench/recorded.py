"""Surfaces that the tuner itself recorded on real engines: any kept run directory.

Each candidate is what its life in that run said, and that is taken for the truth: what a single life strays by is in
it. So nothing is added to it in the replay, and errors of predictions hold the noise of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.searchbench.surfaces import BASELINE, Arm, Surface
from tuner.records import Candidate, LoadPoint, Observed, Outcome, Role, Trial, Tried
from tuner.search.observing import tried
from tuner.store import read_run

DATA = Path(__file__).parents[1] / "data"
FEWEST_K = 3
"""Of at least one draft, for there to be anything to search."""


def recorded(data: Path = DATA) -> list[Surface]:
    """Return a surface for each kept run in which some draft ran at FEWEST_K or more K beside a baseline."""
    found = (surface_of(path.parent) for path in sorted(data.glob("*/run.json")))
    return [surface for surface in found if surface is not None]


def surface_of(path: Path) -> Surface | None:
    """Return the surface of one run directory; None where there is nothing to search."""
    _, trials = read_run(path)
    plain = next((t for t in trials if t.record.role is Role.BASELINE and t.record.ok), None)
    if plain is None:
        return None
    loads = tuple(measured.load_point for measured in plain.record.loads)
    of_group = [t for t in trials if t.record.candidate.args_key == plain.record.candidate.args_key]
    known = [one for one in _tried(of_group, loads) if len(one.loads) == len(loads)]
    candidates = [one.candidate for one in known if one.candidate.k]
    drafts = [c.draft_name for c in candidates]
    if not drafts or max(drafts.count(draft) for draft in drafts) < FEWEST_K:
        return None
    arms = {_renamed(one.candidate).key: _arm(one, loads) for one in known}
    prompts = max(len({s.prompt_id for s in t.samples if s.load_point == loads[0].key}) for t in of_group)
    named = tuple(_renamed(c) for c in candidates)
    return Surface(f"recorded-{path.name}", "recorded", (), loads, named, arms, prompts, 0.0, 0)


def _tried(trials: Sequence[Trial], loads: Sequence[LoadPoint]) -> list[Tried]:
    found = tried(trials, loads, [t.record.candidate for t in trials])
    return [one for one in found if one.outcome is Outcome.MEASURED]


def _renamed(one: Candidate) -> Candidate:
    """Leave the engine arguments out: here they are the same for all."""
    return Candidate({}, one.speculation) if one.k else BASELINE


def _arm(one: Tried, loads: Sequence[LoadPoint]) -> Arm:
    first: Observed = one.loads[loads[0].key]
    return Arm(
        {key: seen.log_tpot for key, seen in one.loads.items()},
        first.growth.logs[-1] if first.growth.logs else None,
        first.growth,
        ses={key: seen.se or 0.0 for key, seen in one.loads.items()},
    )
