"""Records and samples as bytes, each with what it takes to notice damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from tuner.records import RECORD_VERSION, FingerprintParts, Json, RequestSample, RunManifest, TrialRecord

if TYPE_CHECKING:
    import pyarrow as pa


class Damaged(ValueError):
    """A file does not hold what was written to it.  The text is the reason, for a person."""


@dataclass(frozen=True)
class StoredRecord:
    """A decoded `record.json`.  run: short hash of the run's fingerprint; samples_sha256: of `samples.parquet`."""

    record: TrialRecord
    run: str
    samples_sha256: str


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hex digits."""
    return hashlib.sha256(data).hexdigest()


def seal(body: Mapping[str, Json]) -> bytes:
    """Return JSON for people, with a checksum over its content.

    ValueError for a number that JSON does not have: an undefined figure is None, never NaN.
    """
    sealed = {**body, "sha256": _checksum(body)}
    return json.dumps(sealed, indent=1, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n"


def unseal(data: bytes) -> dict[str, Json]:
    """Return what `seal` was given.  Damaged if a byte of the content is another."""
    if not data.strip():
        raise Damaged("it is empty")
    try:
        body = json.loads(data)
        if not isinstance(body, dict) or "sha256" not in body:
            raise Damaged("it has no checksum")
        if body.pop("sha256") != _checksum(body):
            raise Damaged("its content does not match its checksum")
    except Damaged:
        raise
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, a number of thousands of digits, nested too deep
        raise Damaged(f"it is not JSON: {error}") from error
    return body


def _checksum(body: Mapping[str, Json]) -> str:
    # ASCII escapes, because text from an engine may hold lone surrogates, which have no UTF-8 form.
    return sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode("ascii"))


@cache
def _record_adapter() -> TypeAdapter[TrialRecord]:
    return TypeAdapter(TrialRecord)


def encode_record(stored: StoredRecord) -> bytes:
    """Return the bytes of `record.json`."""
    record = _record_adapter().dump_python(stored.record, mode="json")
    return seal({"run": stored.run, "samples_sha256": stored.samples_sha256, "record": record})


def decode_record(data: bytes) -> StoredRecord:
    """Return the content of `record.json`.  Damaged if it is not what `encode_record` wrote."""
    body = unseal(data)
    record, run, samples = body.get("record"), body.get("run"), body.get("samples_sha256")
    if not isinstance(record, dict) or not isinstance(run, str) or not isinstance(samples, str):
        raise Damaged("it is no trial record")
    if record.get("version") != RECORD_VERSION:
        raise Damaged(f"it has record version {record.get('version')}, this tuner reads {RECORD_VERSION}")
    try:
        return StoredRecord(_record_adapter().validate_python(record), run, samples)
    except ValidationError as error:
        raise Damaged(wrong_field(error)) from error


def wrong_field(error: ValidationError) -> str:
    """Return the first field that is not what it should be, and why, for a person."""
    first = error.errors(include_url=False)[0]
    return f"field {'.'.join(map(str, first['loc']))}: {first['msg']}"


@cache
def _manifest_adapter() -> TypeAdapter[RunManifest]:
    return TypeAdapter(RunManifest)


def encode_manifest(manifest: RunManifest) -> dict[str, Json]:
    """Return a manifest as JSON has it."""
    dumped: dict[str, Json] = _manifest_adapter().dump_python(manifest, mode="json")
    return dumped


def decode_manifest(details: Mapping[str, Json]) -> RunManifest:
    """Return what `encode_manifest` was given.  Damaged if it is something else."""
    try:
        return _manifest_adapter().validate_python(details)
    except ValidationError as error:
        raise Damaged(f"manifest, {wrong_field(error)}") from error


@cache
def _parts_adapter() -> TypeAdapter[FingerprintParts]:
    return TypeAdapter(FingerprintParts)


def check_fingerprint(fingerprint: Mapping[str, Json]) -> None:
    """Raise Damaged for a fingerprint whose parts are something else than those that are read of it."""
    try:
        _parts_adapter().validate_python(fingerprint)
    except ValidationError as error:
        raise Damaged(f"fingerprint, {wrong_field(error)}") from error


def encode_samples(samples: Sequence[RequestSample]) -> bytes:
    """Return a Parquet file with one row per request and one column per field of RequestSample (seconds, tokens)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [field.name for field in fields(RequestSample)]
    columns = {name: [_storable(getattr(sample, name)) for sample in samples] for name in names}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=_schema()), sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode_samples(data: bytes) -> tuple[RequestSample, ...]:
    """Return the samples of a Parquet file that `encode_samples` wrote.  Damaged if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(pa.BufferReader(data)).to_pylist()
        return tuple(RequestSample(**{name: _tupled(value) for name, value in row.items()}) for row in rows)
    except (pa.ArrowException, OSError, TypeError, ValueError) as error:
        raise Damaged(f"it is no table of requests: {error}") from error


def _storable(value: Any) -> Any:
    # Arrow's strings are UTF-8; a lone surrogate in a model's output must not cost the whole trial.
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    text, whole, real = pa.string(), pa.int64(), pa.float64()
    types = {
        "load_point": text,
        "repeat": whole,
        "index": whole,
        "prompt_id": text,
        "category": text,
        "sent_s": real,
        "first_token_s": real,
        "last_token_s": real,
        "prompt_tokens": whole,
        "completion_tokens": whole,
        "finish_reason": text,
        "text": text,
        "token_ids": pa.list_(whole),
        "chunk_tokens": pa.list_(whole),
        "chunk_times_s": pa.list_(real),
        "error": text,
        "top2_gaps": pa.list_(real),
        "correct": pa.bool_(),
    }
    return pa.schema([(field.name, types[field.name]) for field in fields(RequestSample)])
