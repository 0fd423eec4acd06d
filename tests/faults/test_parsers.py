"""Hostile and broken text: every reader ends with what it read or a typed error, soon and in bounded memory."""

from __future__ import annotations

import contextlib
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.matrix import Group, fault
from tests.test_store import trial
from tuner.artifact import load_best_config, parse_best_config
from tuner.errors import TunerError
from tuner.registry.entry import decode_entry, encode_entry
from tuner.space.eval_sets import load_eval_set
from tuner.space.importers import import_eval_set
from tuner.space.schema import load_space
from tuner.space.yaml_lines import parse_yaml, read_yaml
from tuner.store.codec import (
    Damaged,
    StoredRecord,
    decode_record,
    decode_samples,
    encode_record,
    encode_samples,
    seal,
    unseal,
)

ROOT = Path(__file__).parents[2]
SPACE = (ROOT / "search_spaces" / "tiny.yaml").read_text()
ARTIFACT = (ROOT / "tests" / "golden" / "artifacts" / "v1-h200-7b.yaml").read_text()
LINE = '{"id": "a-1", "category": "chat", "messages": [{"role": "user", "content": "Hello"}]}\n'
RECORD = encode_record(StoredRecord(trial(1, 3).record, "run", "abc"))
SAMPLES = encode_samples(trial(1, 3).samples)
ENTRY = encode_entry("org/model", "20261201T023005Z", "m", {"best_config.yaml": b"x"})
AT = Path("text")
QUICK_S = 20.0
"""CPU time: far more than any of them takes, far less than one that never ends."""
MB = 1_000_000

few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def read_space(data: bytes, directory: Path) -> None:
    path = directory / "space.yaml"
    path.write_bytes(data)
    load_space(str(path))


def read_artifact(data: bytes, directory: Path) -> None:
    path = directory / "best_config.yaml"
    path.write_bytes(data)
    load_best_config(path)


def read_eval_set(data: bytes, directory: Path) -> None:
    path = directory / "set.jsonl"
    path.write_bytes(data)
    load_eval_set(path)


def read_foreign_set(data: bytes, directory: Path) -> None:
    path = directory / "foreign.json"
    path.write_bytes(data)
    import_eval_set(path)


READERS: dict[str, tuple[Callable[[bytes, Path], object], bytes]] = {
    "space": (read_space, SPACE.encode()),
    "artifact": (read_artifact, ARTIFACT.encode()),
    "eval set": (read_eval_set, LINE.encode() * 3),
    "foreign set": (read_foreign_set, b'{"conversations": [{"from": "human", "value": "Hi"}]}\n' * 3),
    "record": (lambda data, _: decode_record(data), RECORD),
    "samples": (lambda data, _: decode_samples(data), SAMPLES),
    "sealed": (lambda data, _: unseal(data), seal({"a": 1})),
    "entry": (lambda data, _: decode_entry(data, "url"), ENTRY),
}
readers = pytest.mark.parametrize("reader", READERS)


def read(reader: str, data: bytes, directory: Path) -> str:
    """Read, and return what the typed error says, "" for none. Anything else that is raised fails the test."""
    try:
        READERS[reader][0](data, directory)
    except (TunerError, Damaged) as error:
        return str(error)
    return ""


@fault(
    Group.SECURITY,
    "random bytes, or a file with bytes changed, left out or put in, as space, artifact, eval set, record or samples",
    sees="one message with the file, and its line where it has lines",
    keeps="everything",
)
@readers
@few
@given(data=st.data())
def test_changed_bytes_are_read_or_refused(
    reader: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = READERS[reader][1]
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 30)))
    put_in = data.draw(st.binary(max_size=12) | st.sampled_from(WORDS))
    read(reader, whole[:start] + put_in + whole[end:], tmp_path_factory.getbasetemp())
    read(reader, data.draw(st.binary(max_size=60)), tmp_path_factory.getbasetemp())


WORDS = [b"*a", b"&a ", b"!!int ''", b"!!float", b"!!timestamp x", b"!!bool maybe", b"!!python/name:os.system"]
WORDS += [b"<<: ", b"? ", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"\\ud800", b"\xed\xa0\x80", b"\x00", b"\r"]
WORDS += [b"2001-99-99", b"0x", b"1:99", b"\xef\xbb\xbf"]
"""What readers trip over: tags whose values are none, numbers without end, half characters, dates that are none."""

