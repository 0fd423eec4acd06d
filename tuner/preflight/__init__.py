"""What is checked before any engine starts: model directories, what the models say of each other, prompt lengths."""

from tuner.preflight.examine import sentence
from tuner.preflight.inputs import check_inputs
from tuner.preflight.lengths import PromptLengths
from tuner.preflight.models import check_draft, check_target

__all__ = ["PromptLengths", "check_draft", "check_inputs", "check_target", "sentence"]
