"""Two sweeps held against each other: better, same, worse or cannot tell, and what changed."""

from tuner.compare.comparison import Comparison, compare
from tuner.compare.reading import Read, read_side
from tuner.compare.rule import Outcome
from tuner.compare.tolerances import Tolerances, load_tolerances

__all__ = ["Comparison", "Outcome", "Read", "Tolerances", "compare", "load_tolerances", "read_side"]
