"""How large a draft should be: what practitioners advise, as hints; only measuring tells."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.analysis.apart import NGRAM
from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice


@dataclass(frozen=True)
class Advice:
    """For targets of up to `target` parameters: drafts of `least` to `most`, in 10^9 (least 0: no lower limit)."""

    target: float
    least: float
    most: float

    @property
    def words(self) -> str:
        """The range for a sentence."""
        return f"{self.least:g}B to {self.most:g}B" if self.least else f"up to {self.most:g}B"


ADVICE = (Advice(10, 0.5, 1), Advice(30, 1, 3), Advice(float("inf"), 0, 7))
"""For targets of 7B a draft of 0.5-1B, for 13B of 1-3B, for 70B of up to 7B; 10 and 30 are the geometric means."""
_SMALL_TARGET = 3.0
_TOLERANCE = 1.3  # "0.5B" models have 0.49, "1B" ones up to 1.24


def not_smaller(setting: Setting) -> Notice | None:
    """The draft reads as much for a token as the target."""
    sizes = _parameters(setting)
    if sizes is None or sizes[1] < sizes[0]:
        return None
    return setting.about_draft(
        "draft_not_smaller",
        Level.WARNING,
        f"it has {_billions(sizes[1])} parameters and the target {_billions(sizes[0])}: it cannot save time",
        "Take a smaller model of the target's family.",
        target_parameters=sizes[0],
        draft_parameters=sizes[1],
    )


def unusual_size(setting: Setting) -> Notice | None:
    """The draft is larger or smaller than what is usual for this target."""
    sizes = _parameters(setting)
    if sizes is None or sizes[1] >= sizes[0] or sizes[0] < _SMALL_TARGET * 1e9:
        return None
    target, draft = (size / 1e9 for size in sizes)
    advice = next(row for row in ADVICE if target <= row.target)
    if advice.least / _TOLERANCE <= draft <= advice.most * _TOLERANCE:
        return None
    effect = "its own time may eat the gain" if draft > advice.most else "it may be accepted too seldom"
    return setting.about_draft(
        "unusual_draft_size",
        Level.HINT,
        f"it has {_billions(sizes[1])} parameters; for a target of {_billions(sizes[0])} drafts of "
        f"{advice.words} are usual: {effect}",
        "Try one of that size beside it, if the family has one.",
        target_parameters=sizes[0],
        draft_parameters=sizes[1],
    )


def small_target(setting: Setting) -> Notice | None:
    """The target's own step is short, so a draft has little to save."""
    size = setting.target.parameters
    if size is None or size >= _SMALL_TARGET * 1e9:
        return None
    return setting.about_target(
        "small_target",
        Level.HINT,
        f"{'a token uses' if setting.target.experts else 'it has'} {_billions(size)} parameters: its steps are short, "
        f"and speculation seldom pays below {_SMALL_TARGET:g}B",
        "" if setting.methods.intersection(NGRAM) else "Look at n-gram drafts too: they cost nearly nothing.",
        target_parameters=size,
    )


def other_family(setting: Setting) -> Notice | None:
    """A draft model of another architecture usually learned from other data."""
    draft = setting.draft
    if draft is None or setting.method != "draft_model":
        return None
    own, wanted = draft.model_type, setting.target.model_type
    if not own or not wanted or own.partition("_")[0] == wanted.partition("_")[0]:
        return None
    return setting.about_draft(
        "other_family",
        Level.HINT,
        f"its architecture is {own} and the target's {wanted}: drafts of its own family are accepted more often",
        "Try one of the family beside it, if there is one.",
    )


def _parameters(setting: Setting) -> tuple[int, int] | None:
    """Return target's and draft's parameters, where a draft model is loaded and both are known."""
    if setting.draft is None or setting.method != "draft_model":
        return None
    target, draft = setting.target.parameters, setting.draft.parameters
    return (target, draft) if target and draft else None


def _billions(parameters: int) -> str:
    return f"{parameters / 1e9:.3g}B"
