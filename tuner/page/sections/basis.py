"""What the answer rests on: its certainty, the engine's memory, and where everything comes from."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from tuner.page.given import Given, by_k
from tuner.page.view import Block, Code, Details, Facts, Markdown, Points, Table, Text, texts
from tuner.page.words import Words
from tuner.records import EngineMemory, LoadPoint, Notice, Role, TrialRecord, short_hash
from tuner.words import ROLE_WORDS, duration, engine_words, full_label, times

GIB = 2**30
MEMORY_COLUMNS = (
    "col_weights",
    "col_kv_bytes",
    "col_kv_tokens",
    "col_kv_requests",
    "col_graphs",
    "col_other",
    "col_context",
)


def sure_blocks(given: Given) -> Iterator[Block]:
    """Yield what fresh lives said, how far the baseline drifted and how many repeats were disturbed."""
    words = given.words
    if given.parts["lives"]:
        yield Markdown(tuple(given.parts["lives"][1:]))
    else:
        yield Text(words("no_fresh_lives"))
    rows = [
        texts((load.label, times(figure), f"{figure.n} {figure.n_of}"))
        for load in given.manifest.load_points
        for key, figure in given.findings.drift.items()
        if key.endswith(f" {load.key}")
    ]
    if rows:
        yield Table(words("drift_of"), texts([words(n) for n in ("col_load", "col_drift", "col_n")]), tuple(rows))
    else:
        yield Text(words("no_drift"))
    yield Text(_disturbed(given))


def _disturbed(given: Given) -> str:
    repeats = [r for trial in given.trials for load in trial.record.loads for r in load.repeats]
    disturbed = [repeat for repeat in repeats if repeat.disturbances]
    if not disturbed:
        return given.words("undisturbed", of=len(repeats))
    return given.words("disturbed", n=len(disturbed), of=len(repeats), first=disturbed[0].disturbances[0])


def memory_blocks(given: Given) -> Iterator[Block]:
    """Yield what engines said about their memory; nothing where none did."""
    words = given.words
    first: dict[str, TrialRecord] = {}
    for trial in given.trials:
        record = trial.record
        if record.engine is not None and (record.engine.memory or record.engine.kv_cache_tokens):
            first.setdefault(record.candidate.key, record)
    if not first:
        return
    yield Text(words("memory_about"))
    records = sorted(first.values(), key=lambda record: by_k(record.candidate))
    rows = [memory_cells(record) for record in records]
    used = used_columns(rows)
    head = [words("col_candidate"), *(words(MEMORY_COLUMNS[i]) for i in used)]
    names = [full_label(record.candidate, given.names) for record in records]
    body = tuple(texts((name, *(row[i] for i in used))) for name, row in zip(names, rows, strict=True))
    yield Table(words("memory_of"), texts(head), body)
    notices = [notice for notice in given.manifest.notices if "memory" in notice.code]
    if notices:
        yield Points(tuple(_noticed(notice, words) for notice in notices))


def _noticed(notice: Notice, words: Words) -> str:
    """Return what was planned before an engine started, and what can be changed."""
    if not notice.next_step:
        return words("memory_unplanned", subject=notice.subject, what=notice.what)
    return words("memory_planned", what=notice.what, step=notice.next_step)


def used_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return which columns have text in any of the rows."""
    return [i for i in range(len(MEMORY_COLUMNS)) if any(row[i] for row in rows)]


def memory_cells(record: TrialRecord) -> tuple[str, ...]:
    """Return what an engine said about its memory, in the order of MEMORY_COLUMNS; "" for what it did not say."""
    engine = record.engine
    if engine is None:
        return ("",) * len(MEMORY_COLUMNS)
    memory = engine.memory or EngineMemory()
    return (
        _gib(memory.weights_bytes),
        _gib(memory.kv_bytes),
        f"{engine.kv_cache_tokens:,}" if engine.kv_cache_tokens else "",
        f"{memory.kv_requests:.1f}" if memory.kv_requests else "",
        _gib(memory.graph_bytes),
        _gib(memory.other_bytes),
        f"{engine.max_model_len:,}" if engine.max_model_len else "",
    )


def _gib(number: int | None) -> str:
    return "" if number is None else f"{number / GIB:.2f} GiB"


def repeat_blocks(given: Given) -> Iterator[Block]:
    """Yield the command line that measures the same again, and everything that it depends on."""
    words, manifest = given.words, given.manifest
    if manifest.repeat_with:
        yield Code(words("repeat_with"), shlex.join(manifest.repeat_with))
    else:
        yield Text(words("no_repeat"))
    yield Facts(tuple(_facts(given)))
    yield Markdown(tuple(given.parts["basis"][1:]))
    if manifest.space_source:
        yield Details(words("space_source"), (Code(manifest.space, manifest.space_source),))


def _facts(given: Given) -> Iterator[tuple[str, str]]:
    words, manifest, records = given.words, given.manifest, [trial.record for trial in given.trials]
    yield words("fact_target"), _revised(manifest.target, manifest.target_revision)
    for name, source in _drafts(records).items():
        yield words("fact_draft", name=name), _revised(source, manifest.draft_revisions.get(name))
    wheel = f", {manifest.engine_wheel}" if manifest.engine_wheel else ""
    yield words("fact_engine"), engine_words(manifest.engine_version, manifest.engine_build) + wheel
    yield words("fact_devices"), "; ".join(_devices(records))
    yield words("fact_loads"), "; ".join(_load_words(load) for load in manifest.load_points)
    if manifest.env:
        yield words("fact_env"), " ".join(f"{name}={value}" for name, value in sorted(manifest.env.items()))
    roles = [role for role in Role if any(record.role is role for record in records)]
    yield words("fact_lives"), ", ".join(f"{sum(r.role is role for r in records)} {ROLE_WORDS[role]}" for role in roles)
    yield words("fact_when"), f"{records[0].started_at} - {records[-1].started_at}"
    yield words("fact_took"), duration(sum(record.phases.total_s for record in records))
    yield words("fact_tuner"), manifest.tuner_version
    yield words("fact_run"), short_hash(dict(given.fingerprint), 16)


def _revised(name: str, revision: str | None) -> str:
    return f"{name} @ {revision}" if revision else name


def _drafts(records: Sequence[TrialRecord]) -> dict[str, str]:
    specs = [record.candidate.speculation for record in records]
    return {spec.draft_name: spec.draft or spec.method for spec in specs if spec is not None}


def _devices(records: Sequence[TrialRecord]) -> list[str]:
    found = dict.fromkeys((r.worker.device, r.worker.memory_bytes, r.worker.driver) for r in records)
    return [
        " ".join(filter(None, [device, _gib(memory), f"(driver {driver})" if driver else ""]))
        for device, memory, driver in found
    ]


def _load_words(load: LoadPoint) -> str:
    return f"{load.label} (weight {load.weight:g})"
