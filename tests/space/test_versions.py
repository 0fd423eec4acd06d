import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import EngineNotFound
from tuner.space.versions import VERSIONS, parse_release, release, version_row


@pytest.mark.parametrize(
    ("version", "parsed"),
    [
        ("0.8.5", (0, 8, 5)),
        ("0.12.0.post2", (0, 12, 0)),
        ("0.33.0+sim", (0, 33, 0)),
        ("v0.24", (0, 24, 0)),
        ("0.30.1rc2.dev45+gabc123.cu129", (0, 30, 1)),
        ("dev", None),
        ("", None),
    ],
)
def test_release_numbers_are_read(version: str, parsed: tuple[int, int, int] | None) -> None:
    assert parse_release(version) == parsed


@pytest.mark.parametrize(
    ("version", "row", "share", "runner"),
    [
        ("0.8.5", "0.8.5", 0.9, "v0"),
        ("0.14.1", "0.12.0", 0.9, "v1"),
        ("0.19.1", "0.19.0", 0.9, "v1"),
        ("0.20.0", "0.20.0", 0.92, "v1"),
        ("0.26.0", "0.26.0", 0.92, "v1"),
        ("0.32.0", "0.30.0", 0.92, "v2"),
        ("0.33.0+sim", "0.33.0", 0.92, "v2"),
    ],
)
def test_each_version_has_what_its_release_has(version: str, row: str, share: float, runner: str) -> None:
    found = version_row(version)
    assert (found.release, found.gpu_memory_utilization, found.runner, found.known) == (row, share, runner, True)


@pytest.mark.parametrize("version", ["0.34.0", "1.0.0", "dev", "0.1.dev1+g123abc"])
def test_a_newer_version_uses_the_newest_row_and_says_so(version: str) -> None:
    found = version_row(version)
    assert found.release == VERSIONS[-1].release
    assert not found.known


def test_a_patch_of_the_newest_release_is_known() -> None:
    assert version_row("0.33.2").known


def test_a_version_older_than_the_table_is_refused() -> None:
    with pytest.raises(EngineNotFound, match=r"0\.7\.3 is older than 0\.8\.5"):
        version_row("0.7.3")


@given(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 9)))
def test_rows_never_go_back(numbers: tuple[int, int, int]) -> None:
    version = ".".join(map(str, numbers))
    if numbers >= (0, 8, 5):
        assert release(version_row(version).release) <= release(version)


def test_rows_ascend() -> None:
    releases = [release(row.release) for row in VERSIONS]
    assert releases == sorted(set(releases))
