from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.engine.sim.arguments import parse_arguments, parse_speculation


def test_what_vllm_takes_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    words = [
        "--model",
        "/m/target",
        "--port",
        "81",
        "--served-model-name",
        "a",
        "b",
        "--max_model_len=512",
        "--max-num-seqs",
        "8",
    ]
    words += ["--gpu-memory-utilization", "0.5", "--enforce-eager", "--no-enable-prefix-caching", "--dtype", "bfloat16"]
    words += ["--cudagraph-capture-sizes", "1", "2", "4", "--disable-log-stats", "--sim-profile", "p.yaml"]
    arguments = parse_arguments(words)
    assert (arguments.model, arguments.port, arguments.served_name) == ("/m/target", 81, "a")
    assert (arguments.max_model_len, arguments.max_num_seqs, arguments.gpu_memory_utilization) == (512, 8, 0.5)
    assert (arguments.api_key, arguments.profile) == ("secret", "p.yaml")
    assert (arguments.prefix_caching, arguments.log_stats) == (False, False)


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    arguments = parse_arguments(["--model", "m"])
    assert (arguments.host, arguments.served_name, arguments.api_key) == ("127.0.0.1", "m", "")
    assert (arguments.prefix_caching, arguments.log_stats, arguments.max_model_len) == (True, True, None)


@pytest.mark.parametrize("words", [["--no-such-flag", "1"], ["--port", "x"], ["--mod", "abbreviated"], ["extra"]])
def test_what_vllm_refuses_ends_with_code_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_arguments(words)
    assert caught.value.code == 2


def test_a_config_file_gives_flags_and_the_command_line_wins(tmp_path: Path) -> None:
    config = tmp_path / "serve.yaml"
    speculative = {"method": "ngram", "num_speculative_tokens": 3}
    config.write_text(
        "model: /m/target\nport: 5\nmax_model_len: 99\nenforce-eager: true\ndisable-log-stats: false\n"
        f"served-model-name: [a, b]\nspeculative-config: '{json.dumps(speculative)}'\n"
    )
    arguments = parse_arguments(["--config", str(config), "--port", "7"])
    assert (arguments.model, arguments.port, arguments.max_model_len, arguments.served_name) == (
        "/m/target",
        7,
        99,
        "a",
    )
    assert arguments.log_stats
    spec = parse_speculation(arguments.speculative_config)
    assert spec is not None
    assert (spec.method, spec.num_speculative_tokens, spec.draft) == ("ngram", 3, None)
    config.write_text("speculative-config: {method: ngram, num_speculative_tokens: 2}")
    spec = parse_speculation(parse_arguments(["--config", str(config)]).speculative_config)
    assert spec is not None
    assert spec.num_speculative_tokens == 2


@pytest.mark.parametrize("content", ["- a\n", "a: [", "no-such-key: 1\n", None])
def test_a_bad_config_file_ends_with_code_2(tmp_path: Path, content: str | None) -> None:
    config = tmp_path / "serve.yaml"
    if content is not None:
        config.write_text(content)
    with pytest.raises(SystemExit) as caught:
        parse_arguments(["--config", str(config)])
    assert caught.value.code == 2


def test_speculation() -> None:
    assert parse_speculation(None) is None
    schedule = {"num_speculative_tokens_per_batch_size": [[1, 8, 2]]}
    config = {"method": "draft_model", "model": "m/d", "num_speculative_tokens": 4, **schedule}
    spec = parse_speculation(json.dumps(config))
    assert spec is not None
    assert (spec.method, spec.draft, spec.num_speculative_tokens) == ("draft_model", "m/d", 4)
    assert spec.options == schedule


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "Expecting"),
        ('{"method": "ngram"}', "num_speculative_tokens"),
        ('{"method": "ngram", "num_speculative_tokens": 0}', "greater than 0"),
        ('{"method": "draft_model", "num_speculative_tokens": 2}', "without speculative model"),
        ('{"method": "magic", "num_speculative_tokens": 2}', "Unsupported speculative method: 'magic'"),
        ('{"method": "ngram", "num_speculative_tokens": 2, "disable_by_batch_size": 8}', "disable_by_batch_size"),
        (
            '{"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_min": 4, "prompt_lookup_max": 2}',
            "prompt_lookup_min=4",
        ),
    ],
)
def test_speculation_that_vllm_refuses(config: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_speculation(config)
