"""A run as pandas tables, for notebooks and for whoever wants to check a figure by hand.

Seconds everywhere. Where a figure has an interval, it is in the columns `low` and `high`, 95 %, empty where there is
none. Every function raises OutputError if `run` is no run of ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.analysis.apart import apart
from tuner.analysis.breakeven import Breakeven, breakeven
from tuner.analysis.prediction import ModelError, growth_curve, predict
from tuner.compare import compare, read_side
from tuner.errors import InputError
from tuner.records import Figure, KCurve, LoadPoint, Observed, Trial
from tuner.report import analysed
from tuner.search.observing import tried
from tuner.store import read_run

if TYPE_CHECKING:
    import pandas as pd

_NORMAL_95 = 1.96
"""Standard deviations on either side that hold 95 % of a normal distribution."""


def trials_frame(run: Path) -> pd.DataFrame:
    """Return one row per engine life of the run directory `run`, failed ones included."""
    import pandas as pd

    return pd.DataFrame([_trial_row(trial) for trial in read_run(run)[1]])


def requests_frame(run: Path) -> pd.DataFrame:
    """Return one row per timed request: what was asked, of which engine life, and how long it took.

    A request that failed has its reason in `error` and no times.
    """
    import pandas as pd

    rows = []
    for trial in read_run(run)[1]:
        candidate = trial.record.candidate
        of_trial = {
            "trial": trial.record.number,
            "role": trial.record.role.value,
            "round": trial.record.round,
            "draft": candidate.draft_name,
            "k": candidate.k,
        }
        rows += [
            {
                **of_trial,
                "load_point": sample.load_point,
                "repeat": sample.repeat,
                "prompt_id": sample.prompt_id,
                "category": sample.category,
                "ttft_s": sample.ttft_s,
                "tpot_s": sample.tpot_s,
                "e2e_s": sample.e2e_s,
                "prompt_tokens": sample.prompt_tokens,
                "completion_tokens": sample.completion_tokens,
                "correct": sample.correct,
                "error": sample.error,
            }
            for sample in trial.samples
            if sample.repeat >= 0  # others fetch probabilities or sample a distribution and are not timed
        ]
    return pd.DataFrame(rows)


def figures_frame(run: Path) -> pd.DataFrame:
    """Return one row per figure of each engine life that answers a question, as docs/reference/metrics.md names them.

    figure: its name.  value is empty where it is undefined; `note` then says why.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "trial": trial.number,
                "draft": trial.candidate.draft_name,
                "k": trial.candidate.k,
                **_load_columns(load.load_point),
                "figure": name,
                **_figure_columns(figure),
                "unit": figure.unit,
                "n": figure.n,
                "n_of": figure.n_of,
                "estimator": figure.estimator,
                "note": figure.note,
            }
            for trial in analysed(run).findings.trials
            for load in trial.loads
            for name, figure in load.figures.items()
        ]
    )


