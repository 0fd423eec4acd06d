"""What to deploy, in which files: one for the answer, one for the way back, one for what pays up to a concurrency."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.artifact import beside
from tuner.export.schedule import deployed
from tuner.records import Answer, Candidate, Findings, Verdict

SERVE_BASELINE = "serve.baseline.yaml"


@dataclass(frozen=True)
class Files:
    """Names of the files of one answer, beside the artifact.

    serve: starts what is recommended.  static: the same draft at one K.  speculate: what pays up to a concurrency.
    baseline: without speculation.  alerts: Prometheus rules.
    """

    serve: str
    static: str
    speculate: str
    baseline: str
    alerts: str


def files_of(findings: Findings, answer: Answer) -> Files:
    """Return the answer's files: serve.yaml and so on for the first temperature, serve-tX.yaml for others.

    The way back is one file for all, unless another temperature recommends other engine arguments.
    """
    first = findings.answers[0]
    mark = "" if answer is first else f"-t{answer.temperature:g}"
    shared = answer.best.args_key == first.best.args_key
    return Files(
        serve=f"serve{mark}.yaml",
        static=f"serve{mark}.static.yaml",
        speculate=f"serve{mark}.speculate.yaml",
        baseline=SERVE_BASELINE if shared else f"serve{mark}.baseline.yaml",
        alerts=f"alerts{mark}.yaml",
    )


def served(findings: Findings, answer: Answer) -> tuple[Candidate, beside.ChosenBy]:
    """Return what the answer's serve file starts, and what put it there.

    No engine can be told to speculate below a concurrency alone. What is best with one setting for all of the traffic
    is then served, which may be another K or no speculation. Without a traffic it is what pays up to the limit; a
    K schedule that may be deployed is slower nowhere, and stays.
    """
    best = deployed(findings, answer)
    if best != answer.best:
        return best, beside.ChosenBy.SCHEDULE
    static = answer.surface.static if answer.surface else None
    weighted = answer.verdict is Verdict.SPECULATE_BELOW and answer.temperature in findings.traffic
    if weighted and static is not None:
        return static.best, beside.ChosenBy.TRAFFIC
    return best, beside.ChosenBy.VERDICT


def speculating(findings: Findings, answer: Answer) -> Candidate | None:
    """Return the speculation that what stands beside the recommendation is about, None where none is recommended."""
    best, _ = served(findings, answer)
    if best.speculation is None and answer.verdict is Verdict.SPECULATE_BELOW:
        return answer.best
    return best if best.speculation else None


def recommended(findings: Findings, answer: Answer) -> beside.Recommended:
    """Return what to deploy."""
    files = files_of(findings, answer)
    best, chosen_by = served(findings, answer)
    return beside.Recommended(
        serve_config=files.serve,
        static_serve_config=files.static if chosen_by is beside.ChosenBy.SCHEDULE else None,
        static_speculation=speculation(answer.best) if chosen_by is beside.ChosenBy.SCHEDULE else None,
        baseline_serve_config=files.baseline,
        chosen_by=chosen_by,
        speculation=speculation(best),
        engine_args=dict(best.engine_args),
        up_to_concurrency=answer.up_to,
        slower_at_concurrency=answer.below,
        limit=_limit(findings, answer),
    )


def speculation(candidate: Candidate) -> beside.Speculation | None:
    """Return a candidate's speculation with its draft as the user wrote it, None for the baseline."""
    spec = candidate.speculation
    if spec is None:
        return None
    return beside.Speculation(
        method=spec.method,
        draft=spec.draft,
        num_speculative_tokens=spec.num_speculative_tokens,
        options=dict(spec.options),
    )


def _limit(findings: Findings, answer: Answer) -> beside.ConcurrencyLimit | None:
    pays = speculation(answer.best)
    if answer.verdict is not Verdict.SPECULATE_BELOW or answer.up_to is None or pays is None:
        return None
    return beside.ConcurrencyLimit(
        up_to_concurrency=answer.up_to,
        slower_at_concurrency=answer.below,
        serve_config=files_of(findings, answer).speculate,
        speculation=pays,
        engine_args=dict(answer.best.engine_args),
        max_num_seqs=answer.up_to,
        advice=limit_advice(findings, answer),
    )


def limit_advice(findings: Findings, answer: Answer) -> tuple[str, ...]:
    """Return how to keep to the limit of `speculate_below`, () for other verdicts."""
    if answer.verdict is not Verdict.SPECULATE_BELOW or answer.up_to is None:
        return ()
    files, limit = files_of(findings, answer), answer.up_to
    requests = "1 request" if limit == 1 else f"{limit} requests"
    slower = "" if answer.below is None else f" It was measured to be slower at {answer.below}."
    return (
        f"vLLM has no switch that speculates up to a concurrency. Route so that an engine with {files.speculate} runs "
        f"at most {requests} at once, and send what is above to engines with {files.baseline}.{slower}",
        f"Where nothing else limits the load, max-num-seqs: {limit} does: further requests then wait in the engine's "
        f"queue, and their time to first token grows. No file here sets it.",
    )
