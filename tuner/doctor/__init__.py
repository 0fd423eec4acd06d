"""Says whether sweeps can run on this machine, and what is in their way. It changes and ends nothing."""

from tuner.doctor.check import Check, State
from tuner.doctor.examined import Examined, this_machine
from tuner.doctor.running import Answer, examine
from tuner.doctor.table import ROWS, Row

__all__ = ["ROWS", "Answer", "Check", "Examined", "Row", "State", "examine", "this_machine"]
