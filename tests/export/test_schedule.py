"""What deployment reads of a K schedule: its place in the serve file only where it may be deployed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import yaml

from tests.built_artifact import build_context
from tuner.analysis.k_schedule import with_schedule
from tuner.export.artifact import artifact_files
from tuner.records import (
    SCHEDULE,
    Answer,
    Bar,
    BarKind,
    Candidate,
    Figure,
    Findings,
    LoadPoint,
    ScheduleAnswer,
    SchedulePoint,
    Verdict,
)
from tuner.report_sections.schedule import schedule_headline, schedule_section

RANGES = [[1, 2, 3], [3, 8, 0]]


def x(value: float | None, unit: str = "x") -> Figure:
    return Figure(
        value,
        unit,
        "by hand",
        6,
        low=None if value is None else value * 0.99,
        high=None if value is None else value * 1.01,
    )


@pytest.fixture
def findings(make_candidate: Callable[..., Candidate]) -> Findings:
    """A static K = 1, and a schedule of K = 3 up to batch size 2 and 0 up to 8 that may be deployed."""
    static = make_candidate(1)
    assert static.speculation is not None
    point = SchedulePoint(
        load_point=LoadPoint("chat", 8, 32),
        k=0,
        effective=x(3.0, "tokens/draft"),
        per_step=x(0.1, "tokens/step"),
        expected=(0.0, 0.2),
        obeyed=True,
        static=x(1.1),
        schedule=x(1.2),
        against_static=x(1.09),
    )
    found = ScheduleAnswer(
        temperature=0.0,
        why="It pays.",
        candidate=with_schedule(static, static.speculation, ((1, 2, 3), (3, 8, 0))),
        static=static,
        lives=3,
        exportable=True,
        points=(point,),
        speedup=x(1.4),
        gain=x(1.2),
    )
    answer = Answer(0.0, Verdict.SPECULATE, static, x(1.3), "K = 1 pays.", (), ())
    return Findings((answer,), (), {}, (), {}, schedules=(found,))


def files(findings: Findings) -> dict[str, str]:
    return artifact_files(findings, build_context())


def refused(findings: Findings) -> Findings:
    bar = Bar(BarKind.SCHEDULE_IGNORED, "it drafts otherwise")
    found = replace(findings.schedules[0], exportable=False, why="It does not pay.", bars=(bar,))
    return replace(findings, schedules=(found,))


def test_an_exportable_schedule_is_served_and_the_static_k_is_the_way_back(findings: Findings) -> None:
    written = files(findings)
    served = yaml.safe_load(yaml.safe_load(written["serve.yaml"])["speculative-config"])
    assert (served["num_speculative_tokens"], served[SCHEDULE]) == (3, RANGES)
    assert "It pays." in written["serve.yaml"]
    assert "Batches above 8 were not measured: the engine goes on with K = 0 there." in written["serve.yaml"]
    static = yaml.safe_load(yaml.safe_load(written["serve.static.yaml"])["speculative-config"])
    assert (static["num_speculative_tokens"], SCHEDULE in static) == (1, False)
    (answer,) = yaml.safe_load(written["best_config.yaml"])["answers"]
    assert answer["recommended"]["speculation"]["options"][SCHEDULE] == RANGES
    assert answer["recommended"]["static_serve_config"] == "serve.static.yaml"
    assert answer["recommended"]["static_speculation"]["num_speculative_tokens"] == 1
    assert answer["measured"]["schedule"]["ranges"] == RANGES
    assert answer["measured"]["schedule"]["load_points"][0]["allowed_per_step"] == [0.0, 0.2]
    assert answer["measured"]["schedule"]["load_points"][0]["schedule_over_static"]["value"] == 1.09


def test_a_refused_schedule_is_told_of_and_served_nowhere(findings: Findings) -> None:
    written = files(refused(findings))
    assert "serve.static.yaml" not in written
    assert all(SCHEDULE not in text for name, text in written.items() if name != "best_config.yaml")
    (answer,) = yaml.safe_load(written["best_config.yaml"])["answers"]
    assert answer["recommended"]["speculation"]["options"] == {}
    assert answer["recommended"]["static_serve_config"] is answer["recommended"]["static_speculation"] is None
    assert answer["measured"]["schedule"]["exportable"] is False
    assert answer["measured"]["schedule"]["bars"] == [{"kind": "schedule_ignored", "text": "it drafts otherwise"}]


def test_a_schedule_for_another_k_than_the_answers_is_not_served(
    findings: Findings, make_candidate: Callable[..., Candidate]
) -> None:
    other = replace(findings.schedules[0], static=make_candidate(2))
    assert SCHEDULE not in files(replace(findings, schedules=(other,)))["serve.yaml"]


def test_without_a_schedule_nothing_is_said(findings: Findings) -> None:
    none = replace(findings, schedules=())
    (answer,) = yaml.safe_load(files(none)["best_config.yaml"])["answers"]
    assert answer["measured"]["schedule"] is None
    assert list(schedule_section(none)) == []


def test_the_section_has_a_row_for_each_load_point(findings: Findings) -> None:
    text = "\n".join(schedule_section(findings))
    assert "It pays." in text
    assert "`[[1, 2, 3], [3, 8, 0]]`, 3 engine lives of each:" in text
    row = "| 0 | 3.00 | 0.10 (0.00-0.20) | 1.10x (1.09-1.11) | 1.20x (1.19-1.21) | 1.09x (1.08-1.10) |"
    assert row in text
    assert "Batches above 8 were not measured" in text


def test_a_schedule_that_was_not_obeyed_says_so_in_its_row(findings: Findings) -> None:
    point = replace(findings.schedules[0].points[0], obeyed=False)
    found = replace(findings.schedules[0], points=(point,))
    assert "(0.00-0.20, not obeyed)" in "\n".join(schedule_section(replace(findings, schedules=(found,))))


def test_the_headline_speaks_of_a_schedule_only_where_it_is_served(findings: Findings) -> None:
    assert "`[[1, 2, 3], [3, 8, 0]]`" in "\n".join(schedule_headline(findings, 0.0))
    assert list(schedule_headline(findings, 0.7)) == []
    assert list(schedule_headline(refused(findings), 0.0)) == []
