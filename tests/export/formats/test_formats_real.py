"""Exports in the hands of what will read them: the engine's own parser, Ray's own classes, real engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.export.formats.readers import READERS
from tests.exported_artifact import GOOD, artifact
from tests.one_question import metrics_after_one_question
from tuner.artifact import BestConfig
from tuner.engine.process import Launch, free_port
from tuner.export.formats import FORMATS, Choices, Deployment, Setting, deployment
from tuner.export.formats.words import MODULE
from tuner.records import Json, Verdict

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(find_spec("vllm") is None, reason="no vLLM in this environment"),
]

ENGINES = [sys.executable, *filter(None, os.environ.get("TUNER_TEST_ENGINES", "").split(os.pathsep))]
"""Pythons with vLLM: this one, and further releases where someone has them."""
ARGS: dict[str, Json] = {
    "max_model_len": 1024,
    "enforce_eager": True,
    "enable_prefix_caching": False,
    "gpu_memory_utilization": 0.3,
    "cudagraph_capture_sizes": [1, 2, 4],
    "allowed_origins": ["*", "a"],
    "chat_template": "-x {a}",
    "seed": -1,
    "quantization": None,
    "hf_overrides": {"a": {"b": [1, None, True, "null"]}},
}
PARSE = """
import json, sys
import vllm
try:
    from vllm.utils.argparse_utils import FlexibleArgumentParser
except ImportError:
    from vllm.utils import FlexibleArgumentParser
try:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
except ImportError:
    from vllm.entrypoints.openai.cli_args import make_arg_parser
out, *runs = sys.argv[1:]
found = []
for run in runs:
    args = vars(make_arg_parser(FlexibleArgumentParser()).parse_args(json.loads(run)))
    found.append({name: args.get(name) for name in %r})
open(out, "w").write(json.dumps({"version": vllm.__version__, "found": found}, default=str))
"""
FIELDS = """
import dataclasses, json, sys
from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs
open(sys.argv[1], "w").write(json.dumps([field.name for field in dataclasses.fields(EngineArgs)]))
"""
RAY = """
import json, sys, yaml
from ray.serve.schema import ServeDeploySchema
from ray.serve.llm import LLMConfig, LLMServingArgs
from ray.llm._internal.serve.engines.vllm.vllm_models import VLLMEngineConfig
found = []
for path in sys.argv[2:]:
    document = yaml.safe_load(open(path, encoding="utf-8"))
    ServeDeploySchema.model_validate(document)
    (application,) = document["applications"]
    serving = LLMServingArgs.model_validate(application["args"])
    config = VLLMEngineConfig.from_llm_config(serving.llm_configs[0])
    found.append({"engine": config.engine_kwargs, "frontend": config.frontend_kwargs, "model": config.hf_model_id})
