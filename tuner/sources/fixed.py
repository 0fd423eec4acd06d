"""What is tried again with other engine arguments because a trial failed for want of them (`--auto-fix`).

A retry is a candidate of its own: other arguments make another group, which gets a baseline of its own with the same
changed arguments. So nothing is ever compared across a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.preflight import PromptLengths
from tuner.records import Candidate, Fix, Json, LoadPoint, Role, TrialRecord

MOST_CHANGES = 2
"""So often a candidate is changed; each change needs a failure of its own."""
K = "num_speculative_tokens"


@dataclass(frozen=True)
class Needs:
    """What the load points ask of any engine.  tokens: of the longest prompt with its answer.  sequences: at once."""

    tokens: int
    sequences: int


@dataclass(frozen=True)
class Retry:
    """A candidate with changed arguments, and why."""

    candidate: Candidate
    fix: Fix


def needs_of(load_points: Iterable[LoadPoint], lengths: Mapping[str, PromptLengths]) -> Needs:
    """Return what these load points need.  lengths: by eval set."""
    points = list(load_points)
    return Needs(
        tokens=max(lengths[point.eval_set].longest + point.max_tokens for point in points),
        sequences=max(point.concurrency for point in points),
    )


def retry_of(record: TrialRecord, needs: Needs) -> Retry | None:
    """Return what a failed trial is tried again as; None where no change would do, or too many were made.

    A change that the load points do not fit into is none.
    """
    failure, before = record.failure, record.fix
    if failure is None or not failure.change or (before is not None and before.changes >= MOST_CHANGES):
        return None
    if not all(_allowed(name, value, record.candidate, needs) for name, value in failure.change.items()):
        return None
    words = ", ".join(f"{name} {_now(record.candidate, name)} -> {value}" for name, value in failure.change.items())
    note = f"{words} by auto-fix after {failure.code.replace('_', ' ')} (trial {record.number})"
    fix = Fix(
        origin=before.origin if before else record.candidate.key,
        trial=record.number,
        note=f"{before.note}; {note}" if before else note,
        changes=(before.changes if before else 0) + 1,
    )
    return Retry(changed(record.candidate, failure.change), fix)


def changed(candidate: Candidate, change: Mapping[str, Json]) -> Candidate:
    """Return the candidate with these engine arguments, and this K where it speculates."""
    args = {**candidate.engine_args, **{name: value for name, value in change.items() if name != K}}
    spec, k = candidate.speculation, change.get(K)
    if spec is not None and isinstance(k, int):
        spec = replace(spec, num_speculative_tokens=k)
    return Candidate(args, spec)


def _now(candidate: Candidate, name: str) -> Json:
    return candidate.k if name == K else candidate.engine_args.get(name, "default")


def _allowed(name: str, value: Json, candidate: Candidate, needs: Needs) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or value == _now(candidate, name):
        return False
    if name == K:
        return 1 <= value < candidate.k
    least = {
        "max_model_len": needs.tokens,
        "max_num_seqs": needs.sequences,
        "max_num_batched_tokens": needs.sequences * (candidate.k + 1),
        "gpu_memory_utilization": 0,
    }
    return name in least and value >= least[name]


class Fixes:
    """The retries of single candidates, each handed out once.

    space: all candidates of the sweep as it runs; what is among them is tried anyway.  done: records of earlier
    sessions that count as measured.  known: fixes of candidates of the space, by key (see `refitted`).
    """

    def __init__(
        self,
        needs: Needs,
        space: Iterable[Candidate],
        done: Iterable[TrialRecord] = (),
        known: Mapping[str, Fix] | None = None,
    ) -> None:
        self._needs = needs
        self._candidates = tuple(space)
        self._space = {candidate.key for candidate in self._candidates}
        self._baselines: list[TrialRecord] = []
        self._fixes = dict(known or {})
        self._pending: list[Retry] = []
        records = list(done)
        self._tried = {record.candidate.key for record in records if record.role is Role.CANDIDATE}
        for record in records:
            self.finished(record)

    @property
    def waiting(self) -> int:
        """Retries that are still to be started."""
        return len(self._pending)

    @property
    def refit_due(self) -> bool:
        """Whether no baseline works and all candidates have to be changed before anything can be measured."""
        return bool(refitted(self._candidates, self._baselines, self._needs).fixes)

    def finished(self, record: TrialRecord) -> None:
        """Take note of a finished trial: one that failed for want of an argument asks for a retry."""
        if record.role is Role.BASELINE:
            self._baselines.append(record)
        if record.role is not Role.CANDIDATE:
            return
        self._tried.add(record.candidate.key)
        retry = retry_of(record, self._needs)
        if retry is None or retry.candidate.key in self._space | self._tried:
            return
        self._tried.add(retry.candidate.key)
        self._fixes[retry.candidate.key] = retry.fix
        baseline = retry.candidate.baseline
        if baseline.key not in self._space:
            self._fixes.setdefault(baseline.key, replace(retry.fix, origin=record.candidate.baseline.key))
        self._pending.append(retry)

    def next(self) -> Retry | None:
        """Return a retry, None if there is none now."""
        return self._pending.pop(0) if self._pending else None

    def of(self, candidate: Candidate) -> Fix | None:
        """Return what this candidate has otherwise than the space gave it; None if nothing."""
        return self._fixes.get(candidate.key)


@dataclass(frozen=True)
class Refit:
    """The candidates of a sweep whose baseline would not start as the space has it.

    fixes: of those candidates that have other arguments, by key.
    """

    candidates: tuple[Candidate, ...]
    fixes: Mapping[str, Fix]


def refitted(candidates: Sequence[Candidate], records: Sequence[TrialRecord], needs: Needs) -> Refit:
    """Return all candidates with arguments with which their baselines may start.

    They stay as they are unless each baseline was tried and failed and one of them for want of an argument: a baseline
    that works is what everything is compared with, whatever another choice did.
    """
    known = Refit(tuple(candidates), {})
    for _ in range(MOST_CHANGES):
        last = {r.candidate.key: r for r in records if r.role is Role.BASELINE}
        baselines = {candidate.baseline.key for candidate in known.candidates}
        if any(r.ok and r.candidate.key in baselines for r in records if r.role is Role.BASELINE):
            return known
        if not baselines <= last.keys():
            return known
        failed = {key: replace(last[key], fix=known.fixes.get(key) or last[key].fix) for key in baselines}
        retries = {key: retry_of(record, needs) for key, record in failed.items()}
        if not any(retries.values()):
            return known
        known = _refit(known, {key: (last[key], retry) for key, retry in retries.items() if retry is not None})
    return known


def _refit(known: Refit, retries: Mapping[str, tuple[TrialRecord, Retry]]) -> Refit:
    candidates: dict[str, Candidate] = {}
    fixes: dict[str, Fix] = {}
    for candidate in known.candidates:
        new, fix = candidate, known.fixes.get(candidate.key)
        if found := retries.get(candidate.baseline.key):
            record, retry = found
            new = changed(candidate, record.failure.change if record.failure else {})
            fix = replace(retry.fix, origin=fix.origin if fix else candidate.key, whole=True)
        candidates.setdefault(new.key, new)
        if fix is not None:
            fixes.setdefault(new.key, fix)
    return Refit(tuple(candidates.values()), fixes)
