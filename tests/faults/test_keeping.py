"""docs/faults-kills.md is what docs/faults-kills.json says."""

from __future__ import annotations

import json

from tests.faults.keeping import DOCUMENT, PAGE, as_page


def test_the_page_is_of_the_kept_results() -> None:
    assert PAGE.read_text() == as_page(json.loads(DOCUMENT.read_text()))


def test_a_row_says_what_went_wrong_and_whether_it_is_all() -> None:
    result = {
        "bench": "kills",
        "kills": 7,
        "asked": 200,
        "sweeps": 2,
        "ended_by_itself": False,
        "moments": {"any": 5, "kept in": 0, "trial": 2},
        "wrong": ["trial-1 is lost"],
        "gone_within_s": {"median": 0.1, "longest": 2.0},
        "verdicts": {"speculate": 2},
        "verdicts_undisturbed": {"speculate": 1},
        "commit": "abc",
    }
    row = as_page({"kills_simulated": result}).splitlines()[-1]
    assert row == (
        "| kills, simulated | 7 of 200 kills | 2 | no | 5 any, 2 trial | trial-1 is lost "
        "| 0.1 s (median), 2 s (longest) | 2 speculate (1 speculate) | abc |"
    )
