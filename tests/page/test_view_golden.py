"""The view data of a whole page, as it was agreed.

After a change that is meant: python -m tests.page.test_view_golden
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.page.page_building import LOADS, categorised, given, trials
from tuner.page.build import page_view

GOLDEN = Path(__file__).parents[1] / "golden" / "page_view.json"


def view_text() -> str:
    """Return the view data of the built run, without the tables of the Markdown report, which have a golden text."""
    loads = LOADS[1:]
    view = asdict(page_view(given([categorised(trial) for trial in trials(loads=loads)], loads)))
    return json.dumps(_without_markdown(view), indent=1, ensure_ascii=False) + "\n"


def _without_markdown(value: object) -> object:
    if isinstance(value, dict):
        if set(value) == {"lines"}:
            return {"lines": len(value["lines"])}
        return {name: _without_markdown(inner) for name, inner in value.items() if inner not in ("", (), None, False)}
    return [_without_markdown(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def test_the_page_shows_what_was_agreed() -> None:
    assert view_text() == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text(view_text(), encoding="utf-8")
