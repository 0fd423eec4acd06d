"""Weights that are quantised: allowed, and one more thing that changes speed and acceptance."""

from __future__ import annotations

from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice


def target(setting: Setting) -> Notice | None:
    """A quantised target gains less, and its own answers changed a little."""
    kind = setting.engine_args.get("quantization") or setting.target.quantised
    if not isinstance(kind, str):
        return None
    return setting.about_target(
        "quantised_target",
        Level.HINT,
        f"its weights are quantised ({kind}): its steps are shorter already, so a draft has less to save, and a sweep "
        f"cannot tell the two effects apart",
        "Sweep the unquantised target too, if production could serve it.",
    )


def draft(setting: Setting) -> Notice | None:
    """A quantised draft may propose worse."""
    if setting.draft is None:
        return None
    kind = setting.option("quantization") or setting.draft.quantised
    if not isinstance(kind, str):
        return None
    return setting.about_draft(
        "quantised_draft",
        Level.HINT,
        f"its weights are quantised ({kind}): faster, and perhaps accepted less often; a sweep sees the sum of both",
        "Try the unquantised draft beside it.",
    )
