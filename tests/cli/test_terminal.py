"""What a terminal is shown breaks between words and loses nothing; a pipe gets the text as it is."""

from __future__ import annotations

import pytest

from tests.cli.test_views import on_a_terminal

TABLE = (
    "## Times\n\n| draft | load point | ratio |\n|---|---|---:|\n| good | chat, concurrency 1 | 7.37x (3.38-16.04) |\n"
)
MARKDOWN = f"from tuner.cli.terminal import show_markdown; show_markdown({TABLE!r}, err=True)"
LINES = (
    "from tuner.cli.terminal import show_lines;"
    "show_lines(['state    not finished, and nobody is measuring: go on', '', 'trials   6'], hanging=9, err=True)"
)


def shown(code: str, columns: int) -> list[str]:
    text = on_a_terminal(code, TERM="xterm", NO_COLOR="1", COLUMNS=str(columns))
    return [line.rstrip() for line in text.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()]


def test_lines_break_between_words_below_what_they_belong_to() -> None:
    assert shown(LINES, 40) == [
        "state    not finished, and nobody is",
        "         measuring: go on",
        "",
        "trials   6",
    ]
    assert shown(LINES, 80) == ["state    not finished, and nobody is measuring: go on", "", "trials   6"]


@pytest.mark.parametrize("columns", [30, 80])
def test_a_table_is_drawn_and_no_figure_cut_off(columns: int) -> None:
    text = "\n".join(shown(MARKDOWN, columns))
    assert "|---" not in text and "…" not in text
    assert all(piece in "".join(text.split()) for piece in ("Times", "good", "7.37x"))
    ratio = "".join(
        line.split()[-1] for line in text.splitlines() if line.split() and line.split()[-1][0] in "(1234567890.-)"
    )
    assert "3.38-16.04" in ratio


def test_a_pipe_gets_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    from tuner.cli.terminal import show_lines, show_markdown

    show_markdown(TABLE)
    show_lines(["state    " + "long " * 40], hanging=9)
    out = capsys.readouterr().out
    assert out.startswith(TABLE)
    assert len(out.splitlines()[-1]) > 200
