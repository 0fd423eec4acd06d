"""What engines changed by themselves, each line once, with those that said it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.records import ChangedSettings, Trial


def changed_settings(trials: Sequence[Trial], baselines: Mapping[int, Trial | None]) -> tuple[ChangedSettings, ...]:
    """Return the lines that candidates have and their baselines have not, grouped by who said them.

    trials: those that worked.  baselines: by trial number, the baseline each is compared with; one that is not known
    said nothing. Lines of the baselines themselves come last, as one group.
    """
    said: dict[str, list[str]] = {}
    plain: dict[str, None] = {}
    for trial in trials:
        engine = trial.record.engine
        if engine is None:
            continue
        if not trial.record.candidate.k:
            plain |= dict.fromkeys(engine.changed_settings)
            continue
        known = _lines_of(baselines.get(trial.record.number))
        for line in engine.changed_settings:
            names = said.setdefault(line, []) if line not in known else []
            if trial.record.candidate.label not in names:
                names.append(trial.record.candidate.label)
    groups: dict[tuple[str, ...], list[str]] = {}
    for line, names in said.items():
        groups.setdefault(tuple(names), []).append(line)
    found = [ChangedSettings(names, tuple(lines)) for names, lines in groups.items()]
    if plain:
        found.append(ChangedSettings((), tuple(plain), everywhere=True))
    return tuple(found)


def _lines_of(baseline: Trial | None) -> tuple[str, ...]:
    return baseline.record.engine.changed_settings if baseline and baseline.record.engine else ()
