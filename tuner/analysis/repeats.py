"""How often a load point is measured: until its repeats agree well enough, within the protocol's limits. Pure.

Only how far repeats differ is looked at, never how fast the engine was: a rule that saw the effect could stop where the
effect happens to look good.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuner.analysis.life import LATENCIES, LoadView
from tuner.records import LoadMeasurement, Protocol, RequestSample


def another_repeat(measurement: LoadMeasurement, samples: Sequence[RequestSample], protocol: Protocol) -> bool:
    """Return whether one more repeat is wanted after those in `measurement` (none at all to begin with).

    samples: of this load point.  Sound repeats are those that are valid and undisturbed.  There are at least
    `protocol.repeats` repeats and at most `protocol.max_repeats`; between the two one more is wanted while fewer than
    `protocol.repeats` are sound, or while the standard error that the mean log TPOT has from sound repeats being
    slower or faster as a whole is above the tolerance, or cannot be known.
    """
    done = len(measurement.repeats)
    if done < protocol.repeats:
        return True
    if done >= protocol.max_repeats:
        return False
    sound = tuple(repeat for repeat in measurement.repeats if not repeat.problems and not repeat.disturbances)
    if len(sound) < protocol.repeats:
        return True
    indices = {repeat.index for repeat in sound}
    answered = tuple(sample for sample in samples if sample.ok and sample.repeat in indices)
    view = LoadView(measurement, sound, answered)
    if not view.tpot_by_prompt:
        return False  # Answers of one token have no TPOT, however often they are measured.
    spread = view.repeat_spread(LATENCIES["tpot_s"])
    return spread.df == 0 or math.sqrt(spread.variance) > tolerance(protocol.resolve)


def tolerance(resolve: float) -> float:
    """Return the largest standard error of a mean log TPOT from which an effect of `resolve` (a fraction) can be seen.

    A quarter of log(1 + resolve): two arms with that error each have one of sqrt(2)/4 of the effect together, so that
    the effect is 2.8 of its standard errors.
    """
    return math.log1p(resolve) / 4


def repeat_words(done: int, protocol: Protocol) -> str:
    """Return words for the repeat that follows `done` others: "repeat 2/3", or "repeat 4 (of 3-6)"."""
    if protocol.max_repeats <= protocol.repeats:
        return f"repeat {done + 1}/{protocol.repeats}"
    return f"repeat {done + 1} (of {protocol.repeats}-{protocol.max_repeats})"
