"""Can the layers be split over the GPUs?

vLLM 0.32.0: config/model.py, verify_with_parallel_config (query heads), the attention layers (key and value heads:
split, or copied where there are fewer than GPUs), config/speculative.py, _verify_and_get_draft_tp (1 or the target's),
v1/spec_decode/draft_model.py, _raise_if_draft_tp_mismatch (V1 model runner: the target's).
"""

from __future__ import annotations

from tuner.preflight.model_view import ModelFiles
from tuner.preflight.rules.setting import Setting
from tuner.records.notice import Level, Notice

_OPTION = "draft_tensor_parallel_size"


def target_heads(setting: Setting) -> Notice | None:
    """The target's heads cannot be split over tensor_parallel_size GPUs."""
    size = setting.tensor_parallel
    if (problem := _heads_problem(setting.target, size)) is None:
        return None
    sizes = ", ".join(str(fitting) for fitting in range(1, 17) if _heads_problem(setting.target, fitting) is None)
    step = f"Set tensor_parallel_size to one that divides them ({sizes})."
    return setting.about_target("heads_not_divisible", Level.ERROR, problem, step, tensor_parallel_size=size)


def draft_heads(setting: Setting) -> Notice | None:
    """The draft's heads cannot be split as the engine will split them."""
    if setting.draft is None or setting.method == "mtp":
        return None
    asked = setting.option(_OPTION)
    size = asked if isinstance(asked, int) and not isinstance(asked, bool) else setting.tensor_parallel
    if (problem := _heads_problem(setting.draft, size)) is None:
        return None
    step = "Take another draft, or a tensor_parallel_size that divides the heads of both models."
    return setting.about_draft("heads_not_divisible", Level.ERROR, problem, step, tensor_parallel_size=size)


def draft_size(setting: Setting) -> Notice | None:
    """draft_tensor_parallel_size is neither 1 nor the target's, or 1 where the runner wants the target's."""
    asked, size = setting.option(_OPTION), setting.tensor_parallel
    if not isinstance(asked, int) or asked == size:
        return None
    if asked != 1:
        what = f"its {_OPTION} is {asked}; it can only be 1 or the target's, {size}"
    elif setting.method == "draft_model" and not setting.v2_runner:
        what = f"its {_OPTION} is 1 and the target's {size}: for draft models the V1 model runner wants them equal"
    else:
        return None
    return setting.about_draft("draft_tensor_parallel_size", Level.ERROR, what, f"Leave {_OPTION} out.")


def _heads_problem(model: ModelFiles, size: int) -> str | None:
    heads, kv_heads = model.heads, model.kv_heads
    if heads is not None and heads % size:
        return f"its {heads} attention heads cannot be split over {size} GPUs (tensor_parallel_size)"
    if kv_heads and kv_heads % size and size % kv_heads:
        return f"its {kv_heads} key and value heads can neither be split over {size} GPUs nor copied to them evenly"
    return None
