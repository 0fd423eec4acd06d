"""A contract that every row of the table keeps: it is what it claims to be, and says what was recommended."""

from __future__ import annotations

import ast
import json
import re
from importlib.resources import files
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from tests.export.formats.readers import READERS, Read
from tests.exported_artifact import ADVICE, GOOD, artifact
from tuner.artifact import BestConfig
from tuner.export.formats import FORMATS, Choices, Setting, deployment
from tuner.records import Verdict

KUBERNETES = "1.32"
ARGS = {"tensor_parallel_size": 2, "max_model_len": 4096, "enforce_eager": True, "enable_chunked_prefill": False}
EVERY = pytest.mark.parametrize("name", FORMATS)
SPEAKING = pytest.mark.parametrize("name", [name for name, row in FORMATS.items() if row.carries_speculation])


def written(name: str, config: BestConfig, **choices: Any) -> str:
    return FORMATS[name].write(deployment(config, Choices(**choices)))


def read(name: str, config: BestConfig, **choices: Any) -> Read:
    return READERS[name](written(name, config, **choices))


def test_every_format_has_a_reader() -> None:
    assert list(READERS) == list(FORMATS)


def various() -> tuple[BestConfig, ...]:
    on_cpu = artifact(target="/m", engine={"build": "cpu"}, env={"A": "1"})
    return artifact(), on_cpu, artifact(Verdict.DO_NOT), artifact(Verdict.SPECULATE_BELOW, engine_args=ARGS)


@EVERY
@pytest.mark.parametrize("verdict", Verdict)
def test_it_speculates_exactly_where_serve_yaml_does(name: str, verdict: Verdict) -> None:
    config = artifact(verdict, engine_args=ARGS)
    (answer,) = config.answers
    found = read(name, config)
    if FORMATS[name].carries_speculation:
        promised = answer.recommended.speculation
        assert (found.speculation is not None) == (promised is not None)
        assert found.model == "org/target"
        if promised is not None:
            expected = {"method": "draft_model", "num_speculative_tokens": 4, "model": "org/draft"}
            assert found.speculation == expected
    assert "speculative" in written(name, config) or found.speculation is None


@SPEAKING
def test_engine_arguments_arrive(name: str) -> None:
    words = read(name, artifact(engine_args=ARGS)).words
    assert words is not None
    given = " ".join(words)
    for flag in ("--tensor-parallel-size 2", "--max-model-len 4096", "--enforce-eager", "--no-enable-chunked-prefill"):
        assert flag in given
    assert "None" not in given and "null" not in given


@SPEAKING
def test_the_way_back_the_static_setting_and_the_limited_one(name: str) -> None:
    below = artifact(Verdict.SPECULATE_BELOW, static=GOOD.model_copy(update={"num_speculative_tokens": 2}))
    assert read(name, below, setting=Setting.BASELINE).speculation is None
    assert read(name, below, setting=Setting.STATIC).speculation["num_speculative_tokens"] == 2
    assert read(name, below, setting=Setting.LIMITED).speculation["num_speculative_tokens"] == 7
    assert read(name, artifact(), setting=Setting.STATIC).speculation["num_speculative_tokens"] == 4


@EVERY
def test_the_advice_on_a_limit_stands_in_comments(name: str) -> None:
    text = written(name, artifact(Verdict.SPECULATE_BELOW))
    for line in ADVICE:
        assert f"# {line}\n" in text
        assert f"# {line}\n" not in written(name, artifact())
    assert "max_num_seqs" not in re.sub(r"#.*", "", text) and "--max-num-seqs" not in re.sub(r"#.*", "", text)


@EVERY
def test_no_secret_gets_in_and_its_absence_is_told(name: str) -> None:
    config = artifact(
        env={"HF_TOKEN": "hf_secret", "MY_API_KEY": "sk_secret", "VLLM_X": "1"}, engine_args={"api_key": "zz"}
    )
    text = written(name, config)
    assert "secret" not in text.replace("may be a secret", "").replace("secretKeyRef", "").replace("create secret", "")
    assert "zz" not in text
    assert "Left out because it may be a secret: api_key, HF_TOKEN, MY_API_KEY." in text
    assert "Left out" not in written(name, artifact(env={"VLLM_X": "1"}))


