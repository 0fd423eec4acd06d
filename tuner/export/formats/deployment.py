"""What is to be deployed: one setting of an artifact, with the models where production has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tuner.artifact import model
from tuner.artifact.beside import ConcurrencyLimit
from tuner.artifact.beside import Speculation as Recommended
from tuner.errors import ArtifactError
from tuner.records import Candidate, Json, Speculation
from tuner.records.redaction import is_secret_name
from tuner.space.methods import speculative_config
from tuner.space.model_refs import resolve_candidate, resolve_model
from tuner.space.versions import parse_release

ENGINE_PORT = 8000
"""vLLM's own default."""
HUB_CACHE = "/root/.cache/huggingface"
"""Where the images keep what they download."""
START_LIMIT_S = 1800
"""How long an engine may take to be ready: it downloads, loads and compiles."""

_SECRET_ARGS = frozenset({"api_key", "hf_token", "ssl_keyfile_password"})
_IMAGES = {"cuda": "vllm/vllm-openai", "cpu": "vllm/vllm-openai-cpu"}
_NAME_LENGTH = 30
"""Charts and KServe add their own parts to a name of at most 63 characters."""


class Setting(StrEnum):
    """Which of an answer's settings.

    RECOMMENDED: what its serve_config holds.  BASELINE: without speculation.  STATIC: at one K, where the recommended
    one has a K schedule.  LIMITED: of `speculate_below`, what pays up to the limit.
    """

    RECOMMENDED = "recommended"
    BASELINE = "baseline"
    STATIC = "static"
    LIMITED = "limited"


@dataclass(frozen=True)
class Choices:
    """What the user chose.

    temperature: of the answer, None for the first.  target_path, draft_path: where the models are in production, None
    for where they were measured.  port: None for the engine's own default, unpublished.
    """

    setting: Setting = Setting.RECOMMENDED
    temperature: float | None = None
    target_path: str | None = None
    draft_path: str | None = None
    port: int | None = None


@dataclass(frozen=True)
class Deployment:
    """What every format writes.

    target: as the engine opens it.  candidate: engine arguments and speculation, its draft as the engine opens it.
    env: without secrets.  engine, devices: what was measured.  name: safe in DNS, different for each setting.
    about: comment lines.  notes: what whoever deploys should know beside them.
    """

    target: str
    candidate: Candidate
    env: Mapping[str, str]
    engine: model.Engine
    devices: tuple[str, ...]
    name: str
    temperature: float
    about: tuple[str, ...]
    port: int | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def speculative_config(self) -> dict[str, Json] | None:
        """The value of --speculative-config, None without speculation."""
        return speculative_config(self.candidate.speculation) if self.candidate.speculation else None

    @property
    def serving_port(self) -> int:
        """The port that the engine listens on."""
        return self.port or ENGINE_PORT

    @property
    def gpus(self) -> int:
        """How many GPUs one engine takes on one host, 0 where it was measured without any."""
        if self.engine.build == "cpu":
            return 0
        args = self.candidate.engine_args
        replicas = args.get("data_parallel_size_local") or args.get("data_parallel_size")
        return _count(args.get("tensor_parallel_size")) * _count(args.get("pipeline_parallel_size")) * _count(replicas)

    @property
    def image(self) -> str:
        """The container image of the measured engine."""
        if self.engine.image:
            return self.engine.image
        release = parse_release(self.engine.version)
        tag = "v" + ".".join(map(str, release)) if release else "latest"
        suffix = re.search(r"\.post\d+", self.engine.version)
        return f"{_IMAGES.get(self.engine.build, _IMAGES['cuda'])}:{tag}{suffix[0] if suffix else ''}"

    @property
    def local_models(self) -> tuple[tuple[str, str], ...]:
        """Role and directory of each model that has to be where the engine runs."""
        return tuple((role, ref) for role, ref in self._models() if ref.startswith("/"))

    @property
    def fetches(self) -> bool:
        """Whether a model comes from a hub."""
        return any(not ref.startswith("/") and "://" not in ref for _, ref in self._models())

    def _models(self) -> list[tuple[str, str]]:
        spec = self.candidate.speculation
        draft = spec.draft if spec and spec.method != "custom_class" else None
        return [("target", self.target), *([("draft", draft)] if draft else [])]


def deployment(config: model.BestConfig, choices: Choices) -> Deployment:
    """Return what `choices` ask for.

    Raises ArtifactError where the artifact has no such temperature or setting, or names what cannot be deployed.
    """
    answer = _answer(config, choices.temperature)
    engine_args, speculation = _setting(answer, choices.setting)
    kept = {name: value for name, value in engine_args.items() if name not in _SECRET_ARGS}
    env = {name: value for name, value in config.environment.items() if not is_secret_name(name)}
    target = resolve_model(choices.target_path or config.target)
    candidate = resolve_candidate(Candidate(kept, _speculation(speculation, choices.draft_path)))
    _check(target, candidate, env)
    found = Deployment(
        target=target,
        candidate=candidate,
        env=env,
        engine=config.measured_on.engine,
        devices=config.measured_on.devices,
        name=_name(target, choices.setting),
        temperature=answer.temperature,
        about=_about(config, answer, choices.setting, target, candidate.speculation),
        port=choices.port,
    )
    left_out = [*(name for name in engine_args if name not in kept), *(n for n in config.environment if n not in env)]
    return replace(found, notes=_notes(found, choices, left_out))


