"""How an engine differs from itself, where it was measured in several lives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.analysis.noise import EFFECTS, ArmNoise, Deviation, LoadNoise
from tuner.analysis.power import MOST_LIVES
from tuner.records import Protocol


def noise_section(arms: Sequence[ArmNoise], protocol: Protocol) -> Iterator[str]:
    """Yield the section; nothing where no engine was measured for this."""
    if not arms:
        return
    columns = noise_columns(protocol)
    yield "## Noise"
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield f"|---|---|{'---:|' * (len(columns) - 2)}"
    for arm in arms:
        yield from (f"| {' | '.join(noise_cells(arm, load, protocol))} |" for load in arm.loads)
    yield ""
    yield NOISE_WORDS
    yield ""


NOISE_WORDS = (
    "SD of log TPOT, so 1 % is a factor of 1.01; 95 % intervals by chi-square. Within a life: from repeat to repeat. "
    "Life to life: what lives differ by beyond their repeats. Smallest speedup: what rounds of a candidate's and its "
    "baseline's life would tell from none in nine of ten sweeps, at the level that the verdict asks for; a baseline's "
    "row supposes a candidate that is as steady as itself."
)


def noise_columns(protocol: Protocol) -> list[str]:
    """Return the table's head."""
    most = f", {protocol.max_lives} at most" if protocol.max_lives > protocol.lives else ""
    return [
        "engine",
        "load point",
        "lives",
        "repeats",
        "within a life",
        "life to life",
        "largest difference",
        f"smallest speedup ({protocol.lives} lives{most})",
        *(f"lives for {effect:.0%}" for effect in EFFECTS),
    ]


def noise_cells(arm: ArmNoise, load: LoadNoise, protocol: Protocol) -> list[str]:
    """Return one row of the table."""
    where = load.load_point.label if load.load_point else f"all at T={load.temperature:g}"
    smallest = _effect(load.smallest)
    if protocol.max_lives > protocol.lives:
        smallest += f", {_effect(load.smallest_at_most)}"
    return [
        arm.candidate.label,
        where,
        str(load.lives),
        str(load.repeats or ""),
        _sd(load.repeat),
        _sd(load.life) or f"{_sd(load.total)}, repeats included",
        f"{load.largest:.2%}",
        smallest,
        *(_lives((load.lives_for or {})[effect]) for effect in EFFECTS),
    ]


def _sd(sd: Deviation | None) -> str:
    return "" if sd is None else f"{sd.value:.2%} ({sd.low:.2%}-{sd.high:.2%}, df {sd.df})"


def _effect(value: float | None) -> str:
    if value is None:
        return "none: one life"
    return f"{value:.1%}" if value < 10 else "over 1000%"


def _lives(count: int) -> str:
    return str(count) if count < MOST_LIVES else f"over {MOST_LIVES}"
