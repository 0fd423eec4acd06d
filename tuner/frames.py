"""A run as pandas tables, for notebooks and for whoever wants to check a figure by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tuner.records import Trial
from tuner.store import read_run

if TYPE_CHECKING:
    import pandas as pd


def trials_frame(run: Path) -> pd.DataFrame:
    """Return one row per engine life of the run directory `run`, failed ones included; times in seconds.

    Raises OutputError if `run` is no run of ours.
    """
    import pandas as pd

    return pd.DataFrame([_trial_row(trial) for trial in read_run(run)[1]])


def requests_frame(run: Path) -> pd.DataFrame:
    """Return one row per timed request: what was asked, of which engine life, and how long it took, in seconds.

    A request that failed has its reason in `error` and no times. Raises OutputError if `run` is no run of ours.
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
