import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.service.negotiation import entity_tag, has_it, preferred

OFFERED = ("application/json", "application/yaml")


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/yaml", "application/yaml"),
        ("APPLICATION/YAML;q=0.5", "application/yaml"),
        ("application/json;q=0.1, application/yaml", "application/yaml"),
        ("application/yaml;q=0.1, */*", "application/json"),
        ("application/*, application/json;q=0", "application/yaml"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "application/json"),
        ("image/png", None),
        ("application/json;q=0", None),
        ("*/*;q=0", None),
        ("application/yaml;q=2", None),
        ("nonsense", None),
    ],
)
def test_what_a_client_prefers(accept: str, media: str | None) -> None:
    assert preferred(accept, OFFERED) == media


@given(st.text())
def test_any_header_can_be_read(header: str) -> None:
    assert preferred(header, OFFERED) in (*OFFERED, None)
    has_it(header, entity_tag(b"x"))


def test_who_has_it() -> None:
    tag = entity_tag(b"x")
    assert entity_tag(b"y") != tag == entity_tag(b"x")
    for header in (tag, f"W/{tag}", f'"a", {tag}', "*", " * "):
        assert has_it(header, tag)
    for other in ("", '"a"', tag.strip('"')):
        assert not has_it(other, tag)
