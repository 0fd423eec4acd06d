"""Figures as the evidence of a diagnosis says them."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.records import Figure, LoadPoint


def multiple(figure: Figure) -> str:
    """Return "1.30x (1.24-1.38)", or "not known"."""
    return _with_interval(figure, "{:.2f}", "x")


def share(figure: Figure) -> str:
    """Return "48 % (40-56)", or "not known"."""
    if figure.value is None:
        return "not known"
    if figure.low is None or figure.high is None:
        return percent(figure.value)
    return f"{percent(figure.value)} ({100 * max(figure.low, 0):.0f}-{100 * min(figure.high, 1):.0f})"


def percent(fraction: float) -> str:
    """Return "48 %"."""
    return f"{100 * fraction:.0f} %"


def steps(figure: Figure) -> str:
    """Return "2.24 plain steps (1.9-2.6)", or "not known"."""
    return _with_interval(figure, "{:.2f}", " plain steps")


def milliseconds(figure: Figure | None) -> str:
    """Return "8.01 ms" from a figure in seconds, or "not known"."""
    return "not known" if figure is None or figure.value is None else f"{1000 * figure.value:.4g} ms"


def number(figure: Figure) -> str:
    """Return "n = 12 prompts"."""
    return f"n = {figure.n} {figure.n_of}"


def where(load: LoadPoint, loads: Sequence[LoadPoint]) -> str:
    """Return "concurrency 8" where that alone tells the load points apart, else the whole label."""
    others = {(x.eval_set, x.max_tokens, x.ignore_eos, x.num_prompts) for x in loads}
    return f"concurrency {load.concurrency}" if len(others) == 1 else load.label


def listed(names: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def _with_interval(figure: Figure, form: str, unit: str) -> str:
    if figure.value is None:
        return "not known"
    value = form.format(figure.value)
    if figure.low is None or figure.high is None:
        return f"{value}{unit}"
    return f"{value}{unit} ({form.format(figure.low)}-{form.format(figure.high)})"
