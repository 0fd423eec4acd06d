"""vLLM's own speculation flags in a search space, most of them gone from vLLM too: each with its new place.

Up to 0.8.4 speculation was a dozen flags; since then it is one JSON value, `--speculative-config`. Guides, scripts and
answers on the web still show the flags, so whoever pastes them gets the form that this file has, with their values.
Read from the engine arguments and help texts of vLLM 0.4 to 0.33.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import yaml

from tuner.errors import SpaceError
from tuner.records import Json
from tuner.space.availability import guessed_method
from tuner.space.methods import METHODS
from tuner.space.yaml_lines import Loc, YamlText


class Place(StrEnum):
    """Where a flag's value goes."""

    METHOD = "method"
    MODEL = "model"
    K = "k"
    OPTION = "options"
    CONFIG = "config"
    NOWHERE = "nowhere"


@dataclass(frozen=True)
class OldFlag:
    """One flag.  key: the option that has the value now.  method: the only one that it is for.  note: a sentence."""

    place: Place
    key: str = ""
    method: str = ""
    note: str = ""


def _option(key: str, method: str = "", note: str = "") -> OldFlag:
    return OldFlag(Place.OPTION, key, method, note)


_NO_EFFECT = OldFlag(Place.NOWHERE, note="leave it out: the engine has one block manager, and the flag does nothing.")
OLD_FLAGS: Mapping[str, OldFlag] = {
    "speculative_model": OldFlag(Place.MODEL),
    "spec_model": OldFlag(Place.MODEL),
    "spec_method": OldFlag(Place.METHOD),
    "num_speculative_tokens": OldFlag(Place.K),
    "spec_tokens": OldFlag(Place.K),
    "speculative_config": OldFlag(Place.CONFIG),
    "sc": OldFlag(Place.CONFIG),
    "speculative_draft_tensor_parallel_size": _option("draft_tensor_parallel_size"),
    "spec_draft_tp": _option("draft_tensor_parallel_size"),
    "speculative_model_uses_tp_1": OldFlag(
        Place.NOWHERE, note="write `options: {draft_tensor_parallel_size: 1}` in the draft."
    ),
    "speculative_model_quantization": _option("quantization"),
    "speculative_max_model_len": _option("max_model_len"),
    "ngram_prompt_lookup_max": _option("prompt_lookup_max", "ngram"),
    "ngram_prompt_lookup_min": _option("prompt_lookup_min", "ngram"),
    "speculative_disable_by_batch_size": _option(
        "disable_by_batch_size",
        note="from 0.24.0 on a K schedule does this; the tuner derives one and measures it (`protocol: schedule`).",
    ),
    "speculative_disable_mqa_scorer": _option("disable_mqa_scorer"),
    "spec_decoding_acceptance_method": _option(
        "acceptance_method",
        note="from 0.10.0 on verification is exact unless `rejection_sample_method` (0.18.0 on) says otherwise.",
    ),
    "typical_acceptance_sampler_posterior_threshold": _option("posterior_threshold"),
    "typical_acceptance_sampler_posterior_alpha": _option("posterior_alpha"),
    "disable_logprobs_during_spec_decoding": _option("disable_logprobs"),
    "use_v2_block_manager": _NO_EFFECT,
    "num_lookahead_slots": OldFlag(Place.NOWHERE, note="leave it out: the engine works it out from K."),
}
"""By name with underscores."""

OLD_METHODS: Mapping[str, str] = {"[ngram]": "ngram", "prompt_lookup": "ngram"}
"""Names of methods that became others, beside those of models' MTP layers (`deepseek_mtp` ...), which are all mtp."""

_WRITTEN_ELSEWHERE = {"num_speculative_tokens": Place.K, "method": Place.METHOD, "model": Place.MODEL}


def flag_name(key: object) -> str:
    """Return `--Some-flag` as `some_flag`."""
    return str(key).strip().lstrip("-").replace("-", "_").lower()


def new_method(name: str) -> str | None:
    """Return what a method's old name is now, None if it is no old name."""
    return OLD_METHODS.get(name) or ("mtp" if name.endswith("_mtp") else None)


def old_flag(yaml_text: YamlText, loc: Loc) -> SpaceError | None:
    """Return the error for a key that is one of vLLM's old flags, None if it is none.

    All old flags that stand beside it are answered together, with the YAML that says the same.
    """
    if not _row(loc[-1]):
        return None
    around = _at(yaml_text.value, loc[:-1])
    assert isinstance(around, dict)
    found = {str(key): value for key, value in around.items() if _row(key)}
    names = ", ".join(repr(key) for key in found)
    each = "is a flag" if len(found) == 1 else "are flags"
    message = f"{names} {each} of vLLM's command line, not {'a key' if len(found) == 1 else 'keys'} here."
    return yaml_text.error(loc, message, new_form(found, _draft_around(yaml_text.value, loc)))


