"""What a draft would need: the acceptance at which speculation pays, before anyone trains a draft. Pure.

A speculating step that takes as long as g plain ones pays where it gives more than g tokens; for a speedup of s it has
to give s x g (step_growth has g).  Under independent acceptance, each position accepted with the same probability alpha
whatever came before it, a step of K draft tokens gives on average

    E = (1 - alpha^(K+1)) / (1 - alpha) = 1 + alpha + ... + alpha^K     (Leviathan et al. 2023, arXiv 2211.17192, eq. 1)

which is solved for alpha.  No step gives more than K + 1 tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum

from tuner.analysis.apart import NGRAM, Apart
from tuner.analysis.comparison import load_figures
from tuner.analysis.statistics import undefined
from tuner.analysis.step_growth import (
    BOUNDS,
    Basis,
    draft_time,
    growth_at,
    measured_growth,
    plain_time,
    step_time,
    with_draft_speed,
)
from tuner.records import Candidate, Figure, LoadFigures, LoadPoint, TrialFigures

SPEEDUPS = (1.0, 1.5, 2.0)
"""What is asked for: to pay, to reach 1.5x and 2x."""
TOKENS = "speedup x growth of the step"
ACCEPTANCE = "alpha from E = (1 - alpha^(K+1)) / (1 - alpha)"
PLAIN = "TPOT x speedup, of the candidate with the smallest K"
CEILING = "(K + 1) / growth of the step"
_SCHEDULE = "num_speculative_tokens_per_batch_size"
_HALVINGS = 60


class Reach(StrEnum):
    """Whether a draft can get there: ALWAYS (even with nothing accepted), with some acceptance, or not even with all.

    UNKNOWN: the step's time is only bounded, and the bound does not tell.
    """

    ALWAYS = "always"
    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Need:
    """What one speedup takes at one K.

    tokens: per step on average, draft tokens and the target's own one: to be compared with 1 .. K + 1.
    acceptance: alpha, see the module; 0 for ALWAYS, without a value for IMPOSSIBLE and UNKNOWN. With a low and no high
    its interval reaches into what is impossible.
    """

    speedup: float
    reach: Reach
    tokens: Figure
    acceptance: Figure


@dataclass(frozen=True)
class Cell:
    """One K at one load point.

    growth: of a step, in plain steps.  step_s: its time, seconds: as it was measured, else growth x plain_tpot.
    ceiling: speedup with every token accepted.  has_tokens, has_acceptance: of the measured draft in the same terms as
    the needs, None at a K that it did not run at.
    """

    k: int
    basis: Basis
    growth: Figure
    step_s: float | None
    ceiling: Figure
    needs: tuple[Need, ...]
    has_tokens: float | None = None
    has_acceptance: float | None = None


@dataclass(frozen=True)
class Breakeven:
    """One draft at one load point, K ascending from 1.

    candidate: the first of those that it rests on.  plain_tpot: of no speculation, as that candidate's speedup refers
    to it: over all lives that its baseline has there. Its note says which; without an interval of its own.
    draft_time: what the draft takes for one token, in plain steps; None where it is not told from verification.
    draft_speed: how many times as fast as the measured one the draft is taken to be, None as measured.
    """

    candidate: Candidate
    load_point: LoadPoint
    plain_tpot: Figure
    cells: tuple[Cell, ...]
    draft_time: Figure | None
    draft_speed: float | None = None

    @property
    def draft_name(self) -> str:
        """Name of the draft as the search space has it."""
        return self.candidate.draft_name

    def easiest(self, speedup: float) -> tuple[Cell, Need] | None:
        """Return where the speedup takes the least acceptance, the smaller K among equals; None if nowhere.

        Cells of which only a bound is known do not count.
        """
        found = [(cell, need) for cell, need in self.of(speedup) if need.acceptance.value is not None]
        known = [(cell, need) for cell, need in found if cell.basis not in BOUNDS]
        return min(known, key=lambda one: (one[1].acceptance.value, one[0].k), default=None)

    def not_told(self, speedup: float) -> tuple[int, ...]:
        """Return the K at which a bound leaves open whether the speedup can be reached."""
        open_needs = ((cell, need) for cell, need in self.of(speedup) if need.reach is not Reach.IMPOSSIBLE)
        return tuple(cell.k for cell, _ in open_needs if cell.basis in BOUNDS)

    @property
    def highest(self) -> Cell:
        """Where a draft that is always right would be fastest."""
        return max(self.cells, key=lambda cell: cell.ceiling.value or 0.0)

    def of(self, speedup: float) -> list[tuple[Cell, Need]]:
        """Return what one of SPEEDUPS takes at each K."""
        return [(cell, need) for cell in self.cells for need in cell.needs if need.speedup == speedup]


def expected_tokens(alpha: float, k: int) -> float:
    """Return the tokens per step where each of `k` is accepted with probability `alpha`: 1 + alpha + ... + alpha^k."""
    return fsum(alpha**i for i in range(k + 1))


def acceptance_needed(tokens: float, k: int) -> float | None:
    """Return the alpha that gives `tokens` per step with `k` draft tokens, by bisection.

    0 where one token or less is needed, None where more than k + 1 are.
    """
    if tokens <= 1:
        return 0.0
    if tokens > k + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, k) < tokens else (low, middle)
    return high


def breakeven(
    trials: Sequence[TrialFigures],
    load_points: Sequence[LoadPoint],
    timed_apart: Apart,
    *,
    up_to: int | None = None,
    draft_speed: float | None = None,
) -> tuple[Breakeven, ...]:
    """Return what each draft would need at each load point, K from 1 to `up_to` (the largest measured K if None).

    trials: figures of baselines and candidates of one run; the first of several with the same K counts. Left out are K
    schedules, whose K is not one number, and candidates of which many steps had no draft (see measured_growth).
    timed_apart: drafts served alone and n-gram, from the same run.
    draft_speed: as if the draft were so many times as fast; drafts whose time is not known are then left out.
    """
    found = []
    for candidates in _drafts(trials):
        ks = range(1, (up_to or max(candidates)) + 1)
        for load in load_points:
            at_load = {k: figures for k, t in candidates.items() if (figures := load_figures(t, load)) is not None}
            measured = {k: growth for k, figures in at_load.items() if (growth := measured_growth(figures)) is not None}
            if not measured:
                continue
            first = candidates[min(measured)]
            drafting = _draft_time(first.candidate, load, measured, timed_apart)
            if draft_speed is None or drafting is not None:
                plain = _plain_tpot(first, at_load[min(measured)])
                steps = {k: _step(k, measured, drafting, draft_speed) for k in ks}
                cells = tuple(_cell(k, *steps[k], plain, at_load.get(k) if k in measured else None) for k in ks)
                found.append(Breakeven(first.candidate, load, plain, cells, drafting, draft_speed))
    return tuple(found)


def _drafts(trials: Sequence[TrialFigures]) -> list[dict[int, TrialFigures]]:
    """Return the speculating trials by draft, and by K within each."""
    groups: dict[tuple[str, str, str], dict[int, TrialFigures]] = {}
    for trial in trials:
        spec = trial.candidate.speculation
        if spec is not None and _SCHEDULE not in spec.options:
            key = (spec.draft_name, spec.method, trial.candidate.args_key)
            groups.setdefault(key, {}).setdefault(trial.candidate.k, trial)
    return list(groups.values())


def _plain_tpot(trial: TrialFigures, load: LoadFigures) -> Figure:
    lives = "over the fresh lives of its baseline" if trial.lives > 1 else ""
    if not lives and "baseline_drift" in load.figures:
        lives = "geometric mean of its lives"
    speedup = load.figures["speedup_tpot"]
    return Figure(plain_time(load), "s", PLAIN, speedup.n, speedup.n_of, note=lives)


def _draft_time(
    candidate: Candidate, load: LoadPoint, measured: Mapping[int, Figure], timed_apart: Apart
) -> Figure | None:
    spec = candidate.speculation
    if spec is None or spec.method in NGRAM or spec.draft is None:
        return None
    alone = (row for row in timed_apart.drafts if (row.draft, row.load_point.key) == (spec.draft, load.key))
    of_ngram = [
        row
        for row in timed_apart.verification
        if (row.candidate.args_key, row.load_point.key) == (candidate.args_key, load.key)
    ]
    return draft_time(measured, next(alone, None), of_ngram)


# --- one cell ---------------------------------------------------------------------------------------------------------


def _step(
    k: int, measured: Mapping[int, Figure], drafting: Figure | None, draft_speed: float | None
) -> tuple[Figure, Basis]:
    growth, basis = growth_at(k, measured, drafting)
    if draft_speed is None or drafting is None:
        return growth, basis
    return with_draft_speed(growth, k, drafting, draft_speed), Basis.DRAFT_TIME


def _cell(k: int, growth: Figure, basis: Basis, plain: Figure, own: LoadFigures | None) -> Cell:
    has = own.figures["effective_tokens_per_step"].value if own else None
    told = None if plain.value is None or growth.value is None else growth.value * plain.value
    return Cell(
        k=k,
        basis=basis,
        growth=growth,
        step_s=step_time(own) if own and basis is Basis.MEASURED else told,
        ceiling=_ceiling(k, growth),
        needs=tuple(need(speedup, k, growth, basis) for speedup in SPEEDUPS),
        has_tokens=has,
        has_acceptance=None if has is None else acceptance_needed(has, k),
    )


def _ceiling(k: int, growth: Figure) -> Figure:
    value, low, high = ((k + 1) / end if end else None for end in (growth.value, growth.high, growth.low))
    return replace(growth, unit="x", estimator=CEILING, value=value, low=low, high=high)


def need(speedup: float, k: int, growth: Figure, basis: Basis = Basis.MEASURED) -> Need:
    """Return what `speedup` takes at `k` draft tokens where a step takes as long as `growth` plain ones."""
    value, low, high = (None if end is None else speedup * end for end in (growth.value, growth.low, growth.high))
    tokens = replace(growth, unit="tokens/step", estimator=TOKENS, value=value, low=low, high=high)
    reach = _reach(value or 0.0, k, basis)
    alpha, lowest, highest = (None if end is None else acceptance_needed(end, k) for end in (value, low, high))
    acceptance = replace(tokens, unit="fraction", estimator=ACCEPTANCE, value=alpha, low=lowest, high=highest)
    if reach is Reach.UNKNOWN:
        why = f"{basis.value} {value:.2f} tokens per step are needed, which does not tell"
        acceptance = undefined("fraction", ACCEPTANCE, why)
    elif reach is Reach.IMPOSSIBLE:
        note = f"{value:.2f} tokens per step are needed, and K = {k} gives no more than {k + 1}"
        acceptance = replace(acceptance, note=note)
    return Need(speedup, reach, tokens, acceptance)


def _reach(tokens: float, k: int, basis: Basis) -> Reach:
    if tokens > k + 1:
        return Reach.UNKNOWN if basis is Basis.AT_MOST else Reach.IMPOSSIBLE
    if tokens <= 1:
        return Reach.UNKNOWN if basis is Basis.AT_LEAST else Reach.ALWAYS
    return Reach.POSSIBLE
