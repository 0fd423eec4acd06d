"""What the search keeps of a trial: enough to predict what was not measured, small enough to stand in the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.records.candidate import Candidate


class GrowthSource(StrEnum):
    """How acceptance at a smaller K was told from a run at a larger one, from the surest to the least sure.

    REPLAY: accepted runs of every step, replayed.  PROMPTS: acceptance by position of each prompt.
    POOLED: acceptance by position over all prompts, which underestimates where easy and hard ones are mixed.
    NONE: it does not follow for this method, or nothing was accepted or counted.
    """

    REPLAY = "replay"
    PROMPTS = "prompts"
    POOLED = "pooled"
    NONE = "none"


@dataclass(frozen=True)
class Growth:
    """Tokens per step as K grows, told from one run.

    logs: mean over prompts of log(tokens per step) at K = 1, 2 ... up to the K that ran; () where source is NONE.
    n: prompts.  note: why it is not of the surest source, "" if it is.
    """

    logs: tuple[float, ...] = ()
    source: GrowthSource = GrowthSource.NONE
    n: int = 0
    note: str = ""


@dataclass(frozen=True)
class Observed:
    """What one engine life said at one load point.

    log_tpot: mean over prompts of log(TPOT in seconds), per prompt the median over repeats.
    se: standard error of that from its repeats being slower or faster as a whole, None with a single repeat.
    growth: see Growth; of a baseline it is Growth().
    length: mean acceptance length, tokens per draft, None where there is none.
    """

    log_tpot: float
    se: float | None = None
    growth: Growth = Growth()
    length: float | None = None


class Outcome(StrEnum):
    """What became of a candidate.  MEMORY: it failed because the device's memory ran out."""

    MEASURED = "measured"
    RUNNING = "running"
    FAILED = "failed"
    MEMORY = "memory"


@dataclass(frozen=True)
class Tried:
    """One candidate that was started.  loads: by load point key, empty unless MEASURED."""

    candidate: Candidate
    outcome: Outcome
    loads: Mapping[str, Observed] = field(default_factory=dict)
