"""The file of tolerances: defaults, what it may say, and what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.compare.figures import FIGURES
from tuner.compare.tolerances import Tolerances, load_tolerances
from tuner.errors import ToleranceError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tolerances.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_defaults() -> None:
    found = Tolerances()
    assert (found.acceptance_length, found.speedup, found.tpot, found.ttft) == (0.02, 0.05, 0.05, 0.10)
    assert found.decides == ("acceptance_length", "speedup", "tpot", "ttft")
    assert [found.of(name) for name in FIGURES] == [0.02, 0.05, 0.05, 0.10, 0.05, 0.10, 0.05]


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    found = load_tolerances(written(tmp_path, "speedup: 0.08\ndecides: [speedup, baseline_tpot]\n"))
    assert (found.speedup, found.tpot) == (0.08, 0.05)
    assert found.decides == ("speedup", "baseline_tpot")
    assert load_tolerances(written(tmp_path, "")) == Tolerances()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("speed_up: 0.1", "speed_up"),
        ("tpot: -0.1", "tpot"),
        ("tpot: 5", "tpot"),
        ("tpot: five", "tpot"),
        ("decides: [tpots]", "decides.0"),
        ("decides: []", "decides"),
        ("[1, 2]", "the file"),
    ],
)
def test_what_it_cannot_say_is_refused_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(ToleranceError) as raised:
        load_tolerances(written(tmp_path, text))
    assert f": {place}: " in raised.value.message
    assert "acceptance_length, speedup, tpot, ttft" in raised.value.next_step
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("data", [b"a: [", b"\xff\xfe\xff"])
def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tolerances.yaml"
    path.write_bytes(data)
    with pytest.raises(ToleranceError, match="cannot be read"):
        load_tolerances(path)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "t.yaml"
    path.write_bytes(text.encode("utf-8", "replace"))
    try:
        assert isinstance(load_tolerances(path), Tolerances)
    except ToleranceError as error:
        assert error.next_step