def _answer(config: model.BestConfig, temperature: float | None) -> model.Answer:
    found = [answer for answer in config.answers if temperature in (None, answer.temperature)]
    if not found:
        measured = ", ".join(f"{answer.temperature:g}" for answer in config.answers)
        raise ArtifactError(f"nothing was measured at temperature {temperature:g}", f"Measured: {measured}.")
    return found[0]


def _setting(answer: model.Answer, setting: Setting) -> tuple[Mapping[str, Json], Recommended | None]:
    """Return engine arguments and speculation."""
    chosen = answer.recommended
    if setting is Setting.BASELINE:
        return chosen.engine_args, None
    if setting is Setting.LIMITED:
        if chosen.limit is None:
            raise ArtifactError(
                f"the verdict is {answer.verdict.value}, which has no limit of concurrency",
                "Export without --limited: that is what is recommended.",
            )
        return chosen.limit.engine_args, chosen.limit.speculation
    if setting is Setting.STATIC and chosen.static_serve_config is not None:
        if chosen.static_speculation is None:
            raise ArtifactError(
                f"this artifact does not say which K {chosen.static_serve_config} has",
                f"Use {chosen.static_serve_config}, or let `tuner report RUN` write the artifact again.",
            )
        return chosen.engine_args, chosen.static_speculation
    return chosen.engine_args, chosen.speculation


def _speculation(chosen: Recommended | None, draft_path: str | None) -> Speculation | None:
    if chosen is None:
        return None
    elsewhere = draft_path if chosen.draft is not None and chosen.method != "custom_class" else None
    draft = elsewhere or chosen.draft
    return Speculation(chosen.method, chosen.num_speculative_tokens, chosen.method, draft, dict(chosen.options))


def _check(target: str, candidate: Candidate, env: Mapping[str, str]) -> None:
    draft = candidate.speculation.draft if candidate.speculation else None
    for ref in (target, *((draft,) if draft else ())):
        if not ref.strip() or ref.startswith("-") or "\0" in ref:
            raise ArtifactError(f"{ref!r} is no model", "Name a directory or a hub id.")
    for name, value in env.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in value:
            raise ArtifactError(f"{name!r} is no environment variable that can be set", "Let `tuner report RUN` write.")


def _name(target: str, setting: Setting) -> str:
    """Return a DNS label.  It begins with llm-: a service named vllm would set VLLM_PORT, which engines misread."""
    mark = "" if setting is Setting.RECOMMENDED else f"-{setting.value}"
    last = re.sub(r"[^a-z0-9]+", "-", target.rstrip("/").rpartition("/")[2].lower())
    readable = last[: _NAME_LENGTH - len("llm-") - len(mark)].strip("-") or "model"
    return f"llm-{readable}{mark}"


def _about(
    config: model.BestConfig, answer: model.Answer, setting: Setting, target: str, speculation: Speculation | None
) -> tuple[str, ...]:
    limit = answer.recommended.limit
    drafts = speculation.draft or speculation.method if speculation else ""
    what = f"{drafts}, K = {speculation.num_speculative_tokens}" if speculation else "no speculation"
    on = f"{', '.join(config.measured_on.devices)} with vLLM {config.measured_on.engine.version}"
    return (
        f"{target}: {answer.verdict.value} at temperature {answer.temperature:g}.",
        answer.why,
        f"Here: {what} ({setting.value}). Measured on {on}.",
        *(_limit_words(answer, limit) if limit else ()),
    )


def _limit_words(answer: model.Answer, limit: ConcurrencyLimit) -> tuple[str, ...]:
    files = f"{limit.serve_config} and {answer.recommended.baseline_serve_config}"
    return (*limit.advice, f"As for {files}: `tuner export` writes the same with --limited and --baseline.")


def _notes(found: Deployment, choices: Choices, left_out: list[str]) -> tuple[str, ...]:
    notes = []
    if found.engine.build == "sim":
        notes.append("The figures come from the simulated engine and describe no real model.")
    if re.search(r"dev|rc", found.engine.version):
        notes.append(f"vLLM {found.engine.version} was measured, which is no release: there may be no image of it.")
    if left_out:
        notes.append(f"Left out because it may be a secret: {', '.join(left_out)}.")
    paths = [name for name, value in found.candidate.engine_args.items() if _is_path(value)]
    if paths:
        notes.append(f"Must exist where the engine runs: the paths of {', '.join(paths)}.")
    draft = found.candidate.speculation.draft if found.candidate.speculation else None
    if choices.draft_path and draft != resolve_model(choices.draft_path):
        notes.append("--draft-path changes nothing: this setting loads no draft.")
    return tuple(notes)


def _is_path(value: Json) -> bool:
    return isinstance(value, str) and value.startswith("/")


def _count(value: Json) -> int:
    return value if isinstance(value, int) and value > 0 else 1
