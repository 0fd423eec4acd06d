"""What the time of one speculating step goes to, as far as the measurements tell the parts from one another. Pure.

A step of K tokens takes t = TPOT x effective tokens per step. At least a plain step of it is the target's own pass, the
TPOT of no speculation that the speedup refers to (plain_time). K passes of the draft are known where the draft was
served alone. n-gram's step of the same K shows what a longer verification takes, together with what the engine adds to
any speculation; without the draft served alone, drafting is what a step takes beyond that. What is left over could not
be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.analysis.apart import Apart, DraftApart, Verification
from tuner.analysis.step_growth import FULL_COVERAGE, draft_time, measured_growth, plain_time
from tuner.records import Candidate, Figure, LoadFigures, TrialFigures


@dataclass(frozen=True)
class StepSplit:
    """One candidate's step at one load point, seconds; the parts add up to the step.

    growth: the step in plain steps, with its interval.  plain_s: the target's pass over one token a request.
    draft_s: the draft's passes.  verification_s: what checking K tokens takes beyond a plain step.  None where nothing
    tells it apart; it is then within rest_s, as is what the engine adds.
    """

    candidate: Candidate
    load: LoadFigures
    growth: Figure
    step_s: float
    plain_s: float
    draft_s: float | None
    verification_s: float | None
    rest_s: float


def step_splits(trials: Sequence[TrialFigures], apart: Apart) -> tuple[StepSplit, ...]:
    """Return the split of every candidate at every load point where the time of its step is known."""
    growths = _growths(trials)
    return tuple(
        split
        for trial in trials
        for load in trial.loads
        if trial.candidate.speculation and (split := _split(trial, load, apart, growths)) is not None
    )


_Line = tuple[str, str, str, str]
_NOTHING = 1e-9
"""Plain steps that are left over by rounding alone."""


def _growths(trials: Sequence[TrialFigures]) -> dict[_Line, dict[int, Figure]]:
    """Return the growth of a step by K, for each draft at each load point; of several lives the first counts."""
    found: dict[_Line, dict[int, Figure]] = {}
    for trial in trials:
        for load in trial.loads:
            growth = measured_growth(load) if trial.candidate.speculation else None
            if growth is not None:
                found.setdefault(_line(trial, load), {}).setdefault(trial.candidate.k, growth)
    return found


def _line(trial: TrialFigures, load: LoadFigures) -> _Line:
    return trial.device_key, trial.candidate.args_key, trial.candidate.draft_name, load.load_point.key


def _split(
    trial: TrialFigures,
    load: LoadFigures,
    apart: Apart,
    growths: Mapping[_Line, Mapping[int, Figure]],
) -> StepSplit | None:
    growth, plain_s = measured_growth(load), plain_time(load)
    if growth is None or growth.value is None or plain_s is None:
        return None
    draft, ngram = _draft(trial, load, apart), _ngram(trial, load, apart)
    own_pass = min(growth.value, 1.0)
    left, drafting, checking = growth.value - own_pass, None, None
    per_token = draft_time(growths[_line(trial, load)], draft, ngram) if trial.candidate.k else None
    if per_token is not None and per_token.value is not None:
        drafting = min(trial.candidate.k * per_token.value, left)
        left -= drafting
    same_k = next((row.growth.value for row in ngram if row.candidate.k == trial.candidate.k and _covered(row)), None)
    if same_k is not None and drafting is not None:
        checking = min(max(same_k - 1.0, 0.0), left)
        left -= checking
    left = left if left > _NOTHING else 0.0
    return StepSplit(
        candidate=trial.candidate,
        load=load,
        growth=growth,
        step_s=growth.value * plain_s,
        plain_s=own_pass * plain_s,
        draft_s=None if drafting is None else drafting * plain_s,
        verification_s=None if checking is None else checking * plain_s,
        rest_s=left * plain_s,
    )


def _draft(trial: TrialFigures, load: LoadFigures, apart: Apart) -> DraftApart | None:
    spec = trial.candidate.speculation
    rows = [row for row in apart.drafts if row.load_point.key == load.load_point.key]
    return next((row for row in rows if spec is not None and row.draft == spec.draft), None)


def _ngram(trial: TrialFigures, load: LoadFigures, apart: Apart) -> list[Verification]:
    return [
        row
        for row in apart.verification
        if (row.candidate.args_key, row.load_point.key) == (trial.candidate.args_key, load.load_point.key)
        and row.candidate.draft_name != trial.candidate.draft_name
    ]


def _covered(row: Verification) -> bool:
    return row.growth.value is not None and (row.coverage.value or 0.0) >= FULL_COVERAGE
