from pathlib import Path

import pytest

from tuner.doctor.check import State
from tuner.doctor.facts import EnvironmentFacts
from tuner.doctor.judge.environment import judge_environment


@pytest.mark.parametrize(
    ("variables", "gpus", "name", "state", "words"),
    [
        ({"VLLM_PORT": "tcp://10.0.0.1:80"}, 0, "env_vllm_port", State.WARN, "Kubernetes"),
        ({"VLLM_PORT": "5000"}, 0, "env_vllm_port", State.WARN, "keeps it from its engines"),
        ({"PROMETHEUS_MULTIPROC_DIR": "/tmp/x"}, 0, "env_prometheus_multiproc_dir", State.WARN, "by hand"),
        ({"CUDA_VISIBLE_DEVICES": ""}, 2, "env_cuda_visible_devices", State.WARN, "hides all 2"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, 2, "env_cuda_visible_devices", State.WARN, "hides all 2"),
        ({"CUDA_VISIBLE_DEVICES": "0,5"}, 2, "env_cuda_visible_devices", State.FAIL, "5: there is no such GPU"),
        ({"CUDA_VISIBLE_DEVICES": "cuda:0"}, 2, "env_cuda_visible_devices", State.FAIL, "no index or UUID"),
        ({"CUDA_VISIBLE_DEVICES": "1,1"}, 2, "env_cuda_visible_devices", State.FAIL, "named twice"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, 2, "env_cuda_visible_devices", State.INFO, "1 of 2"),
        ({"CUDA_VISIBLE_DEVICES": "GPU-12ab"}, 2, "env_cuda_visible_devices", State.INFO, "1 of 2"),
        ({"HF_HUB_OFFLINE": "1"}, 0, "env_hf_hub_offline", State.INFO, "--download cannot"),
        ({"CI": "true"}, 0, "env_ci", State.INFO, "--download is refused"),
        ({"http_proxy": "http://p:1"}, 0, "env_proxy", State.WARN, "127.0.0.1"),
        ({"HTTP_PROXY": "http://p:1", "no_proxy": "example.org"}, 0, "env_proxy", State.WARN, "127.0.0.1"),
        ({"http_proxy": "http://p:1", "no_proxy": "localhost"}, 0, "env_proxy", State.WARN, "127.0.0.1"),
        ({"LD_PRELOAD": "/no/such/lib.so"}, 0, "env_ld_preload", State.WARN, "does not exist"),
        ({"TUNER_MODELS": "/no/such/models"}, 0, "env_tuner_models", State.WARN, "no such directory"),
        ({"VLLM_USE_V1": "0"}, 0, "env_vllm_use_v1", State.INFO, "inherits it"),
        ({"VLLM_RPC_BASE_PATH": "/" + "x" * 90}, 0, "socket_path", State.FAIL, "too long"),
    ],
)
def test_a_variable_that_changes_engines_is_told(
    variables: dict[str, str], gpus: int, name: str, state: State, words: str
) -> None:
    (check,) = judge_environment(EnvironmentFacts(variables, gpus, min(gpus, 1)))
    assert (check.name, check.state) == (name, state)
    assert words in check.what
    assert check.next_step or state is State.INFO


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HOME": "/root", "VLLM_LOGGING_LEVEL": "INFO", "CI": "false", "HF_HUB_OFFLINE": "0"},
        {"http_proxy": "http://p:1", "no_proxy": "localhost, 127.0.0.1"},
        {"http_proxy": "http://p:1", "no_proxy": "127.0.0.0/8"},
        {"http_proxy": "http://p:1", "NO_PROXY": "*"},
        {"https_proxy": "http://p:1"},
        {"CUDA_VISIBLE_DEVICES": ""},
        {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"},
        {"TUNER_MODELS": "/"},
        {"PYTHONPATH": "/"},
    ],
)
def test_what_changes_nothing_is_not_told(variables: dict[str, str]) -> None:
    (check,) = judge_environment(EnvironmentFacts(variables))
    assert (check.name, check.state) == ("environment", State.OK)


def test_the_order_of_gpus_matters_where_they_differ() -> None:
    order = {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    (check,) = judge_environment(EnvironmentFacts(order, gpus=2, gpu_models=2))
    assert check.state is State.WARN and "PCI_BUS_ID" in check.next_step
    (check,) = judge_environment(EnvironmentFacts({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, gpus=2, gpu_models=2))
    assert check.state is State.OK


def test_a_vllm_on_the_python_path_hides_the_installed_one(tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").touch()
    (check,) = judge_environment(EnvironmentFacts({"PYTHONPATH": f"/x:{tmp_path}"}))
    assert check.state is State.WARN and str(tmp_path) in check.what


@pytest.mark.parametrize("name", ["HF_TOKEN", "VLLM_API_KEY", "VLLM_USE_MY_API_KEY"])
def test_a_secret_is_never_shown(name: str) -> None:
    checks = judge_environment(EnvironmentFacts({name: "hf_secret"}))
    assert "hf_secret" not in str(checks)


def test_the_temp_directory_has_to_leave_room_for_sockets() -> None:
    assert judge_environment(EnvironmentFacts({}, temporary="/tmp/" + "x" * 64))[0].state is State.OK
    assert judge_environment(EnvironmentFacts({}, temporary="/tmp/" + "x" * 66))[0].name == "socket_path"