@EVERY
def test_no_port_but_the_engines_own_unless_asked(name: str) -> None:
    text = written(name, artifact())
    assert set(re.findall(r"\b\d{4,5}\b(?=\D*$)|(?<=ort: )\d+|(?<=:)\d{4,5}\b", text)) <= {"8000"}
    if name in ("vllm", "command", "env", "docker-env", "python", "ray-serve"):
        assert "port:" not in text and "--port" not in text
    asked = written(name, artifact(), port=9123)
    assert ("9123" in asked) == (name not in ("env", "docker-env", "python"))
    assert "8000" not in asked


def test_compose_publishes_no_port_unless_asked() -> None:
    (service,) = read("compose", artifact()).document["services"].values()
    assert "ports" not in service and service["expose"] == ["8000"]
    (service,) = read("compose", artifact(), port=9123).document["services"].values()
    assert service["ports"] == ["9123:9123"]


@EVERY
def test_nothing_of_the_run_gets_in(name: str) -> None:
    text = written(name, artifact(target="/models/t"), target_path="/srv/t", draft_path="/srv/d")
    assert not re.search(r"/tmp\b|127\.0\.0\.1:(?!8000)|synthetic|trial", text)
    assert "/models/t" not in text and "org/draft" not in text


@SPEAKING
def test_models_are_where_production_has_them(name: str) -> None:
    found = read(name, artifact(), target_path="/srv/t", draft_path="/srv/d")
    assert (found.model, found.speculation["model"]) == ("/srv/t", "/srv/d")
    back = read(name, artifact(target="/models/t"), target_path="org/t")
    assert (back.model, back.speculation["model"]) == ("org/t", "org/draft")


@pytest.mark.parametrize("name", ["compose", "kubernetes", "kserve", "production-stack", "llm-d"])
def test_directories_are_mounted_and_hub_ids_are_not(name: str) -> None:
    local = json.dumps(read(name, artifact(), target_path="/srv/t", draft_path="/srv/d").document)
    assert local.count('"/srv/t"') >= 3 and local.count('"/srv/d"') >= 2  # mounted from, mounted to, asked for
    assert "HF_TOKEN" not in local and "huggingface" not in local
    hub = json.dumps(read(name, artifact()).document)
    assert ("/root/.cache/huggingface" in hub) == (name != "production-stack")  # whose chart has a place of its own
    assert "HF_TOKEN" in hub and "hostPath" not in hub and '"bind"' not in hub
    own_draft = GOOD.model_copy(update={"draft": "/srv/t"})
    twice = json.dumps(read(name, artifact(target="/srv/t", speculation=own_draft)).document)
    assert twice.count('"hostPath"') + twice.count('"bind"') == 1


@pytest.mark.parametrize("name", ["compose", "kubernetes", "kserve", "production-stack", "llm-d"])
def test_the_image_is_the_measured_engines_and_the_gpus_are_what_it_had(name: str) -> None:
    config = artifact(
        engine_args={"tensor_parallel_size": 2, "pipeline_parallel_size": 2}, engine={"version": "0.26.0"}
    )
    text = written(name, config)
    assert re.search(r"vllm/vllm-openai:v0\.26\.0|vllm/vllm-openai\n +tag: v0\.26\.0", text)
    assert re.search(r'nvidia\.com/gpu: "4"|count: 4', text)
    cpu = written(name, artifact(engine={"build": "cpu"}))
    assert "vllm/vllm-openai-cpu" in cpu and "nvidia" not in cpu


def test_python_is_python_and_every_argument_one_that_llm_has() -> None:
    config = artifact(
        engine_args={
            "max_model_len": "4k",
            "max_num_batched_tokens": "1.5k",
            "kv_cache_memory_bytes": "2G",
            "hf_overrides": '{"a": {"b": null}}',
            "chat_template": "{% x %}",
            "tool_call_parser": "hermes",
            "dtype": None,
        }
    )
    text = written("python", config)
    compile(ast.parse(text), "engine.py", "exec")
    assert READERS["python"](text).document == {
        "max_model_len": 4000,
        "max_num_batched_tokens": 1500,
        "kv_cache_memory_bytes": 2 * 2**30,
        "hf_overrides": {"a": {"b": None}},
        "chat_template": "{% x %}",
    }
    assert "# Left out, as the HTTP server alone has them: tool_call_parser.\n" in text
    assert "Left out" not in written("python", artifact(engine_args={"max_model_len": "auto"}))
    assert read("python", artifact(engine_args={"max_model_len": "auto"})).document == {"max_model_len": -1}


