"""The sections that explain an answer, as a reader sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tuner.analysis.apart import Apart, apart
from tuner.analysis.dragged import split_speedup
from tuner.analysis.noise import noise
from tuner.cli.noise_table import noise_table
from tuner.export.noise import noise_document
from tuner.records import LoadPoint, Protocol, Role, Trial
from tuner.report_sections.apart import apart_section
from tuner.report_sections.dragged import SecondBaseline, dragged_section
from tuner.report_sections.noise import noise_section

C1 = LoadPoint("chat", 1, 33)
Make = Callable[..., Trial]


def test_draft_and_target_apart_with_its_rules_and_what_failed(make_trial: Make) -> None:
    plain, alone = make_trial(0, loads=(C1,)), make_trial(1, role=Role.DRAFT_ALONE, tpot=0.003, loads=(C1,))
    alone = Trial(replace(alone.record, served="good"), alone.samples)
    ngram = make_trial(2, k=2, draft="ngram", method="ngram", loads=(C1,))
    found = replace(apart([plain, alone, ngram], (C1,)), failed={"long": "its context is too short"})
    text = "\n".join(apart_section(found))
    assert f"| good | {C1.label} | 3 ms | 20 ms | 6.67x (6.67-6.67) | yes | no |" in text
    assert "| ngram | 2 |" in text and "costs little, not nothing" in text
    assert "long could not be served alone: its context is too short" in text


def test_nothing_measured_is_no_section(make_trial: Make) -> None:
    ngram_alone = apart([make_trial(0), make_trial(1, k=2, draft="ngram", method="ngram")], (C1,))
    assert list(apart_section(ngram_alone)) == []
    assert any("over a plain step" in line for line in apart_section(ngram_alone, asked=True))
    assert list(apart_section(Apart((), (), {}))) == []
    assert list(apart_section(Apart((), (), {}), asked=True)) == []
    assert list(dragged_section(())) == []
    assert list(noise_section((), Protocol())) == []


def test_a_second_baseline_says_how_it_was_made_and_what_it_shows(make_trial: Make) -> None:
    plain = make_trial(0, tpot=0.01, loads=(C1,))
    same = make_trial(1, role=Role.SAME_RUNNER, tpot=0.0125, loads=(C1,))
    splits = split_speedup(make_trial(2, k=3, tpot=0.005, loads=(C1,)), [plain], same)
    second = SecondBaseline(("the V1 model runner",), "VLLM_USE_V2_MODEL_RUNNER=0", splits, ("Disabling X",))
    text = "\n".join(dragged_section([second]))
    assert "with the V1 model runner (`VLLM_USE_V2_MODEL_RUNNER=0`)" in text
    assert f"| good K=3 | {C1.label} | 2.00x (2.00-2.00) | 0.80x (0.80-0.80) | 2.50x (2.50-2.50) |" in text
    assert "not reproducible without speculation: `Disabling X`" in text


def test_noise_as_section_table_and_json_agree(make_trial: Make) -> None:
    trials = [
        make_trial(n, role=role, tpot=0.02 * 1.1**n, loads=(C1,))
        for n, role in enumerate((Role.BASELINE, Role.BASELINE_AGAIN, Role.BASELINE_AGAIN))
    ]
    protocol = Protocol(lives=3, max_lives=12)
    arms = noise(trials, (C1,), protocol)
    section, table = "\n".join(noise_section(arms, protocol)), noise_table(arms, protocol, width=200)
    document = noise_document(arms)
    life = "9.53% (4.96%-59.90%, df 2)"
    assert life in section and life in table
    assert "smallest speedup (3 lives, 12 at most)" in section
    assert str(document).count("'value': 0.09531") == 2  # from life to life, and of one life: the repeats agree


def test_heads_that_no_engine_serves_alone_are_named_where_that_was_asked_for(make_trial: Make) -> None:
    nothing = Apart((), (), {})
    assert list(apart_section(nothing, {"eagle": "a head"})) == []
    assert "- eagle was not served alone: a head" in apart_section(nothing, {"eagle": "a head"}, asked=True)