def new_form(flags: Mapping[str, Json], draft: Mapping[str, Json] | None = None) -> str:
    """Return the YAML that says in a search space what `flags` say on vLLM's command line, and what else to know.

    draft: the entry of `drafts` in which they stand, None if they stand elsewhere; what it holds already is kept.
    """
    form = _Form(inside=draft is not None)
    if draft is not None:
        kept = {key: value for key, value in draft.items() if not _row(key) and key != "options"}
        form.draft.update(kept)
        if isinstance(options := draft.get("options"), dict):
            form.options.update({key: value for key, value in options.items() if not _row(key)})
    for key, value in flags.items():
        form.take(key, value)
    text = form.text()
    lines = ["Write:", *(f"  {line}" for line in text.splitlines())] if text else []
    return "\n".join([*lines, *dict.fromkeys(form.notes)])


def changed_draft(yaml_text: YamlText, loc: Loc, **changes: Json) -> str:
    """Return the YAML of the draft around `loc` with other values for some of its keys; None leaves a key out."""
    draft = _at(yaml_text.value, loc[:2])
    assert isinstance(draft, dict)
    return new_form({}, {key: value for key, value in {**draft, **changes}.items() if value is not None})


@dataclass
class _Form:
    """A draft that grows by one flag after the other.  inside: the draft is there already, and K goes into it."""

    inside: bool
    draft: dict[str, Json] = field(default_factory=dict)
    options: dict[str, Json] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    k: Json = None
    notes: list[str] = field(default_factory=list)

    def take(self, key: str, value: Json) -> None:
        row = _row(key)
        assert row is not None
        if row.note:
            self.notes.append(f"{flag_name(key)}: {row.note}")
        if row.place is Place.CONFIG:
            self._take_config(value, flag_name(key).partition(".")[2])
        else:
            self._put(row.place, row.key, value)
        if row.method:
            self.draft["method"] = row.method

    def _take_config(self, value: Json, dotted: str) -> None:
        """Take the value of --speculative-config, as a mapping, as JSON text, or one key of it after a dot."""
        if isinstance(value, str) and not dotted:
            try:
                value = json.loads(value)
            except ValueError:
                self.notes.append("speculative_config: its value is no JSON, so it could not be taken over.")
        inner = {dotted: value} if dotted else value
        for key, part in inner.items() if isinstance(inner, dict) else ():
            name = flag_name(key)
            if name in OLD_FLAGS and name not in _WRITTEN_ELSEWHERE:
                self.take(name, part)
            elif name == "tensor_parallel_size":
                self._put(Place.OPTION, "draft_tensor_parallel_size", part)
            else:
                self._put(_WRITTEN_ELSEWHERE.get(name, Place.OPTION), name, part)

    def _put(self, place: Place, key: str, value: Json) -> None:
        match place:
            case Place.K:
                self.k = value
                if not isinstance(value, list):
                    self.notes.append("k may also be [1, 3, 5] or {min: 1, max: 8}: each of them can be measured.")
            case Place.METHOD:
                self.draft["method"] = new_method(str(value)) or value
            case Place.MODEL:
                self._put_model(value)
            case Place.OPTION:
                self.options[key] = value
                if until := _until(key):
                    self.notes.append(f"{key}: the last release that has it is {until}.")

    def _put_model(self, value: Json) -> None:
        if value in ("ngram", "[ngram]", ["ngram"]):  # YAML reads [ngram] as a list of one.
            self.draft["method"] = "ngram"
            return
        self.models = [str(model) for model in value] if isinstance(value, list) else [str(value)]

    def text(self) -> str:
        """Return the YAML, "" if nothing was said that has a place."""
        if self.inside and self.k is not None:
            self.draft["k"] = self.k
        models: list[str | None] = [*self.models] or [None]
        parts: list[Json] = [dict(part) for model in models if (part := self._part(model))]
        k = "" if self.k is None or self.inside else f"k: {json.dumps(self.k)}\n"
        drafts = {"drafts": parts}
        dump = yaml.safe_dump(drafts, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
        return k + (dump if parts else "")

    def _part(self, model: str | None) -> dict[str, Json]:
        if not (model or self.draft or self.options):
            return {}
        model = model or (str(self.draft["model"]) if self.draft.get("model") else None)
        guess = guessed_method("draft_model", model or "")
        method = self.draft.get("method") or (guess[0] if guess else "draft_model" if model else "METHOD")
        rest = {key: value for key, value in self.draft.items() if key not in ("method", "model")}
        return {
            "method": method,
            **({"model": model} if model else {}),
            **rest,
            **({"options": self.options} if self.options else {}),
        }


def _row(key: object) -> OldFlag | None:
    name, dot, _ = flag_name(key).partition(".")
    row = OLD_FLAGS.get(name)
    return row if row is None or not dot or row.place is Place.CONFIG else None


def _until(option: str) -> str | None:
    rows = (method.options[option] for method in METHODS.values() if option in method.options)
    return next((row.until for row in rows if row.until), None)


def _at(value: Json, loc: Iterable[str | int]) -> Json:
    for step in loc:
        value = value[step]  # type: ignore[index]
    return value


def _draft_around(value: Json, loc: Loc) -> Mapping[str, Json] | None:
    if len(loc) < 3 or loc[0] != "drafts":
        return None
    draft = _at(value, loc[:2])
    return draft if isinstance(draft, dict) else None
