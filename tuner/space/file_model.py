"""The search-space file as written: what each key may hold.

Only shape and domain of single values live here; what spans several keys is checked in `schema`. Messages are the
words after "KEY: ".
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from tuner.records import Json
from tuner.records.redaction import is_secret_name, without_controls

LEAST_LIVES = 3
"""Of fresh engine lives, for any claim that goes beyond one life."""
MAX_K = 1024
"""No method proposes more; a larger number is a slip of the keyboard that would plan thousands of engine starts."""


def _wrong(message: str) -> PydanticCustomError:
    # The text goes in as data: PydanticCustomError formats its template.
    return PydanticCustomError("space", "{text}", {"text": message})


def _ks(value: object) -> object:
    """Turn 3, [1, 3] or {min: 1, max: 8, step: 1} into a list of K."""
    if isinstance(value, dict):
        return _k_range(value)
    ks = value if isinstance(value, list) else [value]
    if not ks:
        raise _wrong("is empty; write the K to try, like [1, 3, 5]")
    for k in ks:
        _check_k(k)
    if len(set(ks)) != len(ks):
        raise _wrong(f"names a K twice: {ks}")
    return sorted(ks)


def _k_range(value: dict[str, object]) -> list[int]:
    unknown = sorted(set(value) - {"min", "max", "step"})
    if unknown or not {"min", "max"} <= set(value):
        raise _wrong(f"must be a list like [1, 3, 5] or {{min: 1, max: 8}} (step: if not 1), not {value}")
    low, high, step = (_check_k(value.get(name, 1), name) for name in ("min", "max", "step"))
    if low > high:
        raise _wrong(f"min {low} is above max {high}")
    return list(range(low, high + 1, step))


def _check_k(k: object, what: str = "") -> int:
    prefix = f"({what}) " if what else ""
    if isinstance(k, bool) or not isinstance(k, int):
        raise _wrong(f"{prefix}must be a whole number, not {k!r}")
    if k < 1:
        also = "; the baseline (K = 0) is always measured and is not listed" if k == 0 and what != "step" else ""
        raise _wrong(f"{prefix}must be 1 or more, not {k}{also}")
    if k > MAX_K:
        raise _wrong(f"{prefix}must be at most {MAX_K}, not {k}")
    return k


def _between(value: object) -> object:
    """Turn 3 (exactly) or {min: 3, max: 6} into (least, most)."""
    if isinstance(value, dict) and set(value) != {"min", "max"}:
        raise _wrong(f"must be a number, or {{min: 3, max: 6}}, not {value}")
    low, high = (value["min"], value["max"]) if isinstance(value, dict) else (value, value)
    least, most = _whole(low), _whole(high)
    if least > most:
        raise _wrong(f"min {least} is above max {most}")
    return least, most


def _whole(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise _wrong(f"must be a whole number, not {number!r}")
    if number < 1:
        raise _wrong(f"must be greater than or equal to 1, not {number}")
    return number


def _enough_lives(value: tuple[int, int]) -> tuple[int, int]:
    if value != (1, 1) and value[0] < LEAST_LIVES:
        alone = "1 leaves the finalists' fresh lives out, and the answer is of one life alone"
        raise _wrong(f"must be {LEAST_LIVES} or more; {alone}")
    return value


def _filled(value: object) -> object:
    """A section whose entries are all commented out is null to YAML, and means that nothing is set."""
    return {} if value is None else value


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _several(values: list[Any]) -> list[Any]:
    if not values:
        raise _wrong("is empty")
    if any(value in values[:i] for i, value in enumerate(values)):
        raise _wrong(f"names a value twice: {values}")
    return values


def _env_value(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise _wrong("must be text; put it in quotes, as the engine is to see it")
    if "\0" in value:
        raise _wrong("holds a NUL character")
    return value


_SET_BY_TUNER = ("CUDA_VISIBLE_DEVICES", "VLLM_PORT", "PROMETHEUS_MULTIPROC_DIR")
_WHOLE_NUMBERS = {"VLLM_CPU_KVCACHE_SPACE": " of GiB", "VLLM_CPU_NUM_OF_RESERVED_CPU": " of cores"}


def _env(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise _wrong(f"{name!r} is no name of an environment variable")
        if is_secret_name(name):
            raise _wrong(f"{name} looks like a secret, and this file is kept with the results; export it in the shell")
        if name in _SET_BY_TUNER:
            raise _wrong(f"{name} is set by the tuner for each engine; leave it out")
        if name in _WHOLE_NUMBERS and not re.fullmatch(r"\d+", text.strip()):
            raise _wrong(f"{name} must be a whole number{_WHOLE_NUMBERS[name]}, not {text!r}")
    return value


def _concurrencies(value: dict[str, float]) -> dict[str, float]:
    for name in value:
        if not re.fullmatch(r"[1-9][0-9]{0,8}", name):
            raise _wrong(f"has {name!r} where a concurrency is asked for: a whole number of 1 or more")
    return value


def _shown_as_it_is(value: str) -> str:
    if value != without_controls(value):
        raise _wrong(f"holds a control character: {value!r}")
    return value


Ks = Annotated[list[int], BeforeValidator(_ks)]
Text = Annotated[str, StringConstraints(pattern=r"\S"), AfterValidator(_shown_as_it_is)]
EnvText = Annotated[str, BeforeValidator(_env_value)]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Between = Annotated[tuple[int, int], BeforeValidator(_between)]
Lives = Annotated[Between, AfterValidator(_enough_lives)]
Seconds = Annotated[float, Field(gt=0)]
Temperatures = Annotated[list[Annotated[float, Field(ge=0, le=10)]], BeforeValidator(_listed), AfterValidator(_several)]
Counts = Annotated[list[Count], BeforeValidator(_listed), AfterValidator(_several)]
EvalSets = Annotated[list[Text], BeforeValidator(_listed), AfterValidator(_several)]
Section = BeforeValidator(_filled)
Choices = Annotated[list[Json], AfterValidator(_several)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class DraftPart(_Part):
    """One entry of `drafts`."""

    name: Text | None = None
    method: Text
    model: Text | None = None
    options: Annotated[dict[str, Json], Section] = {}
    k: Ks | None = None


class LoadPart(_Part):
    """One entry of `load_points`; lists of eval sets, temperatures and concurrencies stand for every combination."""

    eval_set: EvalSets
    temperature: Temperatures = [0.0]
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=-1)] = -1
    seed: int = 0
    concurrency: Counts = [1]
    max_tokens: Count = 128
    ignore_eos: bool = False
    num_prompts: Count | None = None
    weight: Annotated[float, Field(gt=0)] = 1.0


class ProtocolPart(_Part):
    """`protocol`."""

    repeats: Between = (3, 9)
    lives: Lives = (4, 15)
    resolve: Annotated[float, Field(gt=0, lt=1)] = 0.03
    warmup_requests: Annotated[int, Field(ge=0)] | None = None
    baseline_again: bool = True
    baseline_every: Count = 8
    losslessness: bool = True
    distribution_samples: Annotated[int, Field(ge=0)] = 0
    same_runner: bool = False
    drafts_alone: bool = False
    schedule: bool = True
    start_timeout_s: Seconds = 1200.0
    stall_timeout_s: Seconds = 300.0
    request_timeout_s: Seconds = 600.0
    reduced: str = ""


class LatencyLimitsPart(_Part):
    """`objective.limits`: seconds."""

    p95_ttft_s: Seconds | None = None
    p95_tpot_s: Seconds | None = None
    p95_e2e_s: Seconds | None = None


class ObjectivePart(_Part):
    """`objective`."""

    metric: Literal["tpot", "e2e", "throughput"] = "tpot"
    limits: Annotated[LatencyLimitsPart, Section] = LatencyLimitsPart()
    inflection_threshold: Annotated[float, Field(gt=0, lt=1)] = 0.01


class SearchPart(_Part):
    """`search`."""

    sampler: Literal["guided", "grid", "random", "tpe", "gp"] = "guided"


class LimitsPart(_Part):
    """`limits`."""

    max_trials: Count | None = None
    max_minutes: Annotated[float, Field(gt=0)] | None = None
    max_engine_starts: Count | None = None


class TrafficPart(_Part):
    """`traffic`."""

    shares: Annotated[dict[str, Share], AfterValidator(_concurrencies)] | None = None
    prometheus: Text | None = None


class SpaceFile(_Part):
    """The whole file."""

    description: str = ""
    target: Text | None = None
    engine_args: Annotated[dict[str, Json], Section] = {}
    unchecked_engine_args: Annotated[dict[str, Json], Section] = {}
    choices: Annotated[dict[str, Choices], Section] = {}
    env: Annotated[dict[str, EnvText], AfterValidator(_env), Section] = {}
    k: Ks | None = None
    drafts: Annotated[list[DraftPart], BeforeValidator(lambda value: [] if value is None else value)] = []
    load_points: Annotated[list[LoadPart], Field(min_length=1)]
    protocol: Annotated[ProtocolPart, Section] = ProtocolPart()
    objective: Annotated[ObjectivePart, Section] = ObjectivePart()
    search: Annotated[SearchPart, Section] = SearchPart()
    limits: Annotated[LimitsPart, Section] = LimitsPart()
    traffic: TrafficPart | None = None


PARTS: dict[tuple[str, ...], type[BaseModel]] = {
    (): SpaceFile,
    ("drafts",): DraftPart,
    ("load_points",): LoadPart,
    ("protocol",): ProtocolPart,
    ("objective",): ObjectivePart,
    ("objective", "limits"): LatencyLimitsPart,
    ("search",): SearchPart,
    ("limits",): LimitsPart,
    ("traffic",): TrafficPart,
}
"""Which model describes which place of the file."""
