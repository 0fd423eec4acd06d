"""The checks: one row each, from an edge that gathers to a pure function that judges."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tuner.doctor.check import Check, State
from tuner.doctor.examined import QUICK_S, Examined
from tuner.doctor.facts import EngineFacts, EnvironmentFacts
from tuner.doctor.gather import engine, host, leftovers, ray
from tuner.doctor.judge.devices import judge_cpu, judge_fit, judge_gpus
from tuner.doctor.judge.engine import judge_engine, judge_import, judge_methods, judge_packages
from tuner.doctor.judge.environment import judge_environment
from tuner.doctor.judge.help import judge_help
from tuner.doctor.judge.host import judge_limits, judge_memory, judge_place, judge_ports
from tuner.doctor.judge.leftovers import judge_leftovers
from tuner.doctor.judge.ray import judge_ray
from tuner.engine.help import engine_help
from tuner.engine.resolve import resolve_engine
from tuner.errors import TunerError
from tuner.space.model_refs import demo_models_dir

DEEP_S = 120.0
_RAY_START_S = 60.0


@dataclass(frozen=True)
class Row:
    """One row.

    look: gathers and judges.  deep_s: how long it may take with --deep; without it every row has QUICK_S.
    only_deep: left out without --deep.
    """

    group: str
    name: str
    look: Callable[[Examined], tuple[Check, ...]]
    deep_s: float = QUICK_S
    only_deep: bool = False

    def limit_s(self, *, deep: bool) -> float:
        """Return how long it may take."""
        return self.deep_s if deep else QUICK_S


def _engine_or_none(examined: Examined) -> EngineFacts | None:
    """Return the engine; None if there is none, which is the engine row's to say."""
    try:
        return examined.engine()
    except TunerError:
        return None


def _import(examined: Examined) -> tuple[Check, ...]:
    facts = _engine_or_none(examined)
    if facts is None or facts.kind == "sim":
        return ()
    return judge_import(engine.imported_engine(facts.python, DEEP_S), facts)


def _help(examined: Examined) -> tuple[Check, ...]:
    facts = _engine_or_none(examined)
    if facts is None or facts.kind == "sim":
        return ()
    return judge_help(engine_help(resolve_engine(examined.engine_spec), fresh=True, timeout_s=DEEP_S), facts.version)


def _fit(examined: Examined) -> tuple[Check, ...]:
    facts = _engine_or_none(examined)
    return () if facts is None else judge_fit(examined.gpus(), facts)


def _methods(examined: Examined) -> tuple[Check, ...]:
    facts = _engine_or_none(examined)
    if facts is None:
        return (Check("methods", State.INFO, "not known without an engine"),)
    return judge_methods(facts)


def _place(purpose: str, where: Callable[[Examined], Path]) -> Callable[[Examined], tuple[Check, ...]]:
    return lambda examined: judge_place(host.place(purpose, where(examined)))


def _engine_cache(examined: Examined) -> Path:
    env = examined.variables
    return Path(env.get("VLLM_CACHE_ROOT") or Path(env.get("XDG_CACHE_HOME") or "~/.cache") / "vllm")


def _hub_cache(examined: Examined) -> Path:
    env = examined.variables
    home = env.get("HF_HOME") or Path(env.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or Path(home) / "hub")


def _environment(examined: Examined) -> tuple[Check, ...]:
    found = examined.gpus().gpus
    models = len({gpu.name for gpu in found})
    return judge_environment(EnvironmentFacts(examined.variables, len(found), models, tempfile.gettempdir()))


def _ray(examined: Examined) -> tuple[Check, ...]:
    return judge_ray(ray.ray_facts(examined.variables, _RAY_START_S if examined.deep else None))


def _leftovers(examined: Examined) -> tuple[Check, ...]:
    return judge_leftovers(leftovers.leftovers(examined.variables, [examined.out]))


ROWS: tuple[Row, ...] = (
    Row("versions", "tuner", lambda _: judge_packages(engine.own_packages())),
    Row("versions", "engine", lambda examined: judge_engine(examined.engine())),
    Row("versions", "engine_import", _import, DEEP_S, only_deep=True),
    Row("versions", "engine_help", _help, DEEP_S, only_deep=True),
    Row("devices", "gpus", lambda examined: judge_gpus(examined.gpus())),
    Row("devices", "driver", _fit),
    Row("devices", "cpu", lambda _: judge_cpu(host.cpu())),
    Row("memory and disk", "memory", lambda _: judge_memory(host.memory())),
    Row("memory and disk", "disk_runs", _place("runs", lambda examined: examined.out)),
    Row("memory and disk", "disk_models", _place("models", _hub_cache)),
    Row("memory and disk", "disk_demo_models", _place("demo_models", lambda _: demo_models_dir())),
    Row("memory and disk", "disk_engine_cache", _place("engine_cache", _engine_cache)),
    Row("memory and disk", "disk_temporary", _place("temporary", lambda _: Path(tempfile.gettempdir()))),
    Row("system", "ports", lambda _: judge_ports(host.ports())),
    Row("system", "limits", lambda _: judge_limits(host.limits())),
    Row("system", "environment", _environment),
    Row("system", "ray", _ray, DEEP_S),
    Row("leftovers", "leftovers", _leftovers),
    Row("methods", "methods", _methods),
)
