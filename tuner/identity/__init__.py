"""What identifies a model and a set-up, cheaply; and what differs between two of them."""

from tuner.identity.differences import Difference, differences, ignoring
from tuner.identity.models import model_identity
from tuner.identity.names import hub_revision, target_name
from tuner.identity.setup import DeviceSetup, EngineSetup, ModelSetup, Setup, artifact_setup, model_setup

__all__ = [
    "DeviceSetup",
    "Difference",
    "EngineSetup",
    "ModelSetup",
    "Setup",
    "artifact_setup",
    "differences",
    "hub_revision",
    "ignoring",
    "model_identity",
    "model_setup",
    "target_name",
]
