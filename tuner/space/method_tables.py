"""The tables of methods, options and releases as text: for `tuner methods`, and for docs/methods.md.

`python -m tuner.space.method_tables docs/methods.md` writes the tables of that page again.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tuner.records import Json
from tuner.space.availability import VALUE_RELEASES
from tuner.space.methods import METHODS, Method, ModelNeed
from tuner.space.old_flags import OLD_FLAGS, Place
from tuner.space.options import Kind, Option
from tuner.space.versions import VERSIONS, release

Row = Sequence[str]


def releases(first: str, last: str | None, gap: tuple[str, str] | None = None) -> str:
    """Return words for the releases that have something."""
    span = f"{first} on" if last is None else f"{first} to {last}"
    return f"{span}, not {gap[0]} to {gap[1]}" if gap else span


def method_releases(method: Method) -> str:
    """Return words for the releases that have a method, those of the CPU build apart where they differ."""
    words = releases(method.first, method.last, method.gap)
    if "cpu" not in method.builds:
        return f"{words}; no CPU build"
    if method.cpu_gap is None or release(method.cpu_gap[1]) < release(method.first):
        return words
    return f"{words}; CPU builds not {max(method.cpu_gap[0], method.first, key=release)} to {method.cpu_gap[1]}"


def needs(method: Method) -> str:
    """Return what a method needs besides vLLM: its draft, and packages."""
    model = "no model" if method.model is ModelNeed.NONE else method.model_words
    return f"{model}; the package {method.package.name}" if method.package else model


def domain(option: Option) -> str:
    """Return what values an option takes."""
    if option.choices:
        return ", ".join(option.choices)
    low, high = option.low, option.high
    if option.kind not in (Kind.INT, Kind.FLOAT) or math.isinf(low):
        return option.kind.value
    return (
        f"{option.kind.value}, {low:g} to {high:g}" if math.isfinite(high) else f"{option.kind.value}, {low:g} or more"
    )


def default(option: Option) -> str:
    """Return the engine's own value of an option; a dash where it decides by itself or has none."""
    value: Json = option.default
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _methods() -> Iterable[Row]:
    yield "method", "drafts from", "needs", "releases", "smaller K from the largest", "K schedule", "`async_scheduling`"
    for name, row in METHODS.items():
        smaller = "predicted" if row.chain_drafter else "measured"
        asynchronous = releases(row.async_first, None) if row.async_first else "refused"
        yield f"`{name}`", row.summary, needs(row), method_releases(row), smaller, _yes(row.schedules), asynchronous


def _options() -> Iterable[Row]:
    yield "option", "methods", "values", "vLLM's default", "releases"
    rows: dict[str, Option] = {name: row for method in METHODS.values() for name, row in method.options.items()}
    for name, row in rows.items():
        having = [method for method in METHODS if name in METHODS[method].options]
        methods = "all" if len(having) == len(METHODS) else ", ".join(f"`{method}`" for method in having)
        yield f"`{name}`", methods, domain(row), default(row), releases(row.since, row.until)


def _values() -> Iterable[Row]:
    yield "option", "value", "releases"
    for option, value, first, last in VALUE_RELEASES:
        yield f"`{option}`", f"`{value}`", releases(first, last)


def _versions() -> Iterable[Row]:
    yield "from release", "what changed for the tuner"
    for row in VERSIONS:
        yield row.release, row.changed


_NEW_PLACE: Mapping[Place, str] = {
    Place.METHOD: "`method:` of a draft",
    Place.MODEL: "`model:` of a draft",
    Place.K: "`k:`",
    Place.CONFIG: "its keys: `method:`, `model:`, `k:`, and `options:` for the rest",
    Place.NOWHERE: "nowhere",
}


def _old_flags() -> Iterable[Row]:
    yield "flag of vLLM", "here"
    for name, row in OLD_FLAGS.items():
        here = f"`options: {{{row.key}: ...}}` of a draft" if row.place is Place.OPTION else _NEW_PLACE[row.place]
        flag = f"`-{name.replace('_', '-')}`" if name in ("sc", "spec_draft_tp") else f"`--{name.replace('_', '-')}`"
        yield flag, f"{here}; {row.note}" if row.note else here


TABLES: Mapping[str, Callable[[], Iterable[Row]]] = {
    "methods": _methods,
    "options": _options,
    "values": _values,
    "versions": _versions,
    "old flags": _old_flags,
}
"""By the name that a page calls them by: <!-- table: NAME --> ... <!-- end -->."""

_PLACE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown(rows: Iterable[Row]) -> str:
    """Return rows, the first of them the head, as a Markdown table."""
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled(page: str) -> str:
    """Return a page with its tables written again from the code.  Raises KeyError for a name that is none."""
    return _PLACE.sub(lambda place: place[1] + markdown(TABLES[place[2]]()) + place[3], page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(filled(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
