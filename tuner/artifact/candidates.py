"""From what the artifact recommends back to what an engine is started with."""

from __future__ import annotations

from tuner.artifact.beside import ConcurrencyLimit, Recommended
from tuner.artifact.model import BestConfig
from tuner.records import Candidate, Speculation


def recommended_candidate(config: BestConfig, recommended: Recommended | ConcurrencyLimit) -> Candidate:
    """Return the candidate of an answer's recommendation, or of its limit; models as the user wrote them.

    A draft has its name in the search space where the artifact knows it, else its method's.
    """
    spec = recommended.speculation
    if spec is None:
        return Candidate(dict(recommended.engine_args))
    names = (name for name, model in config.identity.drafts.items() if model.id == spec.draft)
    return Candidate(
        dict(recommended.engine_args),
        Speculation(
            method=spec.method,
            num_speculative_tokens=spec.num_speculative_tokens,
            draft_name=next(names, spec.method),
            draft=spec.draft,
            options=dict(spec.options),
        ),
    )
