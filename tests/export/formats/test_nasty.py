"""Whatever stands in an artifact arrives as it is, through each format's own reader."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.export.formats.readers import READERS
from tests.exported_artifact import GOOD, artifact
from tuner.errors import ArtifactError
from tuner.export.formats import FORMATS, Choices, deployment
from tuner.records import Json
from tuner.space.command_line import engine_flags

WORDS = [
    *("on", "off", "y", "no", "null", "~", "true", "1e3", "1_000", "0x1F", "0o17", "12:30:45", ".inf", "-1", "--port"),
    *("$HOME", "${HOME}", "$(HOME)", "$$", "$${A}", "{{ .Values.x }}", "{{", "}}", "it's", '"', "\\", "a b", "# no"),
    *(
        "key: value",
        "- item",
        "&a",
        "*a",
        "!tag",
        "%",
        "@",
        "`id`",
        "模型",
        "é😀",
        "a,b",
        "[1]",
        '{"a": 1}',
        "",
        " lead",
    ),
    *("-x", " x", "x ", "a=b", ";", "|", ">", "<<", "=", "?", "\t"),
]
LINES = ["two\nlines", "a\r", "a\r\nb", "\u2028", "\x85", "\x1b[0m", "\ufeff"]
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXT = (
    st.sampled_from(WORDS)
    | st.text(CHARACTERS, max_size=12)
    | st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
)
ANY = TEXT | st.sampled_from(LINES)
ENV_NAMES = st.sampled_from(["VLLM_A", "OMP_B", "_c"])
SPEAKING = [name for name, row in FORMATS.items() if row.carries_speculation]
TARGETS = ["/models/it's $HOME", "/m/{{ x }}", "/m/on", "/m/模型 😀", "/m/a: b #c", "org/1e3", "null"]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    draft=ANY.filter(lambda text: text.strip() and not text.startswith("-")),
    env=st.dictionaries(ENV_NAMES, ANY, max_size=2),
    value=ANY,
    nested=st.dictionaries(
        ANY, st.none() | st.booleans() | st.integers() | ANY | st.lists(ANY, max_size=2), max_size=2
    ),
    why=st.lists(ANY, max_size=3).map("\n".join),
)
@example(
    draft="/m/$(A) {{x}}", env={"VLLM_A": "{{ `{{` }} $$(A)"}, value="-x", nested={"a": None}, why="a\x00b\x1b[1m\nc: ["
)
@example(draft="\u2028", env={}, value="\x85", nested={"\ufeff": "\x85"}, why="")
@example(draft="x", env={"VLLM_A": "two\nlines"}, value="y", nested={}, why="")
@example(draft="x", env={"VLLM_A": "1e3"}, value="12:30", nested={}, why="*/ ''' \"\"\" #")
def test_it_arrives(name: str, draft: str, env: dict[str, str], value: str, nested: dict[str, Any], why: str) -> None:
    speculation = GOOD.model_copy(update={"method": "eagle3", "draft": f"hub/{draft}", "options": {"x": nested}})
    args: dict[str, Json] = {"dtype": value, "hf_overrides": nested, "cudagraph_capture_sizes": [1, 2]}
    found = deployment(artifact(speculation=speculation, engine_args=args, env=env, why=why), Choices())
    if name == "docker-env" and any(char in text for text in env.values() for char in "\n\r"):
        with pytest.raises(ArtifactError, match="line break"):
            FORMATS[name].write(found)
        return
    read = READERS[name](FORMATS[name].write(found))
    if name != "vllm":
        assert read.env == env
    if name not in SPEAKING:
        return
    expected = {"method": "eagle3", "num_speculative_tokens": 4, "model": f"hub/{draft}", "x": nested}
    assert read.speculation == expected
    assert read.words is not None
    if not value.lstrip().startswith("{"):  # which a call takes as the mapping that it may be
        assert set(engine_flags({"dtype": value})) <= set(read.words)
    assert set(engine_flags({"hf_overrides": nested})) <= set(read.words)


@pytest.mark.parametrize("name", SPEAKING)
@pytest.mark.parametrize(
    "target", ["/models/it's $HOME", "/m/{{ x }}", "/m/on", "/m/模型 😀", "/m/a: b #c", "org/1e3", "null"]
)
def test_the_target_arrives(name: str, target: str) -> None:
    assert READERS[name](FORMATS[name].write(deployment(artifact(target=target), Choices()))).model == target


@pytest.mark.parametrize("target", ["-x", " ", "--model", "a\0b"])
def test_what_is_no_model_is_refused(target: str) -> None:
    with pytest.raises(ArtifactError, match="is no model"):
        deployment(artifact(target=target), Choices())


@pytest.mark.parametrize("env", [{"A B": "1"}, {"": "1"}, {"A=": "x"}, {"A": "\0"}, {"$(X)": "1"}])
def test_what_is_no_variable_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(ArtifactError, match="no environment variable"):
        deployment(artifact(env=env), Choices())
