"""What speculation drags along, from logs of real engines, and what gives a plain engine the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.engine.logscan import changed_settings, read_log
from tuner.records import EngineFacts, Json
from tuner.space.side_effects import SideEffects, side_effects

LOGS = Path(__file__).parents[1] / "engine" / "logs"
V1 = "Model Runner V2 does not yet support ngram/ngram_gpu speculative decoding; using the V1 model runner instead."
SYNC = "Async scheduling not supported with ngram-based speculative decoding and will be disabled."
GRAPHS = "Overriding cudagraph_mode from FULL_AND_PIECEWISE to PIECEWISE for reliability."
BACKEND = (
    "CUDAGraphMode.FULL_AND_PIECEWISE is not supported with spec-decode for attention backend FlashInfer (support: "
    "UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE"
)
BUDGET = "max_num_scheduled_tokens is set to 8160 based on the speculative decoding settings. This may lead to ..."


def facts(*lines: str, max_model_len: int | None = None) -> EngineFacts:
    return EngineFacts("0.26.0", (), {}, 1.0, max_model_len=max_model_len, changed_settings=lines)


def effects(
    *lines: str, plain: tuple[str, ...] = (), version: str = "0.32.0", args: dict[str, Json] | None = None
) -> SideEffects:
    return side_effects(facts(*lines), facts(*plain), args or {}, version)


def test_a_real_gpu_log_with_a_draft_model() -> None:
    """vLLM 0.26.0 on an H200; its plain engine's log has no line of a change."""
    lines = changed_settings(read_log(LOGS / "cuda-draft-model.log"))
    found = effects(*lines, version="0.26.0")
    assert found.changes[:2] == ("synchronous scheduling", "the V1 model runner")
    assert found.env == {"VLLM_USE_V2_MODEL_RUNNER": "0"}
    assert found.engine_args["async_scheduling"] is False
    assert not any("draft model max model len" in line for line in found.others)


def test_a_real_cpu_log_drags_along_only_what_its_baseline_does_not_say() -> None:
    lines = changed_settings(read_log(LOGS / "cpu-ngram.log"))
    plain = tuple(line for line in lines if not line.startswith(("Async scheduling", "max_num_scheduled")))
    found = effects(*lines, plain=plain)
    assert set(found.changes) <= {"synchronous scheduling", "fewer tokens scheduled per step"}
    assert found.env == {} and found.others == ()


@pytest.mark.parametrize(
    ("line", "args", "env"),
    [
        (V1, {}, {"VLLM_USE_V2_MODEL_RUNNER": "0"}),
        (SYNC, {"async_scheduling": False}, {}),
        ("Asynchronous scheduling is disabled.", {"async_scheduling": False}, {}),
        (GRAPHS, {"compilation_config": {"cudagraph_mode": "PIECEWISE"}}, {}),
        (BACKEND, {"compilation_config": {"cudagraph_mode": "PIECEWISE"}}, {}),
        (BUDGET, {"max_num_scheduled_tokens": 8160}, {}),
    ],
)
def test_each_known_line_has_its_arguments(line: str, args: dict[str, Json], env: dict[str, str]) -> None:
    found = effects(line)
    assert (dict(found.engine_args), dict(found.env), found.others) == (args, env, ())
    assert len(found.changes) == 1


def test_the_engine_log_gives_these_lines_to_the_record() -> None:
    log = "\n".join(
        f"(EngineCore pid=7) WARNING 11-29 22:12:19 [x.py:1] {line}" for line in (V1, SYNC, GRAPHS, BACKEND)
    )
    assert changed_settings(log) == (V1, SYNC, GRAPHS, BACKEND)


def test_given_compilation_settings_are_kept_and_a_shorthand_cannot_be_added_to() -> None:
    given: dict[str, Json] = {"compilation_config": {"mode": 3}}
    assert effects(GRAPHS, args=given).engine_args == {"compilation_config": {"mode": 3, "cudagraph_mode": "PIECEWISE"}}
    text: dict[str, Json] = {"compilation_config": '{"mode": 3}'}
    assert effects(GRAPHS, args=text).engine_args == {"compilation_config": {"mode": 3, "cudagraph_mode": "PIECEWISE"}}
    short: dict[str, Json] = {"compilation_config": 3}
    assert effects(GRAPHS, args=short).others == (GRAPHS,)


def test_an_unknown_change_and_a_release_without_the_means_are_named() -> None:
    assert effects("Disabling the new thing under speculation").others == ("Disabling the new thing under speculation",)
    assert effects(BUDGET, version="0.26.0").others == (BUDGET,)
    assert effects(V1, version="0.20.0").others == (V1,)


def test_what_the_baseline_says_too_is_not_dragged_along() -> None:
    assert effects(V1, SYNC, plain=(V1, SYNC)) == SideEffects()


def test_a_shorter_context_is_read_from_what_the_engines_serve() -> None:
    asked = "max_model_len: 2048 was asked for, the engine serves 1024"
    found = side_effects(facts(asked, max_model_len=1024), facts(max_model_len=2048), {}, "0.32.0")
    assert found == SideEffects(("a shorter context",), {"max_model_len": 1024})
