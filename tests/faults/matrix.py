"""The fault matrix: every injected fault is a row, written by the test that injects it.

A test carries `@fault(Group.ENGINE, "crashes under load", sees="...", keeps="...")`; `python -m tests.faults` collects
those marks and writes docs/faults.md, and a test holds the page against the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

MARK = "fault"


class Group(StrEnum):
    """Part of the matrix, in the order of the page; the value is its heading."""

    DRIVER = "The tuner itself is killed or interrupted"
    ENGINE = "An engine fails"
    CLUSTER = "A Ray cluster loses a part"
    MACHINE = "The machine fails"
    SHARED = "Two sweeps at once"
    CORRUPTION = "Files of a run are damaged"
    SECURITY = "Hostile input"


@dataclass(frozen=True)
class Fault:
    """One row: what is injected, what the user sees, what is kept.  test: pytest's id of what injects it."""

    group: Group
    name: str
    sees: str
    keeps: str
    test: str


def fault(group: Group, name: str, *, sees: str, keeps: str) -> pytest.MarkDecorator:
    """Mark a test as the proof of one row of the matrix; sees, keeps: one sentence each, in the user's words."""
    return pytest.mark.fault(group=group, name=name, sees=sees, keeps=keeps)


class Collected:
    """A pytest plugin that keeps the rows of the tests it collects, in their order."""

    def __init__(self) -> None:
        self.rows: list[Fault] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Read the marks; a parametrized test is one row for each mark it carries."""
        for item in items:
            test = item.nodeid.split("[")[0]
            rows = [Fault(**mark.kwargs, test=test) for mark in item.iter_markers(MARK)]
            self.rows += [row for row in rows if row not in self.rows]


def as_page(rows: list[Fault]) -> str:
    """Return docs/faults.md: a table a group."""
    lines = [
        "# What can go wrong, and what is kept",
        "",
        "Each row is a fault that a test injects; the last column names that test.",
        "Written by `python -m tests.faults`.",
    ]
    for group in Group:
        of_group = [row for row in rows if row.group is group]
        if of_group:
            lines += ["", f"## {group}", "", "| fault | what you see | what is kept | test |", "|---|---|---|---|"]
            lines += [f"| {row.name} | {row.sees} | {row.keeps} | `{row.test}` |" for row in of_group]
    return "\n".join(lines) + "\n"
