"""From view data to one HTML file. The only door to jinja2."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tuner.page.charts import HEIGHT, WIDTH
from tuner.page.markdown import markdown_html
from tuner.page.told import told_page
from tuner.page.view import Page
from tuner.page.words import Words

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = files("tuner.page") / "templates"


@cache
def _environment() -> Environment:
    from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound

    class OurTemplates(BaseLoader):
        def get_source(self, environment: Environment, template: str) -> tuple[str, None, None]:
            found = _TEMPLATES / template
            if not found.is_file():
                raise TemplateNotFound(template)
            return found.read_text(encoding="utf-8"), None, None

    return Environment(
        loader=OurTemplates(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def page_html(page: Page, words: Words, version: str) -> str:
    """Return the page: style and script within it, nothing loaded from elsewhere.  version: of the tuner."""
    from markupsafe import Markup, escape

    page = told_page(page, words)
    style, script = (_text(name).strip() for name in ("page.css", "page.js"))

    def markdown(lines: tuple[str, ...]) -> Markup:
        return Markup(markdown_html(lines, str(escape(words("table")))))  # noqa: S704 - its marks are ours, all else is escaped

    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            t=words,
            version=version,
            markdown=markdown,
            width=WIDTH,
            height=HEIGHT,
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            policy=content_security_policy(style, script),
        )
    )


def content_security_policy(style: str, script: str) -> str:
    """Return a policy that allows exactly this style and this script, and no request at all."""
    allowed = [f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"]
    return "; ".join([*allowed, "img-src data:", "base-uri 'none'", "form-action 'none'"])


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
