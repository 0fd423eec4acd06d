"""What an artifact says that it was measured with."""

from __future__ import annotations

from pathlib import Path

from tuner.artifact import load_best_config
from tuner.artifact.model import DeviceDetail
from tuner.identity import DeviceSetup, EngineSetup, artifact_setup

ARTIFACTS = Path(__file__).parents[1] / "golden" / "artifacts"


def test_an_older_artifact_says_what_it_knows() -> None:
    setup = artifact_setup(load_best_config(ARTIFACTS / "v1-h200-7b.yaml"))
    assert setup.engine == EngineSetup("0.26.0", "cuda")
    assert setup.devices == (DeviceSetup("NVIDIA H200"),)
    assert (setup.target.hash, setup.target.scheme) == ("529a9a8dd577bda5", None)
    assert setup.env["VLLM_USE_DEEP_GEMM"] == "0"
    assert setup.engine_args is not None and setup.engine_args["max_model_len"] == 2048
    assert setup.deployed == frozenset()


def test_the_drafts_of_the_recommendation_are_those_that_deployment_needs() -> None:
    setup = artifact_setup(load_best_config(ARTIFACTS / "v1-schedule-and-traffic.yaml"))
    assert (setup.deployed, setup.drafts["good"].id) == (frozenset({"good"}), "/models/good")


def test_devices_are_counted_and_have_their_details() -> None:
    config = load_best_config(ARTIFACTS / "v1-h200-7b.yaml")
    detail = DeviceDetail(device="2 x NVIDIA H200", memory_bytes=5, driver="570.1")
    measured_on = config.measured_on.model_copy(update={"device_details": (detail,)})
    setup = artifact_setup(config.model_copy(update={"measured_on": measured_on}))
    assert setup.devices == (DeviceSetup("NVIDIA H200", 2, 5, "570.1"),)
