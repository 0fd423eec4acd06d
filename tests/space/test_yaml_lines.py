import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import SpaceError
from tuner.records import Json
from tuner.space.yaml_lines import parse_yaml, read_yaml

PATH = Path("space.yaml")

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)  # PyYAML's writer mangles \x85
# PyYAML writes text like "0E0" without quotes: a number to YAML 1.2, which this reader follows, and text to YAML 1.1.
TEXT = TEXT.filter(lambda text: not re.fullmatch(r"[-+]?[0-9]+[eE][-+]?[0-9]+", text))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("off", "off"),
        ("y", "y"),
        ("True", True),
        ("false", False),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("-1", -1),
        ("2024-01-01", "2024-01-01"),
        ("null", None),
        ("~", None),
        ("", None),
        ("'7'", "7"),
        ("=", "="),
    ],
)
def test_scalars_mean_what_they_look_like(text: str, value: Json) -> None:
    parsed = parse_yaml(f"a: {text}", PATH).value
    assert isinstance(parsed, dict)
    assert parsed["a"] == value
    assert type(parsed["a"]) is type(value)


@settings(max_examples=60)
@given(JSON)
def test_json_is_read_as_json(value: Json) -> None:
    """A JSON document is a YAML document; numbers must not change type on the way."""
    text = json.dumps({"v": value})
    assert parse_yaml(text, PATH).value == json.loads(text)


@settings(max_examples=60)
@given(JSON)
def test_what_pyyaml_writes_is_read_back(value: Json) -> None:
    text = yaml.safe_dump({"v": value}, allow_unicode=True)
    assert parse_yaml(text, PATH).value == {"v": value}


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "space.yaml:3:", "'a' is written twice, first on line 1"),
        ("d:\n  - x: 1\n    x: 2\n", "space.yaml:3:", "'x' is written twice, first on line 2"),
        ("a: 1\nb: [\n", "space.yaml:3:", "not valid YAML"),
        ("a: 1\n\tb: 2\n", "space.yaml:2:", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "space.yaml:2:", "another document"),
        ("a:\n  b: .nan\n", "space.yaml:2:", "'.nan' cannot be used"),
        ("a: 1e999\n", "space.yaml:1:", "'1e999' cannot be used"),
        ("a: 1\n2.5: b\n", "space.yaml:2:", "'2.5' is no text"),
        ('2: a\n"2": b\n', "space.yaml:2:", "'2' is written twice, first on line 1"),
        ("a: 1\ntrue: b\n", "space.yaml:2:", "'true' is no text"),
        ("a: 1\n? [x]\n: y\n", "space.yaml:2:", "cannot be a key"),
        ("a: !!python/object:os.system {}\n", "space.yaml:1:", "not plain data"),
        ("a: &x [*x]\n", "space.yaml:1:", "part of"),
        ("a: *nowhere\n", "space.yaml:1:", "undefined alias"),
        ('a: 1\nb: "\\ud800"\n', "space.yaml:2:", "cannot be used as str"),
        ("a: 1\nb: \x07\n", "space.yaml:2:", "does not allow"),
        ("a: " + "[" * 1200, "space.yaml", "too deeply"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_line(text: str, where: str, words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        parse_yaml(text, PATH)
    assert caught.value.message.startswith(where)
    assert words in caught.value.message
    assert caught.value.next_step


def test_aliases_of_aliases_cannot_fill_the_memory() -> None:
    text = "a0: &a0 [1, 1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 20))
    with pytest.raises(SpaceError, match="more than"):
        parse_yaml(text, PATH)


def test_json_escapes_of_an_emoji_are_joined() -> None:
    assert parse_yaml(json.dumps({"a": "😀"}), PATH).value == {"a": "😀"}


def test_an_alias_stands_for_its_value() -> None:
    assert parse_yaml("a: &x [1]\nb: *x\n", PATH).value == {"a": [1], "b": [1]}


def test_every_key_and_item_knows_its_line() -> None:
    parsed = parse_yaml("a: 1\nb:\n  - c: 2\n    d:\n      - 3\n", PATH)
    assert parsed.line(("a",)) == 1
    assert parsed.line(("b", 0, "c")) == 3
    assert parsed.line(("b", 0, "d", 0)) == 5
    assert parsed.line(("b", 0, "missing")) == 3
    assert parsed.line(("b", 7)) == 2
    assert parsed.line(("nowhere",)) == 1


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(SpaceError) as caught:
        read_yaml(path)
    assert caught.value.message.startswith(f"{path}:2:")


def test_a_byte_order_mark_is_no_key(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read_yaml(path).value == {"a": 1, "b": 2}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="cannot be read"):
        read_yaml(tmp_path)
