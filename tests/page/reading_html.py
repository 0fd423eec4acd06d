"""A strict reader of our own pages: what a browser would forgive is an error here."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})
NESTED = {
    "li": {"ul", "ol"},
    "td": {"tr"},
    "th": {"tr"},
    "tr": {"thead", "tbody"},
    "dt": {"dl", "div"},
    "dd": {"dl", "div"},
}
PHRASES = frozenset({"p", "h1", "h2", "h3", "h4", "figcaption", "summary", "caption", "small", "span", "a", "label"})
BLOCKS = frozenset(
    {"p", "div", "ul", "ol", "table", "section", "article", "dl", "pre", "figure", "details", "h2", "h3"}
)


@dataclass
class Element:
    """One element with what is in it."""

    tag: str
    attrs: dict[str, str]
    parent: Element | None
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def every(self, tag: str) -> list[Element]:
        """Return all elements of that tag in this one."""
        own = [child for child in self.children if child.tag == tag]
        return own + [found for child in self.children for found in child.every(tag)]

    def words(self) -> str:
        """Return all text in it."""
        return self.text + "".join(child.words() for child in self.children)

    def walk(self) -> list[Element]:
        """Return it and all elements in it."""
        return [self] + [found for child in self.children for found in child.walk()]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {}, None)
        self.now = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs}, self.now)
        if tag in NESTED:
            assert self.now.tag in NESTED[tag], f"<{tag}> in <{self.now.tag}>"
        assert not (self.now.tag in PHRASES and tag in BLOCKS), f"<{tag}> in <{self.now.tag}>"
        self.now.children.append(element)
        if tag not in VOID:
            self.now = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.now.tag == tag, f"</{tag}> closes <{self.now.tag}>"
        assert self.now.parent is not None
        self.now = self.now.parent

    def handle_data(self, data: str) -> None:
        self.now.text += data


def read(html: str) -> Element:
    """Return the document; AssertionError where elements are not nested as they should be."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.now is reader.root, f"<{reader.now.tag}> is never closed"
    return reader.root
