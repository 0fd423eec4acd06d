"""What explains a result: rules over a finished analysis, one row each. Pure."""

from tuner.analysis.diagnoses.measured import Measured, NamedChange
from tuner.analysis.diagnoses.rules import RULES, Rule, diagnoses

__all__ = ["RULES", "Measured", "NamedChange", "Rule", "diagnoses"]
