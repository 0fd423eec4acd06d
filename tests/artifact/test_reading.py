"""Reading artifacts: the present version, every older one, and files that are none."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import tuner
from tuner.artifact import dump_best_config, parse_best_config
from tuner.artifact.migrations import STEPS
from tuner.artifact.model import SCHEMA_VERSION
from tuner.errors import EXIT_BAD_INPUT, ArtifactError
from tuner.records import Verdict

GOLDEN = Path(__file__).parents[1] / "golden"
OLD = sorted((GOLDEN / "artifacts").glob("v*.yaml"))
OLD_DOCUMENT = yaml.safe_load((GOLDEN / "artifacts" / "v1-speculate-below.yaml").read_text())
NEW_DOCUMENT = yaml.safe_load((GOLDEN / "best_config.yaml").read_text())


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_every_older_version_is_read_and_its_figures_are_kept(path: Path) -> None:
    old = yaml.safe_load(path.read_text())
    config = tuner.load_best_config(path)
    assert config.schema_version == SCHEMA_VERSION > old["schema_version"]
    assert (config.verdict.value, config.target) == (old["verdict"], old["target"])
    for answer, was in zip(config.answers, old["answers"], strict=True):
        assert answer.measured.expected_speedup.value == was["expected_speedup"]["value"]
        assert [load.label for load in answer.measured.load_points] == [load["label"] for load in was["load_points"]]
        speculation = was["recommended"]["speculation"]
        assert (answer.recommended.speculation is None) == (speculation is None)
    assert parse_best_config(dump_best_config(config), "again") == config


def test_any_text_is_read_back_as_it_was() -> None:
    odd = [*range(0x300), *range(0x2000, 0x2070), 0x3000, 0xD7FF, 0xE000, 0xFEFF, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF]
    texts = tuple(text for point in odd for text in (chr(point), f"a{chr(point)}b: #"))
    config = tuner.load_best_config(GOLDEN / "artifacts" / "v1-speculate-below.yaml")
    config = config.model_copy(update={"warnings": texts})
    assert parse_best_config(dump_best_config(config), "again").warnings == texts


def test_there_is_a_golden_file_of_every_older_version() -> None:
    assert sorted(STEPS) == list(range(1, SCHEMA_VERSION))
    assert {int(path.stem.split("-")[0].removeprefix("v")) for path in OLD} == set(STEPS)


def test_what_version_1_has_elsewhere_is_found_again() -> None:
    config = tuner.load_best_config(GOLDEN / "artifacts" / "v1-schedule-and-traffic.yaml")
    answer = config.answers[0]
    assert (answer.verdict, answer.validity.concurrency) == (Verdict.SPECULATE_BELOW, (1, 8, 32))
    assert answer.recommended.limit is not None
    assert answer.recommended.limit.max_num_seqs == 8
    assert (config.identity.target.id, config.identity.target.hash) == ("./models/target", "0123456789abcdef")
    assert (config.identity.drafts["good"].id, config.identity.drafts["good"].hash) == (
        "/models/good",
        "fedcba9876543210",
    )
    assert [(one.candidate, one.role) for one in config.failed] == [("ngram K=3", "candidate")]
    assert config.environment == {"VLLM_X": "1"}


def test_a_directory_stands_for_its_artifact(tmp_path: Path) -> None:
    (tmp_path / "best_config.yaml").write_text(OLD[0].read_text())
    assert tuner.load_best_config(tmp_path) == tuner.load_best_config(str(OLD[0]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema_version: 999\ntuner_version: 9.9.9\nanswers: []\n", "written by tuner 9.9.9"),
        ("a: [", "no YAML"),
        ("a: 2026-99-99", "no YAML"),
        ("[" * 5000, "no YAML"),
        ("- 1\n", "no artifact"),
        ("model: x\n", "no artifact"),
        ("schema_version: two\nanswers: []\n", "schema_version 'two'"),
        ("schema_version: true\nanswers: []\n", "schema_version True"),
        ("schema_version: 1\nanswers: []\n", "no whole artifact of schema version 1"),
        ("schema_version: 2\nanswers: []\n", "target: Field required"),
    ],
)
def test_what_cannot_be_read_says_why_and_what_to_do(text: str, said: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        parse_best_config(text, "x.yaml")
    assert said in str(caught.value)
    assert "x.yaml" in caught.value.message
    assert caught.value.next_step
    assert caught.value.exit_code == EXIT_BAD_INPUT


Place = tuple[str | int, ...]


def places(value: object, here: Place = ()) -> Iterator[Place]:
    """Yield where every value of a document is."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*here, key)
        yield from places(inner, (*here, key))


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_artifact_of_any_version_is_refused_or_read(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([OLD_DOCUMENT, NEW_DOCUMENT]))
    document = copy.deepcopy(whole)
    *outer, last = data.draw(st.sampled_from(sorted(places(whole), key=str)))
    inner: Any = document
    for key in outer:
        inner = inner[key]
    if data.draw(st.booleans()):
        del inner[last]
    else:
        inner[last] = data.draw(st.sampled_from([None, "x", 3, -1, True, [], {}, [1], {"a": 1}, [[]], 1e300]))
    try:
        parse_best_config(json.dumps(document), "x.yaml")
    except ArtifactError as error:
        assert error.next_step


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"gone\.yaml cannot be read: No such file"):
        tuner.load_best_config(tmp_path / "gone.yaml")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArtifactError, match="cannot be read"):
        tuner.load_best_config(tmp_path / "x.yaml")


def test_a_wrong_field_and_an_unknown_one_are_named_with_their_place() -> None:
    document = yaml.safe_load(dump_best_config(tuner.load_best_config(OLD[0])))
    document["answers"][0]["recommended"]["engine_args"] = 3
    document["answers"][0]["surprise"] = 1
    with pytest.raises(ArtifactError) as caught:
        parse_best_config(yaml.safe_dump(document), "x.yaml")
    assert "answers[0].recommended.engine_args: " in caught.value.message
    assert "answers[0].surprise: Extra inputs are not permitted" in caught.value.message


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, tuner; print([m for m in ('pydantic', 'yaml', 'tuner.artifact') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_else_is_exported() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tuner.nothing  # noqa: B018