def test_compose_meets_its_specification() -> None:
    source = files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text()
    validator = jsonschema.Draft202012Validator(json.loads(source))
    for config in (
        artifact(),
        artifact(target="/m", engine={"build": "cpu"}, env={"A": "1"}),
        artifact(Verdict.DO_NOT),
    ):
        for port in (None, 9000):
            document = read("compose", config, port=port).document
            assert list(validator.iter_errors(document)) == []
    document["services"]["x"] = {"surprise": 1}
    assert list(validator.iter_errors(document)) != []


def test_manifests_meet_the_schemas_of_kubernetes() -> None:
    for config in (
        artifact(),
        artifact(target="/m", engine={"build": "cpu"}, env={"A": "1"}),
        artifact(Verdict.DO_NOT),
    ):
        for manifest in read("kubernetes", config, port=9000).document:
            kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
        predictor = dict(read("kserve", config).document["spec"]["predictor"])
        assert (predictor.pop("minReplicas"), predictor.pop("maxReplicas")) == (1, 1)
        as_pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": predictor}
        kubernetes_validate.validate(as_pod, KUBERNETES, strict=True)
    predictor["surprise"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(as_pod, KUBERNETES, strict=True)


def test_the_service_reaches_the_pod_and_sets_no_variable_that_engines_read() -> None:
    manifest, service = read("kubernetes", artifact(target="/models/vllm"), port=9000).document
    assert service["spec"]["selector"].items() <= manifest["spec"]["template"]["metadata"]["labels"].items()
    (port,) = service["spec"]["ports"]
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    assert {"name": port["targetPort"], "containerPort": 9000} in container["ports"]
    assert not service["metadata"]["name"].startswith("vllm")
    assert manifest["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_a_slow_start_is_waited_for_and_a_busy_engine_is_not_killed() -> None:
    (container,) = read("kserve", artifact()).document["spec"]["predictor"]["containers"]
    start, live = container["startupProbe"], container["livenessProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 1800
    assert live["periodSeconds"] * live["failureThreshold"] >= 120


MODEL_SPEC = {
    *("name", "repository", "tag", "modelURL", "replicaCount", "requestGPU", "resources", "vllmConfig", "env"),
    *("extraVolumes", "extraVolumeMounts"),
}
"""Keys of the chart's values.schema.json (0.1.12) that are used."""


def test_production_stack_says_whether_to_cache_prefixes_as_the_chart_would_switch_it_off() -> None:
    for value, expected in ((None, True), (True, True), (False, False)):
        args = {} if value is None else {"enable_prefix_caching": value}
        (spec,) = read("production-stack", artifact(engine_args=args)).document["servingEngineSpec"]["modelSpec"]
        assert spec["vllmConfig"]["enablePrefixCaching"] is expected
        assert spec.keys() <= MODEL_SPEC
        assert not [word for word in spec["vllmConfig"]["extraArgs"] if "prefix" in word]


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [
        ("my/vllm:v1", "my/vllm", "v1"),
        ("host:5000/vllm", "host:5000/vllm", "latest"),
        ("host:5000/vllm@sha256:ab", "host:5000/vllm@sha256", "ab"),
    ],
)
def test_an_image_of_ones_own_is_deployed_as_it_was_measured(image: str, repository: str, tag: str) -> None:
    config = artifact(engine={"image": image})
    (spec,) = read("production-stack", config).document["servingEngineSpec"]["modelSpec"]
    assert (spec["repository"], spec["tag"]) == (repository, tag)
    (container,) = read("kserve", config).document["spec"]["predictor"]["containers"]
    assert container["image"] == image


def test_ray_gets_the_accelerator_it_has_a_name_for() -> None:
    def accelerator(*devices: str) -> Any:
        (application,) = read("ray-serve", artifact(devices=devices)).document["applications"]
        return application["args"]["llm_configs"][0].get("accelerator_type")

    assert accelerator("2 x NVIDIA H200") == "H200"
    assert accelerator("NVIDIA A100-SXM4-80GB") == "A100"
    assert accelerator("NVIDIA L40S") == "L40S"
    assert accelerator("NVIDIA GeForce RTX 4090") is None
