import argparse
import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.engine.argv import engine_command
from tuner.engine.resolve import Engine
from tuner.records import Candidate, Json, Speculation
from tuner.space.command_line import engine_flags

VLLM = Engine("vllm", "/env/bin/python", "0.32.0", "cpu")
NGRAM = Candidate({}, Speculation("ngram", 3, "ngram", None, {"prompt_lookup_max": 4}))


def as_written(ref: str) -> str:
    return ref


def test_the_baseline_has_no_word_of_speculation() -> None:
    command = engine_command(VLLM, "/m/target", "trial-0", 8123, Candidate({"max_model_len": 64}), as_written)
    assert command == (
        *("/env/bin/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/m/target"),
        *("--host", "127.0.0.1", "--port", "8123", "--served-model-name", "trial-0", "--max-model-len", "64"),
    )


def test_a_candidate_differs_from_its_baseline_by_one_flag() -> None:
    candidate = Candidate({"seed": 1}, NGRAM.speculation)
    command = engine_command(VLLM, "t", "n", 1, candidate, as_written)
    assert command[:-2] == engine_command(VLLM, "t", "n", 1, candidate.baseline, as_written)
    assert command[-2] == "--speculative-config"
    assert json.loads(command[-1]) == {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}


def test_target_and_draft_are_resolved_and_import_paths_are_not() -> None:
    draft = Candidate({}, Speculation("draft_model", 3, "d", "demo:good"))
    command = engine_command(VLLM, "demo:target", "n", 1, draft, lambda ref: f"<{ref}>")
    assert command[4] == "<demo:target>"
    assert json.loads(command[-1])["model"] == "<demo:good>"
    custom = Candidate({}, Speculation("custom_class", 3, "d", "pkg.Proposer"))
    command = engine_command(VLLM, "t", "n", 1, custom, lambda ref: f"<{ref}>")
    assert json.loads(command[-1])["model"] == "pkg.Proposer"


def test_the_simulated_engine_takes_the_same_flags_and_its_profile() -> None:
    sim = Engine("sim", "/env/bin/python", "0.33.0+sim", "sim", "/p.yaml")
    real = engine_command(VLLM, "t", "n", 1, NGRAM, as_written)
    command = engine_command(sim, "t", "n", 1, NGRAM, as_written)
    assert command[2] == "tuner.engine.sim"
    assert command[3:] == (*real[3:], "--sim-profile", "/p.yaml")
    assert "--sim-profile" not in engine_command(Engine("sim", "p", "1", "sim"), "t", "n", 1, NGRAM, as_written)


@pytest.mark.parametrize(
    ("args", "flags"),
    [
        ({"enforce_eager": True}, ("--enforce-eager",)),
        ({"enable_prefix_caching": False}, ("--no-enable-prefix-caching",)),
        ({"dtype": None}, ()),
        ({"gpu_memory_utilization": 0.9}, ("--gpu-memory-utilization", "0.9")),
        ({"dtype": "bfloat16"}, ("--dtype", "bfloat16")),
        ({"seed": -1}, ("--seed=-1",)),
        ({"chat_template": "-x"}, ("--chat-template=-x",)),
        ({"cudagraph_capture_sizes": [1, 2]}, ("--cudagraph-capture-sizes", "1", "2")),
        ({"cudagraph_capture_sizes": []}, ()),
        ({"allowed_origins": ["*"]}, ("--allowed-origins", '["*"]')),
        ({"hf_overrides": {"a": [None, True]}}, ("--hf-overrides", '{"a": [null, true]}')),
        ({"lora_modules": [{"name": "x"}]}, ("--lora-modules", '{"name": "x"}')),
    ],
)
def test_engine_arguments_become_flags(args: dict[str, Json], flags: tuple[str, ...]) -> None:
    assert engine_flags(args) == flags


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text("abcdefghij_", min_size=1).filter(lambda name: name not in ("method", "model"))


