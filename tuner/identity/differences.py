"""What differs between what was measured and what is here, and whether that takes the measurement's validity away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tuner.identity.setup import DeviceSetup, ModelSetup, Setup
from tuner.records import Json

MEMORY_TOLERANCE = 0.02
"""Part of a GPU's memory: error correction and what a driver reserves move it by less."""

FIELDS = (
    "engine.version",
    "engine.build",
    "engine.profile",
    "device.name",
    "device.count",
    "device.memory",
    "device.driver",
    "device.cores",
    "target",
    "draft",
    "env",
    "eval_sets",
    "engine_args",
    "load_points",
)
"""Every field that a difference may have; those of models, variables and arguments go on with a dot and a name."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was.

    field: a name with dots, for scripts ("engine.version", "draft.good.weights", "env.VLLM_USE_V2").
    measured, now: the two values, None where there is none.  why: why it matters, or why it does not.
    stale: it may change the answer; otherwise it is only worth knowing.
    """

    field: str
    measured: Json
    now: Json
    why: str
    stale: bool = True


def differences(measured: Setup, now: Setup) -> tuple[Difference, ...]:
    """Return every difference that is known of; what one of the two does not know is not compared.

    Engine: version and build must be equal. Device: the same name, as many GPUs as one engine took or more, memory
    within 2 %; a driver of another branch (the number before the first dot) counts, a later patch of one is a note.
    Models: by content; another hub revision of the same content is a note. A draft that is not deployed and not here
    is passed over. Environment: a variable that is set here and was not, or has another value, counts; one that is
    missing here is a note, because the environment file of the artifact sets it.
    """
    return tuple(
        difference
        for compare in (_engine, _device, _target, _drafts, _environment, _eval_sets, _engine_args, _load_points)
        for difference in compare(measured, now)
    )


def ignoring(found: Iterable[Difference], ignored: Iterable[str]) -> tuple[Difference, ...]:
    """Return the differences with those made a note that someone ignores.

    ignored: fields, or the beginnings of fields up to a dot; "driver" and "memory" stand for the device's.
    """
    names = [f"device.{name}" if name in ("driver", "memory", "count", "cores") else name for name in ignored]
    return tuple(
        replace(one, stale=False, why=f"ignored: {one.why}")
        if one.stale and any(one.field == name or one.field.startswith(f"{name}.") for name in names)
        else one
        for one in found
    )


def _engine(measured: Setup, now: Setup) -> Iterator[Difference]:
    was, is_ = measured.engine, now.engine
    rows = (
        ("engine.version", was.version, is_.version, "any release may change acceptance, kernels and scheduling"),
        ("engine.build", was.build, is_.build, "another build runs other kernels"),
        ("engine.profile", was.profile, is_.profile, "the simulated engine does what its profile says"),
    )
    yield from (Difference(field, before, after, why) for field, before, after, why in rows if before != after)


def _device(measured: Setup, now: Setup) -> Iterator[Difference]:
    pairs = [(was, is_) for was in measured.devices for is_ in now.devices if was.name == is_.name]
    if not pairs:
        why = "how much a draft brings depends on what the device computes and reads per second"
        yield Difference("device.name", _names(measured.devices), _names(now.devices), why)
        return
    # Several kinds may have been measured: the answer holds where one of them is here.
    yield from min((tuple(_same_kind(was, is_)) for was, is_ in pairs), key=_severity)


def _names(devices: Iterable[DeviceSetup]) -> str | None:
    return ", ".join(dict.fromkeys(device.name for device in devices)) or None


def _severity(found: tuple[Difference, ...]) -> tuple[int, int]:
    return sum(difference.stale for difference in found), len(found)


def _same_kind(was: DeviceSetup, is_: DeviceSetup) -> Iterator[Difference]:
    if is_.count < was.count:
        yield Difference("device.count", was.count, is_.count, "one engine was spread over more GPUs than are here")
    if was.memory_bytes and is_.memory_bytes and _far(was.memory_bytes, is_.memory_bytes):
        why = "the memory decides how large the KV cache is beside the draft"
        yield Difference("device.memory", was.memory_bytes, is_.memory_bytes, why)
    if was.driver and is_.driver and was.driver != is_.driver:
        if _branch(was.driver) != _branch(is_.driver):
            yield Difference("device.driver", was.driver, is_.driver, "another branch of the driver times kernels anew")
        else:
            yield Difference("device.driver", was.driver, is_.driver, "a patch of the same branch", stale=False)
    if was.cores and is_.cores and was.cores != is_.cores:
        yield Difference("device.cores", was.cores, is_.cores, "the engine computes on these cores")


