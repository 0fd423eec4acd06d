from dataclasses import replace

from tuner.engine.plan import Plan, plan
from tuner.engine.resolve import Engine
from tuner.records import LoadPoint, Protocol, Role
from tuner.space.schema import DraftSpec, Limits, SearchSpace

CPU = Engine("vllm", "/env/bin/python", "0.32.0", "cpu")
SPACE = SearchSpace(
    name="s",
    source="",
    target=None,
    drafts=(DraftSpec("good", "draft_model", "org/good", {}, (1, 3)), DraftSpec("ngram", "ngram", None, {}, (3,))),
    load_points=(LoadPoint("chat"),),
    choices={"max_num_seqs": (4, 8)},
    env={"A": "1"},
)


def roles(found: Plan) -> list[tuple[Role, int]]:
    return [(start.role, start.candidate.k) for start in found.starts]


def test_the_plan_is_baselines_candidates_baselines() -> None:
    found = plan(SPACE, CPU, "org/target")
    first = [(Role.BASELINE, 0)] * 2
    last = [(Role.BASELINE_AGAIN, 0)] * 2
    middle = [(Role.CANDIDATE, k) for k in (1, 3, 1, 3, 3, 3)]
    assert roles(found) == [*first, *middle, *last]
    assert (found.engine_starts, found.limited, found.unavailable) == (10, False, ())
    assert (found.space, found.target, found.env, found.load_points) == (
        "s",
        "org/target",
        {"A": "1"},
        SPACE.load_points,
    )


def test_each_start_has_its_exact_command() -> None:
    command = plan(SPACE, CPU, "org/target").starts[0].command
    assert " ".join(command) == (
        "/env/bin/python -m vllm.entrypoints.openai.api_server --model org/target --host 127.0.0.1 --port PORT "
        "--served-model-name SERVED_NAME --max-num-seqs 4"
    )


def test_without_a_second_baseline_it_is_not_planned() -> None:
    found = plan(replace(SPACE, protocol=Protocol(baseline_again=False)), CPU, "t")
    assert found.engine_starts == 8
    assert Role.BASELINE_AGAIN not in [start.role for start in found.starts]


def test_every_worker_has_baselines_of_its_own() -> None:
    assert plan(SPACE, CPU, "t", workers=3).engine_starts == 10 + 2 * 4


def test_limits_cut_the_expected_starts() -> None:
    found = plan(replace(SPACE, limits=Limits(max_trials=9, max_engine_starts=7)), CPU, "t")
    assert (found.engine_starts, found.limited, len(found.starts)) == (7, True, 10)
    assert not plan(replace(SPACE, limits=Limits(max_trials=10)), CPU, "t").limited


def test_what_the_engine_cannot_run_is_listed_and_not_started() -> None:
    found = plan(SPACE, replace(CPU, version="0.12.0", build="cuda"), "t")
    assert {candidate.draft_name for candidate, _ in found.unavailable} == {"good"}
    assert all("draft_model" in reason for _, reason in found.unavailable)
    assert len(found.unavailable) == 4
    assert {start.candidate.draft_name for start in found.starts} == {"none", "ngram"}


def test_a_long_sweep_measures_its_baseline_in_between_and_finalists_after() -> None:
    found = plan(replace(SPACE, choices={}, protocol=Protocol(baseline_every=2, lives=3, max_lives=5)), CPU, "t")
    again, tried = (Role.BASELINE_AGAIN, 0), [(Role.CANDIDATE, k) for k in (1, 3, 3)]
    assert roles(found) == [(Role.BASELINE, 0), *tried[:2], again, tried[2], again]
    assert found.final_rounds == (3, 5)
    assert plan(SPACE, CPU, "t").final_rounds is None