open(sys.argv[1], "w").write(json.dumps(found))
"""


def deployed(verdict: Verdict, setting: Setting = Setting.RECOMMENDED, **more: Any) -> Deployment:
    spec = GOOD.model_copy(update={"draft": "/m/é 'x' \"y\" $HOME", "options": {"draft_sample_method": "greedy"}})
    return deployment(artifact(verdict, target="/m/t: #1", speculation=spec, **more), Choices(setting, port=8123))


def run(python: str, script: str, out: Path, *arguments: str) -> Any:
    env = {**os.environ, "PYTHONSAFEPATH": "1"}
    done = subprocess.run([python, "-c", script, str(out), *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(out.read_text())


@pytest.mark.parametrize("python", ENGINES)
def test_the_engines_own_parser_reads_what_was_meant(python: str, tmp_path: Path) -> None:
    names = [*ARGS, "model", "port", "speculative_config"]
    runs, expected = [], []
    for verdict in (Verdict.SPECULATE, Verdict.DO_NOT):
        found = deployed(verdict, engine_args=ARGS)
        file = tmp_path / f"{verdict.value}.yaml"
        file.write_text(FORMATS["vllm"].write(found), encoding="utf-8")
        command = READERS["command"](FORMATS["command"].write(found))
        assert command.words is not None and command.model is not None
        speculation = json.dumps(command.speculation)
        spoken = ["--speculative-config", speculation] if command.speculation else []
        runs += [["--config", str(file)], ["--model", command.model, *command.words, *spoken]]
        expected += [{**ARGS, "model": "/m/t: #1", "port": 8123, "speculative_config": found.speculative_config}] * 2
    read = run(python, PARSE % names, tmp_path / "read.json", *map(json.dumps, runs))
    assert read["found"] == expected, read["version"]


@pytest.mark.parametrize("python", ENGINES)
def test_every_argument_of_the_python_call_is_one_that_the_engine_has(python: str, tmp_path: Path) -> None:
    from tuner.space.engine_flags import ADDED, REMOVED, known_engine_args

    known: dict[str, Json] = dict.fromkeys(known_engine_args() - set(REMOVED) - set(ADDED), "x")
    read = READERS["python"](FORMATS["python"].write(deployment(artifact(engine_args=known), Choices())))
    assert read.document.keys() - {"chat_template"} <= set(run(python, FIELDS, tmp_path / "fields.json"))


@pytest.mark.skipif(find_spec("grpc_reflection") is None, reason="Ray Serve does not import without it")
def test_rays_own_classes_take_the_config(tmp_path: Path) -> None:
    found = [deployed(Verdict.SPECULATE, engine_args={**ARGS, "api_server_count": 2}), deployed(Verdict.DO_NOT)]
    for number, one in enumerate(found):
        (tmp_path / f"{number}.yaml").write_text(FORMATS["ray-serve"].write(one), encoding="utf-8")
    speaking, silent = run(
        sys.executable, RAY, tmp_path / "ray.json", *(str(tmp_path / f"{number}.yaml") for number in range(len(found)))
    )
    assert speaking["engine"].pop("speculative_config") == found[0].speculative_config
    sent = {name: value for name, value in ARGS.items() if value is not None}
    assert speaking["engine"] | speaking["frontend"] == sent
    assert (speaking["model"], silent["model"]) == ("/m/t: #1", "/m/t: #1")
    assert "speculative_config" not in silent["engine"]


def demo(verdict: Verdict) -> BestConfig:
    """Return an artifact of the demo models, of a size that starts beside others."""
    good = GOOD.model_copy(update={"draft": "demo:good", "num_speculative_tokens": 3})
    args: dict[str, Json] = {
        "max_model_len": 512,
        "max_num_seqs": 2,
        "enforce_eager": True,
        "gpu_memory_utilization": 0.3,
        "enable_prefix_caching": False,
    }
    env = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_NUM_OF_RESERVED_CPU": "0"}
    engine = {"build": "cpu"}
    return artifact(verdict, target="demo:target", speculation=good, engine_args=args, env=env, engine=engine)


@pytest.mark.parametrize(
    ("verdict", "setting", "drafts"),
    [
        (Verdict.SPECULATE, Setting.RECOMMENDED, True),
        (Verdict.SPECULATE, Setting.BASELINE, False),
        (Verdict.SPECULATE_BELOW, Setting.RECOMMENDED, True),
        (Verdict.DO_NOT, Setting.RECOMMENDED, False),
        (Verdict.INCONCLUSIVE, Setting.RECOMMENDED, False),
    ],
)
def test_an_engine_started_from_the_file_speculates_as_promised(
    verdict: Verdict, setting: Setting, drafts: bool, tmp_path: Path
) -> None:
    found = deployment(demo(verdict), Choices(setting, port=free_port()))
    file = tmp_path / "serve.yaml"
    file.write_text(FORMATS["vllm"].write(found), encoding="utf-8")
    environment = READERS["env"](FORMATS["env"].write(found)).env
    assert environment is not None
    metrics = asked(file, dict(environment), found)
    assert ("vllm:spec_decode_num_drafts_total{" in metrics) is drafts
    if drafts:
        lines = [line for line in metrics.splitlines() if line.startswith("vllm:spec_decode_num_draft_tokens_total{")]
        assert float(lines[0].rpartition(" ")[2]) > 0


def asked(file: Path, env: dict[str, str], found: Deployment) -> str:
    """Start an engine from the file, ask one question, and return its /metrics."""
    port = found.serving_port
    launch = Launch(
        command=(sys.executable, *MODULE[1:], "--config", str(file), "--host", "127.0.0.1"),
        env=env,
        log_path=file.with_suffix(".log"),
        port=port,
        served_name=found.target,
        api_key="",
        start_timeout_s=600,
        stall_timeout_s=300,
        version="",
    )
    return metrics_after_one_question(launch)
