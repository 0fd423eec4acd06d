"""From what is told to HTML, in the report's look: its style, its script and its blocks, in a frame of our own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tuner.page.charts import HEIGHT, WIDTH
from tuner.page.english import ENGLISH
from tuner.page.render import content_security_policy
from tuner.version import tuner_version
from tuner.words import duration, time_left_words

if TYPE_CHECKING:
    from datetime import datetime

    from jinja2 import Environment

_SHARED = files("tuner.page") / "templates"


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("tuner.service"), PackageLoader("tuner.page")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"when": _when, "duration": duration, "time_left": time_left_words}
    return environment


def page(template: str, **told: object) -> tuple[str, str]:
    """Return a page and the Content-Security-Policy that it needs.  told: what its template names."""
    from markupsafe import Markup

    style, script = ((_SHARED / name).read_text(encoding="utf-8").strip() for name in ("page.css", "page.js"))
    html = (
        _environment()
        .get_template(template)
        .render(
            **told,
            t=ENGLISH,
            width=WIDTH,
            height=HEIGHT,
            version=tuner_version(),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
        )
    )
    return html, f"{content_security_policy(style, script)}; frame-ancestors 'none'"


def _when(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"
