"""Sweeps after an upgrade of the simulated engine: what is measured again, what is left out, what is compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.recording_view import RecordingView
from tuner.artifact import load_best_config
from tuner.artifact.writing import dump_best_config
from tuner.beginning import last_sweep, stale_for
from tuner.cli import main
from tuner.prepare import Prepared, SweepRequest, prepare
from tuner.records import Role, TrialRecord
from tuner.registry import Registry
from tuner.report import write_report
from tuner.sweep import SweepOptions, SweepResult, run_sweep
from tuner.upgrade import kept_last, last_of_run

# No fourth token is ever accepted, and a draft's token costs a fifth of a step: K = 3 is the best, and clearly.
SIM = """
targets: [{{match: '*', step_s: {step}}}]
drafts:
  - {{match: '*weak*', step_s: 0.004, acceptance: [0.1]}}
  - {{match: '*', step_s: {draft}, acceptance: [{a}, {a}, {a}, 0.0]}}
"""
SPACE = """
target: simulated
drafts:
  - {name: good, method: draft_model, model: good, k: [1, 2, 3, 4, 5, 6]}
  - {name: weak, method: draft_model, model: weak, k: [2]}
load_points: [{eval_set: prompts.jsonl, temperature: 0, concurrency: 1, max_tokens: 16}]
protocol: {repeats: 2, lives: 1, warmup_requests: 0, reduced: "A test."}
"""
PROMPTS = "".join(f'{{"id": "p{i}", "category": "c", "prompt": "{"word " * (i + 1)}"}}\n' for i in range(4))
KS = range(1, 7)


class Killed(BaseException):
    """Stands for whatever ends the driver in the middle of a sweep."""


@dataclass
class View(RecordingView):
    """Raises Killed once `kill_after` trials are done."""

    kill_after: int | None = None

    def trial_done(self, record: TrialRecord, words: str) -> None:
        super().trial_done(record, words)
        if self.kill_after == len(self.done):
            raise Killed

    @property
    def searched(self) -> list[str]:
        return [record.label for record in self.done if record.role is Role.CANDIDATE]


def best_k() -> int:
    """Return the K of the first sweep: 3, unless the machine was too busy to tell it from a neighbour."""
    found = load_best_config("first").answers[0].recommended.speculation
    assert found is not None
    return found.num_speculative_tokens


def first_labels() -> list[str]:
    """Return what a sweep after the first one measures first, in its order."""
    k = best_k()
    return [f"good K={one}" for one in (k, k - 1, k + 1) if one in KS]


def write_inputs() -> None:
    old = SIM.format(step=0.006, draft=0.0012, a=0.97)
    Path("old.yaml").write_text(old)
    Path("other.yaml").write_text(f"{old}# Another profile by its content, and the same engine.\n")
    Path("loss.yaml").write_text(SIM.format(step=0.006, draft=0.0012, a=0.5))
    Path("space.yaml").write_text(SPACE)
    Path("prompts.jsonl").write_text(PROMPTS)


def prepared(engine: str) -> Prepared:
    return prepare(SweepRequest(space="space.yaml", engine=f"sim:{engine}.yaml"))


def sweep(engine: str, out: str, view: View | None = None, **options: Any) -> SweepResult:
    chosen = SweepOptions(Path(out), pool="local", registry="artifacts", **options)
    return run_sweep(prepared(engine), chosen, view or View())


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with one finished sweep in its registry; its artifact leaves room for what a busy machine does."""
    directory = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        write_inputs()
        result = sweep("old", "first", sampler="grid")  # How many starts a guided search needs depends on noise.
        config = load_best_config(result.report.artifact)
        (answer,) = config.answers
        (load,) = answer.measured.load_points
        assert load.figures["speedup_tpot"].value is not None
        wide = load.figures["speedup_tpot"].model_copy(update={"low": 1.2, "high": 6.0})
        load = load.model_copy(update={"figures": {**load.figures, "speedup_tpot": wide}})
        assert answer.measured.resolution is not None
        unsure = answer.measured.resolution.model_copy(update={"life_sd": 0.2})
        measured = answer.measured.model_copy(update={"load_points": (load,), "resolution": unsure})
        answer = answer.model_copy(update={"measured": measured})
        text = dump_best_config(config.model_copy(update={"answers": (answer,)}))
        registry = Registry("artifacts")
        (entry,) = registry.entries("simulated").entries
        files = {name: registry.read(entry, name) for name in entry.files}
        shutil.rmtree("artifacts")
        files["best_config.yaml"] = text.encode()
        registry.keep("simulated", files, "first", entry.kept_at)
    yield directory


