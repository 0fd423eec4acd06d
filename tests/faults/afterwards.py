"""What must hold of a sweep after a kill, at its end, and beside one that nobody disturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.faults.driver_sweep import Place
from tuner.records import Role, Trial, Verdict
from tuner.store import read_run


def told_done(driver_words: str) -> int:
    """Return how many trials a driver said were done."""
    return sum(" done in " in line for line in driver_words.splitlines())


def faults_after(place: Place, before: Mapping[str, str]) -> list[str]:
    """Return what is wrong right after a kill.  before: the digests that were there before."""
    now = place.records()
    wrong = [f"{name} is lost" for name in before if name not in now]
    wrong += [f"{name} was measured again" for name in before if name in now and now[name] != before[name]]
    said = sum(told_done(path.read_text(errors="replace")) for path in place.path.glob("said-*.txt"))
    if said > len(now):
        wrong.append(f"{said} trials were said to be done and {len(now)} are kept")
    _, left = place.left()
    return wrong + [f"left: {one}" for one in left]


def faults_at_the_end(place: Place, before: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a finished sweep.  before: digests of what its sessions kept."""
    wrong = faults_after(place, before)
    trials = read_run(place.run)[1]
    again = [key for key, count in Counter(map(_question, trials)).items() if count > 1]
    wrong += [f"measured twice: {key}" for key in again]
    wrong += [f"failed: {trial.record.name}" for trial in trials if not trial.record.ok]
    numbers = [trial.record.number for trial in trials]
    if numbers != list(range(len(trials))):
        wrong.append(f"the trials' numbers are {numbers}")
    if (place.run / "quarantine").exists():
        wrong.append("something was found damaged")
    wrong += [f"not a trial: {path.name}" for path in (place.run / "trials").iterdir() if not _whole(path)]
    wrong += [f"half-written: {path}" for path in place.run.rglob(".*.tmp")]
    wrong += [f"left in TMPDIR: {path.name}" for path in place.temporary.iterdir() if not _is_cache(path)]
    wrong += [f"left of Ray: {path}" for path in place.ray.rglob("session_*")]
    wrong += _study_against(place, trials)
    entries = [path.parent.name for path in place.path.glob("artifacts/*/*/entry.json")]
    return wrong if len(entries) == 1 else [*wrong, f"entries in the registry: {entries}"]


def decisions(place: Place) -> dict[str, Any]:
    """Return what must not depend on interruptions: the decisions, the candidates, the figures without time."""
    artifact = yaml.safe_load((place.run / "best_config.yaml").read_text())
    asked = ("temperature", "verdict") if place.real else ("temperature", "verdict", "recommended")
    accepted = {
        trial.record.candidate.label: trial.record.loads[0].repeats[0].counters.accepted_tokens
        for trial in read_run(place.run)[1]
        if trial.record.role in (Role.BASELINE, Role.CANDIDATE)
    }
    return {
        "finished": artifact["finished"],
        "answers": [{name: answer[name] for name in asked} for answer in artifact["answers"]],
        "accepted": dict(sorted(accepted.items())),
    }


def verdicts(decided: Mapping[str, Any]) -> list[str]:
    """Return the verdict at each temperature."""
    return [answer["verdict"] for answer in decided["answers"]]


def differences(found: Mapping[str, Any], expected: Mapping[str, Any], *, real: bool) -> list[str]:
    """Return what differs in the decisions of two sweeps.

    Of real engines and a few prompts only answers that both sweeps came to are compared.
    """
    undecided = real and Verdict.INCONCLUSIVE in verdicts(found) + verdicts(expected)
    compared = [name for name in expected if not (undecided and name == "answers")]
    return [f"{name}: {found[name]} instead of {expected[name]}" for name in compared if found[name] != expected[name]]


def _question(trial: Trial) -> str:
    record = trial.record
    return f"{record.role} {record.candidate.key} {record.round} {record.served}"


def _is_cache(path: Path) -> bool:
    """Whether it is PyTorch's, whose next engine compiles the less for it."""
    return path.name.startswith("torchinductor_")


def _whole(trial: Path) -> bool:
    return {path.name for path in trial.iterdir()} == {"engine.log", "record.json", "samples.parquet"}


def _study_against(place: Place, trials: tuple[Trial, ...]) -> list[str]:
    """Return how the Optuna study differs from the records, as anybody's Optuna reads it."""
    import optuna
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{place.run / 'study.db'}"
    (name,) = optuna.get_all_study_names(storage)
    kept = optuna.load_study(study_name=name, storage=storage).get_trials(deepcopy=False)
    told = [one for one in kept if one.user_attrs.get("told")]
    wrong = [f"study: trial {one.number} is {one.state.name}" for one in kept if not one.state.is_finished()]
    of_study = Counter((one.user_attrs["candidate"], one.user_attrs["trial"]) for one in told)
    of_records = Counter(
        (trial.record.candidate.key, trial.record.number)
        for trial in trials
        if trial.record.role in (Role.BASELINE, Role.CANDIDATE)
    )
    if of_study != of_records:
        wrong.append(f"study has {sorted(of_study)}, the records {sorted(of_records)}")
    wrong += [f"study: {one.number} has no value" for one in told if one.state is not TrialState.COMPLETE]
    return wrong