def acceptance_frame(run: Path) -> pd.DataFrame:
    """Return one row per position of a proposal, for each engine life with a draft and each load point.

    acceptance: share of the proposals accepted up to this position.  conditional: share accepted here of those that
    were accepted before it.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "trial": trial.number,
                "draft": trial.candidate.draft_name,
                "k": trial.candidate.k,
                **_load_columns(load.load_point),
                "position": position,
                "acceptance": accepted.value,
                "conditional": conditional.value,
            }
            for trial in analysed(run).findings.trials
            for load in trial.loads
            for position, (accepted, conditional) in enumerate(
                zip(load.acceptance_by_position, load.conditional_by_position, strict=True), 1
            )
        ]
    )


def curves_frame(run: Path) -> pd.DataFrame:
    """Return one row per draft, load point and measured K: the K curves of the report. K = 0 is the baseline."""
    import pandas as pd

    answers = analysed(run).findings.answers
    return pd.DataFrame([row for answer in answers for curve in answer.curves for row in _curve_rows(curve)])


def _curve_rows(curve: KCurve) -> Iterator[dict[str, object]]:
    for point in curve.points:
        yield {
            "draft": curve.draft_name,
            **_load_columns(curve.load_point),
            "k": point.k,
            "speedup": point.speedup.value,
            "low": point.speedup.low,
            "high": point.speedup.high,
            "tpot_s": point.tpot.value,
            "acceptance_length": point.acceptance_length.value,
            "marginal_gain": point.marginal_gain.value if point.marginal_gain else None,
            "note": point.speedup.note,
        }


def prediction_frame(run: Path, measured: Collection[int]) -> pd.DataFrame:
    """Return what the search would expect at every K of the run, had it measured these K and the baseline alone.

    One row per draft, load point and K.  tokens_per_step: told from the accepted runs of the largest of `measured`.
    step_s: expected time of a step.  tpot_s with low and high: step_s / tokens_per_step.  measured_tpot_s: what came
    out, to hold against it.  Each curve is predicted by itself; a sweep fits all of a target together, which is surer.
    Raises InputError where a draft has none of these K.
    """
    import pandas as pd

    found = analysed(run)
    loads = found.manifest.load_points
    seen = tried(found.trials, loads, [trial.record.candidate for trial in found.trials])
    rows: list[dict[str, object]] = []
    for draft in dict.fromkeys(one.candidate.draft_name for one in seen if one.candidate.k):
        for load in loads:
            by_k = {
                one.candidate.k: one.loads[load.key]
                for one in seen
                if load.key in one.loads and one.candidate.draft_name in (draft, "none")
            }
            columns = {"draft": draft, **_load_columns(load)}
            rows += [columns | row for row in _predicted(by_k, measured, load.concurrency, draft)]
    return pd.DataFrame(rows)


def _predicted(
    by_k: dict[int, Observed], measured: Collection[int], concurrency: int, draft: str
) -> Iterator[dict[str, object]]:
    baseline, ks = by_k.pop(0, None), sorted(by_k)
    known = {k: by_k[k] for k in ks if k in measured}
    if not known:
        raise InputError(f"{draft} was not measured at any of these K", f"It has K = {', '.join(map(str, ks))}.")
    tokens, _ = growth_curve(known[max(known)].growth, ks)
    for (k, one), log_tokens in zip(
        predict(known, baseline, ks, ModelError(), concurrency).items(), tokens, strict=True
    ):
        half = _NORMAL_95 * one.sd
        yield {
            "k": k,
            "given": one.measured,
            "tokens_per_step": exp(log_tokens),
            "step_s": exp(one.log_tpot + log_tokens),
            "tpot_s": exp(one.log_tpot),
            "low": exp(one.log_tpot - half),
            "high": exp(one.log_tpot + half),
            "measured_tpot_s": exp(by_k[k].log_tpot),
        }


def breakeven_frame(run: Path) -> pd.DataFrame:
    """Return the acceptance that each draft needs, one row per draft, load point, K and asked speedup.

    step: how long a step takes, in steps without speculation.  ceiling: speedup with every token accepted.
    needed with low and high: the acceptance; empty where no acceptance is enough or it is not known (`reach` says
    which).  has: that of the measured draft in the same terms.
    """
    import pandas as pd

    found = analysed(run)
    loads = found.manifest.load_points
    finals = [trial for trial in found.findings.finals if trial.lives > 1 and trial.candidate.k]
    rows = breakeven([*finals, *found.findings.trials], loads, apart(found.every, loads))
    return pd.DataFrame([row for one in rows for row in _breakeven_rows(one)])


def _breakeven_rows(one: Breakeven) -> Iterator[dict[str, object]]:
    for cell in one.cells:
        for need in cell.needs:
            yield {
                "draft": one.draft_name,
                **_load_columns(one.load_point),
                "k": cell.k,
                "basis": cell.basis.value,
                "step": cell.growth.value,
                "ceiling": cell.ceiling.value,
                "speedup": need.speedup,
                "reach": need.reach.value,
                "needed": need.acceptance.value,
                "low": need.acceptance.low,
                "high": need.acceptance.high,
                "has": cell.has_acceptance,
            }


def comparison_frame(old: str, new: str, registry: str = "artifacts") -> pd.DataFrame:
    """Return two sweeps held against each other as `tuner compare` does, one row per figure and load point.

    old, new: what the command takes.  old, new, ratio (new / old) with low and high of the ratio; outcome: better,
    same, worse or cannot tell.  decides: whether the verdict rests on this row.
    Raises ArtifactError where there is no artifact, InputError where they have no load point in common.
    """
    import pandas as pd

    compared = compare(read_side(old, registry).side, read_side(new, registry).side)
    return pd.DataFrame(
        [
            {
                **_load_columns(row.load_point),
                "figure": row.figure,
                "of": row.of,
                "unit": row.unit,
                "old": row.old.value,
                "new": row.new.value,
                "ratio": row.ratio.value,
                "low": row.ratio.low,
                "high": row.ratio.high,
                "tolerance": row.tolerance,
                "outcome": row.outcome.value,
                "decides": row.decides,
                "note": row.note,
            }
            for row in compared.rows
        ]
    )


def _load_columns(load: LoadPoint) -> dict[str, object]:
    return {"eval_set": load.eval_set, "temperature": load.sampling.temperature, "concurrency": load.concurrency}


def _figure_columns(figure: Figure) -> dict[str, object]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}


def _trial_row(trial: Trial) -> dict[str, object]:
    record = trial.record
    return {
        "trial": record.number,
        "role": record.role.value,
        "round": record.round,
        "draft": record.candidate.draft_name,
        "k": record.candidate.k,
        "device": record.worker.device,
        "start_s": record.phases.start_s,
        "warmup_s": record.phases.warmup_s,
        "load_s": record.phases.load_s,
        "failure": record.failure.message if record.failure else None,
        **{f"engine_arg_{name}": value for name, value in record.candidate.engine_args.items()},
    }
