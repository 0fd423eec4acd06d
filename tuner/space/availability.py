"""Whether an engine can run a setting: by release, by build, by what is installed beside it, from the tables alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tuner.records import Json, Speculation
from tuner.space.methods import METHODS, Method
from tuner.space.versions import Release, parse_release, release

GUESSED_FROM_PATH: tuple[tuple[str, str, str], ...] = (
    ("eagle-", "eagle", "0.8.5"),
    ("eagle3", "eagle3", "0.8.5"),
    ("dflash", "dflash", "0.20.0"),
    ("dspark", "dspark", "0.25.0"),
)
"""Part of a draft's path or id, the method that vLLM runs it with whatever the configuration says, first release."""

_GUESSED = frozenset({"draft_model", "mtp", "medusa", "mlp_speculator"})


def guessed_method(method: str, path: str, version: str | None = None) -> tuple[str, str] | None:
    """Return the method that vLLM takes instead of `method`, and the part of the draft's path that it goes by.

    None where it takes the given one.  version: of vLLM, None for the newest.
    """
    if method not in _GUESSED:
        return None
    for part, guess, since in GUESSED_FROM_PATH:
        if part in path.lower() and (version is None or release(version) >= release(since)):
            return guess, part
    return None


def unavailable(spec: Speculation, version: str, build: str, lacking: Collection[str] = ()) -> str | None:
    """Return why the engine cannot run this setting, None if by the tables it can.

    version: of vLLM.  build: "cpu", "cuda" or "sim" (the simulated engine stands for a GPU build).  lacking: names of
    packages that were looked for in the engine's environment and are not there.
    """
    return (
        method_unavailable(spec.method, version, build, lacking)
        or _option_unavailable(METHODS[spec.method], spec.options, version)
        or _build_unavailable(spec.options, build)
        or _path_unavailable(spec, version)
    )


def method_unavailable(name: str, version: str, build: str, lacking: Collection[str] = ()) -> str | None:
    """Return why the engine cannot run a method, whatever its options; None if by the tables it can."""
    method = METHODS[name]
    here = release(version)
    if here < release(method.first):
        return f"vLLM {version} does not have method {name}; it came with {method.first}"
    if method.last and here > release(method.last):
        return f"vLLM {version} no longer has method {name}; the last release with it is {method.last}"
    if method.gap and _within(here, method.gap):
        return f"vLLM {method.gap[0]} to {method.gap[1]} do not have method {name}, and this is {version}"
    if build not in method.builds:
        return f"method {name} does not run on the {build} build of vLLM"
    if build == "cpu" and method.cpu_gap and _within(here, method.cpu_gap):
        first, last = method.cpu_gap
        return f"the CPU builds of vLLM {first} to {last} do not run method {name}, and this is {version}"
    if method.package and method.package.name in lacking:
        package = method.package
        return f"method {name} needs the package {package.name} in the engine's environment: {package.install}"
    return None


def argument_conflict(spec: Speculation, engine_args: Mapping[str, Json], version: str) -> str | None:
    """Return which engine argument makes the engine refuse this setting, None if by the tables none does."""
    if engine_args.get("async_scheduling") is not True:
        return None
    first = METHODS[spec.method].async_first
    if first is None:
        return f"vLLM refuses method {spec.method} with async_scheduling: true; leave async_scheduling out"
    if release(version) < release(first):
        return f"vLLM {version} refuses method {spec.method} with async_scheduling: true; it works from {first} on"
    if spec.options.get("disable_padded_drafter_batch") is True:
        return "vLLM refuses disable_padded_drafter_batch with async_scheduling: true"
    return None


def _within(here: Release, span: tuple[str, str]) -> bool:
    return release(span[0]) <= here <= release(span[1])


def _path_unavailable(spec: Speculation, version: str) -> str | None:
    found = guessed_method(spec.method, spec.draft or "", version)
    if found is None:
        return None
    guess, part = found
    return (
        f"vLLM {version} runs any draft with {part!r} in its path as method {guess}, and this is {spec.draft}: "
        f"write method: {guess}, or give the directory another name"
    )


def _option_unavailable(method: Method, options: Mapping[str, Json], version: str) -> str | None:
    here = release(version)
    for name in options:
        row = method.options.get(name)
        if row and here < release(row.since):
            return f"vLLM {version} does not have the option {name}; it came with {row.since}"
        if row and row.until and here > release(row.until):
            return f"vLLM {version} no longer has the option {name}; the last release with it is {row.until}"
    return _value_unavailable(options, version)


def _value_unavailable(options: Mapping[str, Json], version: str) -> str | None:
    """The values of two options changed names between releases."""
    here = release(version)
    for name, value, first, last in VALUE_RELEASES:
        if options.get(name) == value and not release(first) <= here <= (parse_release(last or "") or here):
            until = f" to {last}" if last else " on"
            return f"vLLM {version} does not have {name}: {value}; releases with it: {first}{until}"
    return None


def _build_unavailable(options: Mapping[str, Json], build: str) -> str | None:
    if build != "cpu":
        return None
    for name, value, does in NOT_ON_CPU:
        if options.get(name) == value:
            return f"the CPU build of vLLM {does} {name}: {value}"
    return None


NOT_ON_CPU: tuple[tuple[str, str, str], ...] = (
    # By code: only the V2 model runner reads it, and verification would be the standard one.
    ("rejection_sample_method", "block", "ignores"),
    ("rejection_sample_method", "fly", "refuses"),
)
"""Option, value, what the CPU build does with it."""

VALUE_RELEASES: tuple[tuple[str, str, str, str | None], ...] = (
    ("rejection_sample_method", "strict", "0.18.0", "0.20.2"),
    ("rejection_sample_method", "probabilistic", "0.18.0", "0.20.2"),
    ("rejection_sample_method", "standard", "0.21.0", None),
    ("rejection_sample_method", "synthetic", "0.19.0", None),
    ("rejection_sample_method", "block", "0.25.0", None),
    ("rejection_sample_method", "fly", "0.33.0", None),
    ("draft_sample_method", "gumbel", "0.21.0", "0.21.0"),
    ("draft_sample_method", "probabilistic", "0.22.0", None),
)
"""Option, value, first and last release that takes it."""
