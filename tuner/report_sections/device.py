"""What the device did while it was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tuner.records import Figure, Findings, LoadFigures, TrialFigures
from tuner.words import full_label

Column = tuple[str, Callable[[float], str]]

_GPU: Mapping[str, Column] = {
    "gpu_utilisation": ("GPU busy", lambda value: f"{value:.0%}"),
    "gpu_clock_min_mhz": ("lowest clock", lambda value: f"{value:.0f} MHz"),
    "gpu_power_w": ("power", lambda value: f"{value:.0f} W"),
    "gpu_temperature_c": ("hottest", lambda value: f"{value:.0f} °C"),
    "gpu_memory_bytes": ("memory", lambda value: f"{value / 1e9:.1f} GB"),
}
_CPU: Mapping[str, Column] = {
    "cpu_busy": ("CPU busy", lambda value: f"{value:.0%}"),
    "cpu_others": ("other processes", lambda value: f"{value:.0%}"),
    "cpu_steal": ("stolen", lambda value: f"{value:.1%}"),
}


def device_section(findings: Findings, names: Sequence[str]) -> Iterator[str]:
    """Yield the section; nothing where nothing was read.  names: arguments that tell candidates apart."""
    rows = [(trial, load) for trial in findings.trials for load in trial.loads]
    read = {name for _, load in rows for name in load.figures}
    columns = {name: column for name, column in {**_GPU, **_CPU}.items() if name in read}
    if not columns:
        return
    yield "## The device meanwhile"
    yield ""
    yield f"| candidate | load point | {' | '.join(title for title, _ in columns.values())} |"
    yield f"|---|---|{'---:|' * len(columns)}"
    for trial, load in rows:
        yield _row(trial, load, names, columns)
    yield ""
    if "gpu_utilisation" in columns:
        yield (
            "A GPU that is less busy with a draft than without spends the rest waiting for its host: fewer launches "
            "would help it more than less work."
        )
        yield ""


def _row(trial: TrialFigures, load: LoadFigures, names: Sequence[str], columns: Mapping[str, Column]) -> str:
    cells = [_cell(load.figures.get(name), shown) for name, (_, shown) in columns.items()]
    return f"| {full_label(trial.candidate, names)} | {load.load_point.label} | {' | '.join(cells)} |"


def _cell(figure: Figure | None, shown: Callable[[float], str]) -> str:
    return "" if figure is None or figure.value is None else shown(figure.value)