@given(
    method=st.text(min_size=1),
    k=st.integers(1, 1024),
    draft=st.none() | st.text(min_size=1),
    options=st.dictionaries(NAMES, JSON, max_size=4),
)
def test_any_speculation_round_trips_through_the_command_line(
    method: str, k: int, draft: str | None, options: dict[str, Json]
) -> None:
    candidate = Candidate({}, Speculation(method, k, "d", draft, options))
    command = engine_command(VLLM, "t", "n", 1, candidate, as_written)
    parser = argparse.ArgumentParser()
    for flag in ("--model", "--host", "--port", "--served-model-name"):
        parser.add_argument(flag)
    parser.add_argument("--speculative-config", type=json.loads)
    parsed = parser.parse_args(command[3:]).speculative_config
    expected: dict[str, Json] = {"method": method, "num_speculative_tokens": k, **options}
    assert parsed == (expected if draft is None else {**expected, "model": draft})


@given(st.dictionaries(st.sampled_from(["aa", "b_b", "c_c_c"]), JSON.filter(lambda value: value != [])))
def test_every_flag_is_text_and_belongs_to_its_argument(args: dict[str, Json]) -> None:
    words = engine_flags(args)
    assert all(isinstance(word, str) for word in words)
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= {
        f"--{no}{name.replace('_', '-')}" for name in args for no in ("", "no-")
    }


def test_a_key_never_stands_on_the_command_line() -> None:
    assert not any("api-key" in word for word in engine_command(VLLM, "t", "n", 1, NGRAM, as_written))


PARSE = """
import json, sys
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.entrypoints.launchers.cli_args import make_arg_parser
parser = make_arg_parser(FlexibleArgumentParser())
args = vars(parser.parse_args(sys.argv[2:]))
flags = {o[2:].replace("-", "_"): a.nargs == 0 for a in parser._actions for o in a.option_strings
         if o.startswith("--") and not o.startswith("--no-")}
open(sys.argv[1], "w").write(json.dumps({"args": {k: args[k] for k in %r}, "flags": flags}, default=str))
"""


@pytest.mark.real
@pytest.mark.skipif(find_spec("vllm") is None, reason="no vLLM in this environment")
def test_the_engines_own_parser_reads_what_is_written(tmp_path: Any) -> None:
    """Held against the installed vLLM: values arrive as meant, and the tables know all its flags."""
    from tuner.space.engine_flags import MANAGED, ONE_WAY, SWITCHES, known_engine_args

    args: dict[str, Json] = {
        "max_model_len": 1024,
        "enforce_eager": True,
        "enable_prefix_caching": False,
        "gpu_memory_utilization": 0.3,
        "cudagraph_capture_sizes": [1, 2, 4],
        "allowed_origins": ["*", "a"],
        "chat_template": "-x {a}",
        "seed": -1,
        "hf_overrides": {"a": {"b": [1, None, True]}},
    }
    spec = Speculation("draft_model", 3, "d", "/m/é 'x' \"y\"", {"draft_sample_method": "greedy"})
    command = engine_command(VLLM, "/m/t", "n", 1234, Candidate(args, spec), as_written)
    out = tmp_path / "parsed.json"
    names = [*args, "speculative_config", "model", "port", "host"]
    subprocess.run([sys.executable, "-c", PARSE % names, str(out), *command[3:]], check=True, capture_output=True)
    parsed = json.loads(out.read_text())
    config = parsed["args"].pop("speculative_config")
    assert config == {"method": "draft_model", "num_speculative_tokens": 3, "model": spec.draft, **spec.options}
    assert parsed["args"] == {**args, "model": "/m/t", "port": 1234, "host": "127.0.0.1"}
    assert set(parsed["flags"]) - known_engine_args() - set(MANAGED) == {"help"}
    switches = {name for name, is_switch in parsed["flags"].items() if is_switch}
    assert switches - set(MANAGED) - {"help"} == (SWITCHES | ONE_WAY) & set(parsed["flags"])