yaml_values = st.recursive(
    st.sampled_from([word.decode("latin-1") for word in WORDS]) | st.text(max_size=4) | st.integers().map(str),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.text("abk<*&?", max_size=2), inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        )
    ),
    max_leaves=8,
)


@few
@given(
    text=yaml_values,
    key=st.sampled_from(["target", "engine_args", "drafts", "load_points", "answers", "schema_version"]),
)
def test_any_yaml_is_read_or_refused(text: str, key: str) -> None:
    with contextlib.suppress(TunerError):
        parse_yaml(f"{key}: {text}\n", AT)
    with contextlib.suppress(TunerError):
        parse_best_config(f"schema_version: 1\nanswers: []\n{key}x: {text}\n", "text")


json_words = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "category",
                    "messages",
                    "prompt",
                    "role",
                    "content",
                    "conversations",
                    "turns",
                    "from",
                    "value",
                    "body",
                    "custom_id",
                    "max_tokens",
                    "reference",
                    "url",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@few
@given(record=json_words)
def test_any_json_line_is_read_or_refused(record: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    line = json.dumps(record).encode() + b"\n"
    for reader in ("eval set", "foreign set"):
        read(reader, line * 2, tmp_path_factory.getbasetemp())


def bomb(levels: int = 12, wide: int = 10) -> str:
    """A few hundred bytes that stand for wide ** levels values (the "billion laughs")."""
    lines = ["a0: &a0 x"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * wide)}]" for n in range(1, levels)]
    return "\n".join(lines)


def chain(length: int) -> str:
    """Aliases of aliases: flat as it is written, nested as deep as it is long."""
    return "\n".join(["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, length)])


HOSTILE = {
    "aliases that multiply": lambda: bomb().encode(),
    "aliases that nest": lambda: chain(3_000).encode(),
    "brackets that nest": lambda: b"a: " + b"[" * 100_000,
    "braces that nest": lambda: b'{"a":' * 100_000,
    "a first line that nests": lambda: b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "a key of 20 MB": lambda: b'{"' + b"k" * (20 * MB) + b'": 1}\n',
    "a number of a million digits": lambda: b'{"id": ' + b"9" * MB + b"}\n",
    "an id 5 000 times": lambda: LINE.encode() * 5_000,
}


@contextlib.contextmanager
def bounded(bytes_read: int) -> Iterator[None]:
    """Fail where it takes long, or far more memory than what is read."""
    began_s = time.process_time()
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - began_s < QUICK_S
    assert peak < 8 * bytes_read + 100 * MB, f"{peak / MB:.0f} MB for {bytes_read / MB:.1f} MB"


@fault(
    Group.SECURITY,
    "YAML alias bombs, nesting without end, lines of 100 MB, numbers of a million digits, one id thousands of times",
    sees="one short message",
    keeps="everything, in bounded time and memory",
)
@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("reader", ["space", "artifact", "eval set", "foreign set", "record"])
def test_hostile_text_is_refused_soon_and_briefly(reader: str, hostile: str, tmp_path: Path) -> None:
    data = HOSTILE[hostile]()
    with bounded(len(data)):
        said = read(reader, data, tmp_path)
    assert said or hostile == "an id 5 000 times"
    assert len(said) < 3_000


@pytest.mark.parametrize("reader", ["eval set", "record"])
def test_a_line_of_100_mb(reader: str, tmp_path: Path) -> None:
    data = b'{"id": "' + b"x" * (100 * MB) + b"\n"
    with bounded(len(data)):
        assert 0 < len(read(reader, data, tmp_path)) < 3_000


def test_a_large_file_that_is_no_space_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.truncate(5_000 * MB)  # takes no space
    for call in (read_yaml, load_best_config):
        with bounded(0), pytest.raises(TunerError, match="5000 MB"):
            call(path)


def test_deep_nesting_that_aliases_make_is_told() -> None:
    with pytest.raises(TunerError, match=r"nested too deeply|values"):
        parse_yaml(chain(3_000), AT)
    with pytest.raises(TunerError, match="alias"):
        parse_best_config(f"schema_version: 1\nanswers: []\n{bomb()}", "text")
