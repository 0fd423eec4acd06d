import json
import shlex
from pathlib import Path

import pytest
import yaml

from tuner.export.serve import serve_env, serve_settings, serve_yaml
from tuner.records import Candidate, Json, Speculation

ARGS: dict[str, Json] = {
    "max_model_len": 4096,
    "enable_prefix_caching": False,
    "enforce_eager": True,
    "quantization": None,
    "compilation_config": {"cudagraph_mode": "NONE"},
}
GOOD = Candidate(ARGS, Speculation("draft_model", 4, "good", "org/draft", {"draft_sample_method": "greedy"}))


def test_the_text_is_what_vllm_reads() -> None:
    assert serve_yaml("org/target", GOOD, "About.\nTwo lines.") == (
        "# About.\n"
        "# Two lines.\n"
        "model: org/target\n"
        "max-model-len: 4096\n"
        "no-enable-prefix-caching: true\n"
        "enforce-eager: true\n"
        'compilation-config: \'{"cudagraph_mode": "NONE"}\'\n'
        'speculative-config: \'{"method": "draft_model", "num_speculative_tokens": 4, "model": "org/draft", '
        '"draft_sample_method": "greedy"}\'\n'
    )


def test_a_baseline_has_no_speculation_and_nothing_is_false_or_null() -> None:
    settings = yaml.safe_load(serve_yaml("org/target", GOOD.baseline, ""))
    assert "speculative-config" not in settings
    assert not [name for name, value in settings.items() if value in (False, None)]


def test_demo_models_and_directories_are_written_as_paths_that_the_engine_can_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "draft 模型").mkdir()
    candidate = Candidate({}, Speculation("draft_model", 1, "d", "./draft 模型"))
    settings = yaml.safe_load(serve_yaml("demo:target", candidate, ""))
    assert settings["model"] == str(tmp_path / "models" / "smollm2-demo" / "target")
    assert json.loads(settings["speculative-config"])["model"] == str(tmp_path / "draft 模型")


def test_lists_stay_lists() -> None:
    assert serve_settings("m", Candidate({"middleware": ["a", "b"]}))["middleware"] == ["a", "b"]


def test_the_environment_survives_a_shell() -> None:
    env = {"A": "1", "B": "with space", "C": "it's $HOME"}
    lines = [line for line in serve_env(env, "About.").splitlines() if not line.startswith("#")]
    assert dict(shlex.split(line)[0].split("=", 1) for line in lines) == env


def test_one_json_value_and_text_with_a_hyphen_stay_one_argument() -> None:
    args: dict[str, Json] = {"allowed_origins": ["*", "a"], "chat_template": "-x: y", "lora_modules": [{"name": "a"}]}
    settings = serve_settings("m", Candidate(args))
    assert settings == {
        "model": "m",
        "allowed-origins": '["*", "a"]',
        "chat-template=-x: y": True,
        "lora-modules": ['{"name": "a"}'],
    }


def test_a_port_is_there_only_when_asked_for() -> None:
    assert "port" not in serve_settings("m", Candidate())
    assert serve_settings("m", Candidate(), 8123)["port"] == 8123


@pytest.mark.parametrize("text", ["\x85", "\u2028", "a\nb", "\x1b", "1e3", "on", "é 😀"])
def test_any_text_survives(text: str) -> None:
    assert yaml.safe_load(serve_yaml("m", Candidate({"dtype": text}), f"a{text}model: other"))["dtype"] == text
