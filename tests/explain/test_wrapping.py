from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tuner.explain.wrapping import wrapped

CHINESE = "草稿模型先提出（最多）三个，目标模型用一步全部验证。"


def test_latin_words_stay_whole() -> None:
    assert wrapped("one two three", 8, "- ", "  ") == ["- one", "  two", "  three"]
    assert wrapped("unbreakable it is", 5) == ["unbreakable", "it is"]


def test_chinese_breaks_between_characters_and_not_before_its_punctuation() -> None:
    lines = wrapped(CHINESE, 16)
    assert "".join(lines) == CHINESE
    assert max(map(cell_len, lines)) <= 16 + 2  # a character brings its punctuation
    assert not any(line[0] in "，。）" or line[-1] == "（" for line in lines)


@given(st.text(alphabet="ab1 ，（）字词", max_size=60), st.integers(4, 40))
def test_nothing_is_lost_or_added(text: str, width: int) -> None:
    assert "".join("".join(wrapped(text, width)).split()) == "".join(text.split())
