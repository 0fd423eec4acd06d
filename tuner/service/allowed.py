"""What may be swept: names, each with what it stands for on this server. A request has the names alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tuner.service.problems import Refused
from tuner.space.model_refs import settle_model
from tuner.space.yaml_lines import read_yaml

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
Given = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
_FILES = (".yaml", ".yml", ".jsonl")
_HOW = "Keys: targets, spaces, eval_sets, engines, download (docs/serving.md)."


class AllowedTarget(BaseModel):
    """model: directory or hub id.  drafts: models to try beside those of the space."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Given
    drafts: tuple[Given, ...] = ()


class Order(BaseModel):
    """A sweep that is asked for, by names on the server's allow-list.

    eval_set: in place of the space's own.  if_stale: end at once where the last sweep of the target still holds.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"target": "qwen3-14b", "space": "default", "engine": "vllm"}]},
    )

    target: Name = Field(examples=["qwen3-14b"])
    space: Name = Field(examples=["default"])
    engine: Name = Field(examples=["vllm"])
    eval_set: Name | None = Field(default=None, examples=["chat"])
    if_stale: Annotated[bool, Field(strict=True)] = True


class AllowList(BaseModel):
    """Names to what `tuner sweep` takes: spaces --space, eval_sets --eval-set, engines --engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    targets: dict[Name, AllowedTarget] = Field(min_length=1)
    spaces: dict[Name, Given] = Field(min_length=1)
    eval_sets: dict[Name, Given] = {}
    engines: dict[Name, Given] = Field(min_length=1)
    download: Annotated[bool, Field(strict=True)] = False

    def check(self, order: Order) -> None:
        """Refused, 403, for a name that is not on the list."""
        given: tuple[tuple[str, str | None, Mapping[str, object]], ...] = (
            ("target", order.target, self.targets),
            ("space", order.space, self.spaces),
            ("engine", order.engine, self.engines),
            ("eval_set", order.eval_set, self.eval_sets),
        )
        for kind, name, known in given:
            if name is not None and name not in known:
                names = ", ".join(known) or "none"
                detail = f"This server's allow-list has no {kind} {name!r}."
                raise Refused(403, "not-on-the-allow-list", detail, f"It has: {names}.")

    def arguments(self, order: Order) -> tuple[str, ...]:
        """Return the arguments of `tuner sweep` that the order stands for.  Refused as `check`."""
        self.check(order)
        target = self.targets[order.target]
        return (
            *("--space", self.spaces[order.space]),
            *("--engine", self.engines[order.engine]),
            *(("--eval-set", self.eval_sets[order.eval_set]) if order.eval_set else ()),
            *(argument for draft in target.drafts for argument in ("--draft", draft)),
            *(["--download"] if self.download else ()),
            *(["--if-stale"] if order.if_stale else ()),
            *("--", target.model),
        )


def read_allowed(file: Path) -> AllowList:
    """Return what a file allows.  What is written with a slash or as a file, and is there beside it, is meant so.

    SpaceError, with the line, for a file that cannot be read, is no YAML, or has a key or value that is not known.
    """
    text = read_yaml(file)
    try:
        written = AllowList.model_validate(text.value or {})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        loc = tuple(part for part in first["loc"] if part != "[key]")
        raise text.error(loc, f"{'.'.join(map(str, loc)) or 'the file'}: {first['msg']}.", _HOW) from error
    beside = file.absolute().parent

    def settled(name: str, value: str) -> str:
        if value.startswith("-"):
            raise text.error((), f"{name}: {value!r} would be an option.", _HOW)
        path = Path(value).expanduser()
        written_as_path = "/" in value or path.suffix in _FILES
        return str(beside / path) if written_as_path and (beside / path).exists() else value

    def all_settled(names: Mapping[str, str]) -> dict[str, str]:
        return {name: settled(name, value) for name, value in names.items()}

    targets = {
        name: AllowedTarget(
            model=settle_model(settled(name, one.model)),
            drafts=tuple(settle_model(settled(name, draft)) for draft in one.drafts),
        )
        for name, one in written.targets.items()
    }
    changed = {part: all_settled(getattr(written, part)) for part in ("spaces", "eval_sets", "engines")}
    return written.model_copy(update={"targets": targets, **changed})
