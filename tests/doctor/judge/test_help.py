from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tuner.doctor.check import State
from tuner.doctor.judge.help import judge_help
from tuner.engine.help import EngineHelp, parse_help

RECORDED = Path(__file__).parents[2] / "engine" / "recorded" / "help-0.32.0.txt"


@pytest.fixture
def recorded() -> EngineHelp:
    found = parse_help(RECORDED.read_text(encoding="utf-8"))
    assert found is not None
    return found


def test_an_engine_that_has_what_its_release_should_have(recorded: EngineHelp) -> None:
    (check,) = judge_help(recorded, "0.32.0")
    assert (check.name, check.state, check.next_step) == ("engine_help", State.OK, "")
    assert check.what == f"its own --help has {len(recorded.flags)} flags, all that its release should have"


def test_a_flag_that_the_tables_do_not_have_is_shown(recorded: EngineHelp) -> None:
    (check,) = judge_help(replace(recorded, flags=recorded.flags | {"--brand-new", "--no-brand-new"}), "0.32.0")
    assert check.state is State.OK
    assert "does not know --brand-new: they go under unchecked_engine_args" in check.what


def test_a_flag_or_method_that_is_not_there_is_a_warning(recorded: EngineHelp) -> None:
    less = EngineHelp(recorded.flags - {"--max-num-seqs"}, recorded.methods - {"suffix"})
    (check,) = judge_help(less, "0.32.0")
    assert check.state is State.WARN
    assert check.what.endswith("lacks what its release should have: --max-num-seqs, method suffix")


def test_an_older_release_should_not_have_the_newer_flags(recorded: EngineHelp) -> None:
    newer = {"--custom-histogram-buckets", "--enable-hc-sp", "--no-enable-hc-sp"}
    (check,) = judge_help(replace(recorded, flags=recorded.flags - newer), "0.31.0")
    assert check.state is State.OK


def test_a_long_list_is_cut() -> None:
    (check,) = judge_help(EngineHelp(frozenset({"--model"})), "0.32.0")
    assert check.what.count("--") == 9 and check.what.endswith(" more")