def _far(was: int, is_: int) -> bool:
    return abs(is_ - was) > MEMORY_TOLERANCE * was


def _branch(driver: str) -> str:
    return driver.partition(".")[0]


def _target(measured: Setup, now: Setup) -> Iterator[Difference]:
    yield from _model("target", measured.target, now.target, needed=True)


def _drafts(measured: Setup, now: Setup) -> Iterator[Difference]:
    for name in dict.fromkeys((*measured.drafts, *now.drafts)):
        was, is_ = measured.drafts.get(name), now.drafts.get(name)
        if was is not None and is_ is not None:
            yield from _model(f"draft.{name}", was, is_, needed=name in measured.deployed)
        elif is_ is not None:
            yield Difference(f"draft.{name}", None, is_.id, "it was not tried then, and may be the better one")
        elif was is not None:
            yield Difference(f"draft.{name}", was.id, None, "it is not tried now", stale=name in measured.deployed)


_WHY_PART = {
    "config": "the configuration decides what is computed",
    "tokenizer": "other tokens mean other steps, and a draft must share them",
    "generation": "its sampling defaults hold for every request that names none",
    "weights": "other weights say other words, and a draft agrees with them more or less often",
}


def _model(field: str, was: ModelSetup, is_: ModelSetup, *, needed: bool) -> Iterator[Difference]:
    if is_.missing:
        if needed:
            yield Difference(field, was.id, None, is_.missing)
        return
    if was.hash is None or is_.hash is None:
        return
    if was.of != "content" or is_.of != "content":
        if was.hash != is_.hash:
            yield Difference(field, was.id, is_.id, "only names were compared, and they are not the same")
        return
    if was.scheme != is_.scheme:
        yield from _by_size(field, was, is_)
    elif was.hash != is_.hash:
        yield from _by_part(field, was, is_)
    elif was.revision and is_.revision and was.revision != is_.revision:
        yield Difference(f"{field}.revision", was.revision, is_.revision, "with the same content", stale=False)


def _by_size(field: str, was: ModelSetup, is_: ModelSetup) -> Iterator[Difference]:
    if was.weight_bytes != is_.weight_bytes:
        yield Difference(f"{field}.weights", was.weight_bytes, is_.weight_bytes, _WHY_PART["weights"])
    else:
        why = "another version of tuner made this hash: only the size of the weights could be compared, and it is equal"
        yield Difference(f"{field}.scheme", was.scheme, is_.scheme, why, stale=False)


def _by_part(field: str, was: ModelSetup, is_: ModelSetup) -> Iterator[Difference]:
    changed = [part for part in _WHY_PART if was.parts.get(part) != is_.parts.get(part)]
    for part in changed:
        yield Difference(f"{field}.{part}", was.parts.get(part), is_.parts.get(part), _WHY_PART[part])
    if not changed:
        yield Difference(field, was.hash, is_.hash, "the content is another")


def _environment(measured: Setup, now: Setup) -> Iterator[Difference]:
    for name in sorted({*measured.env, *now.env}):
        was, is_ = measured.env.get(name), now.env.get(name)
        if is_ is None:
            why = "not set here; serve.env and the exported manifests set it"
            yield Difference(f"env.{name}", was, None, why, stale=False)
        elif was != is_:
            yield Difference(f"env.{name}", was, is_, "an engine started from here reads it, and figures may change")


def _eval_sets(measured: Setup, now: Setup) -> Iterator[Difference]:
    yield from _by_name("eval_sets", measured.eval_sets, now.eval_sets, "other prompts are accepted at another rate")


def _engine_args(measured: Setup, now: Setup) -> Iterator[Difference]:
    yield from _by_name("engine_args", measured.engine_args, now.engine_args, "the engine was run with other arguments")


def _by_name(
    field: str, was: Mapping[str, Json] | None, is_: Mapping[str, Json] | None, why: str
) -> Iterator[Difference]:
    if was is None or is_ is None:
        return
    for name in sorted({*was, *is_}):
        if was.get(name) != is_.get(name):
            yield Difference(f"{field}.{name}", was.get(name), is_.get(name), why)


def _load_points(measured: Setup, now: Setup) -> Iterator[Difference]:
    was, is_ = measured.load_points, now.load_points
    if was is not None and is_ is not None and set(was) != set(is_):
        why = "figures at other load points cannot be held against each other"
        yield Difference("load_points", [*sorted(was)], [*sorted(is_)], why)
