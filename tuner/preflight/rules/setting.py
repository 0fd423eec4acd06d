"""What a rule looks at: one candidate with the files of its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tuner.preflight.context import parse_max_model_len
from tuner.preflight.model_view import ModelFiles
from tuner.preflight.vocabulary import Comparison
from tuner.records import Json, Speculation
from tuner.records.notice import Level, Notice
from tuner.space.versions import version_row


@dataclass(frozen=True)
class Setting:
    """One candidate.

    draft: the model that its method loads, None for methods without one and for a target that drafts for itself.
    comparison: token maps of target and draft, None where one is not known.  version, build: of the engine.
    env: variables that the engine is given.  methods: of speculation, all that are measured beside this candidate.
    """

    target: ModelFiles
    engine_args: Mapping[str, Json]
    version: str
    build: str
    speculation: Speculation | None = None
    draft: ModelFiles | None = None
    comparison: Comparison | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    methods: frozenset[str] = frozenset()

    @property
    def method(self) -> str:
        """Method of speculation, "" for the baseline."""
        return self.speculation.method if self.speculation else ""

    @property
    def k(self) -> int:
        """Tokens proposed per step, 0 for the baseline."""
        return self.speculation.num_speculative_tokens if self.speculation else 0

    @property
    def served_context(self) -> int | None:
        """Tokens that a prompt and its answer may have together; None where neither argument nor files say."""
        return parse_max_model_len(self.engine_args.get("max_model_len")) or self.target.context

    @property
    def tensor_parallel(self) -> int:
        """GPUs that share the target's layers."""
        size = self.engine_args.get("tensor_parallel_size")
        return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 1

    @property
    def v2_runner(self) -> bool:
        """Whether this engine generally takes the V2 model runner (the CPU build falls back to V1)."""
        return self.build == "cuda" and version_row(self.version).runner == "v2"

    def option(self, name: str) -> Json:
        """Return an option of the speculation, None where it is not given."""
        return self.speculation.options.get(name) if self.speculation else None

    def about_target(self, code: str, level: Level, what: str, next_step: str = "", **evidence: Json) -> Notice:
        """Return a notice about the target."""
        return Notice(code, level, "target", what, next_step, evidence)

    def about_draft(self, code: str, level: Level, what: str, next_step: str = "", **evidence: Json) -> Notice:
        """Return a notice about the draft of this candidate."""
        subject = self.speculation.draft_name if self.speculation else "target"
        return Notice(code, level, subject, what, next_step, evidence)


Rule = Callable[[Setting], Notice | None]
"""One thing that can be wrong with a candidate: the notice, or None where it is not."""