@pytest.fixture
def workshop(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that directory."""
    shutil.copytree(swept, tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    monkeypatch.delenv("TUNER_REGISTRY", raising=False)
    return tmp_path / "w"


def test_where_nothing_moved_few_engines_start_and_the_rest_is_said_to_be_left_out(workshop: Path) -> None:
    view = View()
    result = sweep("other", "second", view)
    assert view.searched == first_labels()
    begun = result.begun
    assert begun is not None and begun.held is not None and begun.held.holds
    assert (begun.starts, begun.left_out) == (len(first_labels()), 7 - len(first_labels()))
    assert begun.last.starts > begun.starts
    assert all("the best of the last sweep still is" in line for line in result.left)
    page = (workshop / "second/report.md").read_text()
    assert "## Started from the last sweep" in page and "## Against the last sweep" in page
    assert "engine.profile" in page
    assert result.report.comparison is not None
    # The page is written again without the session that knew how the search went.
    assert write_report(workshop / "second").comparison is not None
    assert "## Against the last sweep" in (workshop / "second/report.md").read_text()


def test_where_acceptance_moved_the_whole_search_follows(workshop: Path) -> None:
    view = View()
    result = sweep("loss", "second", view)
    assert view.searched[: len(first_labels())] == first_labels()
    assert "weak K=2" in view.searched
    begun = result.begun
    assert begun is not None and begun.held is not None and not begun.held.holds and begun.left_out == 0
    assert any("the whole search follows" in message for message in view.messages)
    assert not any("the last sweep still is" in line for line in result.left)


def test_a_fresh_search_knows_nothing_and_is_compared_all_the_same(workshop: Path) -> None:
    view = View()
    result = sweep("other", "second", view, fresh_search=True)
    assert view.searched[0] == "good K=6" and result.begun is None
    assert result.report.comparison is not None


def test_an_interrupted_sweep_goes_on_as_it_began_whatever_the_registry_has_by_then(workshop: Path) -> None:
    with pytest.raises(Killed):
        sweep("other", "second", View(kill_after=2))
    began = kept_last(workshop / "second")
    shutil.rmtree(workshop / "artifacts")
    view = View()
    result = sweep("other", "second", view)
    assert view.searched == first_labels()[1:]
    assert result.begun is not None and result.begun.last == began
    # And a finished one is compared with the same sweep, not with itself, which is the newest by now.
    again = sweep("other", "second")
    assert again.begun is not None and again.begun.last == began and again.trials == 0


def test_what_began_without_a_last_sweep_does_not_find_one_later(workshop: Path) -> None:
    shutil.move("artifacts", "elsewhere")
    with pytest.raises(Killed):
        sweep("other", "second", View(kill_after=1))
    shutil.move("elsewhere", "artifacts")
    view = View(kill_after=1)
    with pytest.raises(Killed):
        sweep("other", "second", view)
    assert view.searched == ["good K=6"]


@pytest.mark.parametrize(
    ("space", "field"),
    [
        (SPACE, None),
        (SPACE.replace("k: [2]", "k: [2, 5]"), "candidates"),
        (SPACE.replace("repeats: 2", "repeats: 3"), "protocol.repeats"),
        (SPACE + "objective: {metric: throughput}\n", "objective"),
        (SPACE + "engine_args: {max_num_seqs: 8}\n", "engine_args.max_num_seqs"),
    ],
)
def test_what_makes_a_sweep_stale(workshop: Path, space: str, field: str | None) -> None:
    Path("space.yaml").write_text(space)
    asked = prepared("old")
    last = last_sweep(asked, Registry("artifacts"))
    assert last is not None
    fields = [one.field for one in stale_for(last, asked) if one.stale]
    assert (field in fields) if field else fields == []


# ---- from the command line


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    with pytest.raises(SystemExit) as exit_:
        main(["sweep", "--space", "space.yaml", "--quiet", "--json", *arguments])
    told = capsys.readouterr()
    assert isinstance(exit_.value.code, int)
    lines = told.out.splitlines()
    return exit_.value.code, json.loads(lines[-1]) if lines else {}, told.err


def test_if_stale_does_nothing_where_nothing_changed(workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, closing, told = run(capsys, "--engine", "sim:old.yaml", "--out", "second", "--if-stale")
    assert (code, closing["fresh"], closing["engine_starts"]) == (0, True, 0)
    assert not Path("second").exists()
    assert closing["artifact"] in told and closing["best"]["num_speculative_tokens"] == best_k()
    # The same shape as that of a sweep, which the finished first one gives at no cost.
    _, swept_, _ = run(capsys, "--engine", "sim:old.yaml", "--out", "first", "--no-registry")
    assert {*closing} - {*swept_} == {"differences"} and {*swept_} <= {*closing}
    assert {*swept_["answers"][0]} == {*closing["answers"][0]} and swept_["fresh"] is False


def test_if_stale_sweeps_where_the_engine_changed_and_says_so(
    workshop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, closing, told = run(capsys, "--engine", "sim:other.yaml", "--out", "second", "--if-stale")
    assert (code, closing["fresh"]) == (0, False)
    assert "stale: " in told and "engine.profile" in told
    assert [one["field"] for one in closing["differences"]] == ["engine.profile"]
    began = closing["started_from"]
    assert began["held"] is True and began["candidate_starts"]["now"] == len(first_labels())
    assert closing["against_last"]["variables"] == ["engine"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--if-stale", "--no-registry"),
        ("--if-stale", "--engine", "sim", "--engine", "sim"),
        ("--engine", "sim", "--engine", "sim", "--engine", "sim"),
    ],
)
def test_what_does_not_go_together_is_refused(
    workshop: Path, capsys: pytest.CaptureFixture[str], wrong: tuple[str, ...]
) -> None:
    assert run(capsys, *wrong)[0] == 2


def test_two_engines_are_swept_in_turn_and_compared(workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("first", "both/engine-0.32.0-sim")
    both = ("--engine", "sim:old.yaml", "--engine", "sim:other.yaml", "--out", "both", "--no-registry")
    code, closing, told = run(capsys, *both)
    old, new = closing["engines"]
    assert code == 0
    assert [Path(one["run"]).name for one in (old, new)] == ["engine-0.32.0-sim", "engine-0.32.0-sim-2"]
    assert (old["engine_starts"], old["started_from"]) == (0, None)
    assert new["started_from"]["artifact"] == old["artifact"]
    assert new["started_from"]["first"][0].startswith("good K=")
    assert closing["comparison"]["variables"] == ["engine"]
    assert closing["comparison"]["old"].startswith(str(Path(old["run"])))
    assert "tuner compare" in told
    assert last_of_run(Path(new["run"])).config.finished
