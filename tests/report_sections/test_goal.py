from __future__ import annotations

from collections.abc import Callable

from tuner.analysis.findings import findings
from tuner.records import Goal, LoadPoint, Metric, Protocol, Role, Trial
from tuner.report_sections.goal import goal_section
from tuner.report_sections.lives import lives_section

C1 = LoadPoint("chat", 1, 33)
Make = Callable[..., Trial]


def page(make_trial: Make, goal: Goal) -> list[str]:
    trials = [make_trial(0), make_trial(1, k=2, tpot=0.01, ttft=0.3), make_trial(2, role=Role.BASELINE_AGAIN)]
    for n in range(3):
        trials += [make_trial(10 + 2 * n, role=Role.FINAL, final_round=n)]
        trials += [make_trial(11 + 2 * n, k=2, tpot=0.01, ttft=0.3, final_round=n)]
    found = findings(trials, (C1,), protocol=Protocol(lives=3, max_lives=3), goal=goal)
    return [*goal_section(found, (C1,), ()), *lives_section(found, ())]


def test_nothing_is_said_where_tpot_decides_without_limits(make_trial: Make) -> None:
    assert page(make_trial, Goal())[0] == "## Fresh engine lives"


def test_what_decided_by_hand(make_trial: Make) -> None:
    """0.1 + 32 x 0.02 = 0.74 s, and 0.3 + 32 x 0.01 = 0.62 s, for 33 tokens."""
    lines = page(make_trial, Goal(Metric.E2E))
    assert lines[0] == "## What decided: E2E"
    assert "| no speculation | chat, concurrency 1, T=0, up to 33 tokens | 1 | 740 ms |  |" in lines
    assert "| good K=2 | chat, concurrency 1, T=0, up to 33 tokens | 3 | 620 ms | 1.19x (1.19-1.19) |" in lines
    assert any("| TPOT | E2E speedup (95 %) |" in line for line in lines)
    rates = page(make_trial, Goal(Metric.THROUGHPUT))
    assert "| good K=2 | chat, concurrency 1, T=0, up to 33 tokens | 1 | 53.2 | 1.19x (1.19-1.19) |" in rates


def test_limits_with_what_was_measured(make_trial: Make) -> None:
    lines = page(make_trial, Goal(p95_ttft_s=0.29))
    where = "chat, concurrency 1, T=0, up to 33 tokens"
    assert f"| no speculation | {where} | 1 | TTFT 0.1 s | 0.29 s | yes | 18 requests |" in lines
    assert f"| good K=2 | {where} | 1 | TTFT 0.3 s | 0.29 s | no, near it | 18 requests |" in lines
    assert not any("What decided" in line for line in lines)
