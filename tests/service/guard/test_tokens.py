from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.service.guard.tokens import TOKEN_VARIABLE, Scope, find, presented, read_tokens

A, B = "a" * 24, "b" * 30


def written(root: Path, text: str, mode: int = 0o600) -> Path:
    file = root / "tokens"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_a_file_and_a_variable(tmp_path: Path) -> None:
    file = written(tmp_path, f"# comment\n\ndeploy read {A}\n")
    tokens = read_tokens(file, {TOKEN_VARIABLE: B})
    assert [(token.name, set(token.scopes)) for token in tokens] == [
        ("deploy", {Scope.READ}),
        ("environment", {Scope.READ, Scope.SWEEP}),
    ]
    assert find(tokens, A) is tokens[0]
    assert find(tokens, B) is tokens[1]
    assert find(tokens, A[:-1]) is None and find(tokens, "") is None
    assert A not in repr(tokens)
    assert read_tokens(None, {}) == ()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InputError, match="can be read by others") as refused:
        read_tokens(written(tmp_path, f"a read {A}\n", mode), {})
    assert refused.value.next_step.startswith("chmod 600 ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no token"),
        (f"a {A}", "tokens:1: not three words"),
        (f"\na read write {A}", "tokens:2: not three words"),
        (f"a read,write {A}", "no scope 'write'"),
        (f"a read {A[:-1]}", "24 or more"),
        (f"a read {A}é", "printable"),
        (f"a/b read {A}", "the name may have"),
        (f"a read {A}\na read {B}", "name is there twice"),
        (f"a read {A}\nb read {A}", "text is there twice"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        read_tokens(written(tmp_path, text), {})
    assert words in refused.value.message
    assert A not in str(refused.value)


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_tokens(tmp_path / "nothing", {})


@pytest.mark.parametrize(
    ("header", "given"),
    [
        ("Bearer abc", ("bearer", "abc")),
        ("bearer  abc ", ("bearer", "abc")),
        ("Basic bWU6YWI6Yw==", ("basic", "ab:c")),
        ("Basic !!", None),
        ("Basic /w==", None),
        ("Bearer", None),
        ("Digest x", None),
        ("", None),
    ],
)
def test_what_a_header_presents(header: str, given: tuple[str, str] | None) -> None:
    assert presented(header) == given


@given(st.text())
def test_any_header_can_be_presented(header: str) -> None:
    presented(header)
    find((), header)
