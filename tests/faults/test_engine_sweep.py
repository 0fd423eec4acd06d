"""One sweep in which every candidate but one has an engine that fails in its own way: each is one failed trial."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.faults.driver_sweep import Place
from tests.faults.matrix import Group, fault
from tuner.engine.supervisor import LOG_PART_BYTES
from tuner.records import Role, TrialRecord
from tuner.store import read_run

OTHERS = "the other candidates and the answer; no process, port or file of the engine"
REQUEST_TIMEOUT_S, STALL_TIMEOUT_S = 15.0, 20.0
"""Generous: a busy machine must not make a good engine look like a stuck one."""
SPACE: dict[str, Any] = {
    "target": "simulated",
    "engine_args": {"max_model_len": 2048},
    "load_points": [{"eval_set": "prompts.jsonl", "temperature": 0, "concurrency": 1, "max_tokens": 24}],
    "protocol": {
        "repeats": 1,
        "lives": 1,
        "warmup_requests": 1,
        "request_timeout_s": REQUEST_TIMEOUT_S,
        "stall_timeout_s": STALL_TIMEOUT_S,
    },
}
WAIT_S = 1200.0
# Request 0 of a life is the probe, 1 the warm-up; the load begins with 2.
WARM_UP, LOAD = 1, 4


@dataclass(frozen=True)
class Case:
    """A candidate whose engine fails.

    name: of the draft, one a case.  injected: the simulated engine's fault.  kind, code: of the trial's failure.
    words: in its message.
    """

    name: str
    injected: dict[str, Any]
    kind: str
    code: str
    words: str


@dataclass(frozen=True)
class Swept:
    """What came of the sweep."""

    place: Place
    exit_code: int
    last_line: dict[str, Any]
    records: dict[str, list[TrialRecord]] = field(default_factory=dict)

    def only(self, name: str) -> TrialRecord:
        """Return the trial of a candidate: there is exactly one."""
        [record] = self.records[name]
        return record


def failing(name: str, kind: str, code: str, words: str, /, *, what: str, sees: str, **injected: Any) -> Any:
    """Return a case with its row of the matrix."""
    case = Case(name, {"kind": name, **injected}, kind, code, words)
    return pytest.param(case, id=name, marks=fault(Group.ENGINE, what, sees=sees, keeps=OTHERS))


FAILING = [
    failing(
        "crash_at_start",
        "crashed",
        "engine_crash",
        "ValueError: no such head",
        message="ValueError: no such head",
        what="crashes while it starts",
        sees="`crashed` with the first causal line of its log",
    ),
    failing(
        "crash_in_warm_up",
        "crashed",
        "engine_crash",
        "exit code 1",
        kind="crash",
        after_requests=WARM_UP,
        what="crashes in the warm-up",
        sees="`crashed` with its exit code and the first causal line of its log",
    ),
    failing(
        "crash_under_load",
        "crashed",
        "ended_by_signal",
        "SIGSEGV",
        kind="crash",
        after_requests=LOAD,
        exit_code=-11,
        message="",
        what="crashes under load",
        sees="`crashed` with the signal",
    ),
    failing(
        "memory_growth",
        "crashed",
        "killed_by_system",
        "SIGKILL",
        after_requests=LOAD,
        exit_code=-9,
        size_mib=20,
        message="",
        what="grows until the kernel kills it",
        sees="`killed_by_system`: mostly because the host's memory ran out",
    ),
    failing(
        "memory_limit",
        "crashed",
        "host_memory",
        "MemoryError",
        kind="memory_growth",
        after_requests=LOAD,
        size_mib=20,
        message="MemoryError",
        what="grows until a limit ends it",
        sees="`host_memory`: the host's memory ran out",
    ),
    failing(
        "hang_at_start",
        "stuck",
        "stuck_starting",
        "its log has been silent",
        what="hangs at start and never listens",
        sees="`stuck_starting`: its log was silent for longer than stall_timeout_s",
    ),
    failing(
        "silent_port",
        "stuck",
        "stuck_starting",
        "its log has been silent",
        what="accepts connections and never answers",
        sees="`stuck_starting`",
    ),
    failing(
        "unhealthy",
        "stuck",
        "stuck_starting",
        "its log has been silent",
        what="serves and is never healthy",
        sees="`stuck_starting`",
    ),
    failing(
        "hang",
        "stuck",
        "stuck_under_load",
        "no complete answer after",
        after_requests=WARM_UP,
        what="hangs in the middle of a stream",
        sees="`stuck_under_load` after request_timeout_s",
    ),
    failing(
        "slow_stream",
        "stuck",
        "stuck_under_load",
        "no complete answer after",
        after_requests=WARM_UP,
        what="sends one byte a minute",
        sees="`stuck_under_load` after request_timeout_s",
    ),
    failing(
        "port_taken",
        "crashed",
        "port_taken",
        "address already in use",
        what="finds its port taken",
        sees="`port_taken`: run with --retry-failed, each try gets a new port",
    ),
    failing(
        "wrong_model_name",
        "wrong_server",
        "port_taken",
        "serves another-model instead of",
        what="serves another model",
        sees="`wrong_server`; the next call of the command tries it again",
    ),
    failing(
        "unauthorized",
        "wrong_server",
        "port_taken",
        "HTTP 401",
        what="refuses its own key (HTTP 401)",
        sees="`wrong_server` with the status; the next call of the command tries it again",
    ),
    failing(
        "refused",
        "refused",
        "refused",
        "HTTP 401",
        kind="http_error",
        status=401,
        what="becomes ready and refuses every request",
        sees="`refused` with the status and the engine's words",
    ),
    failing(
        "daemonizes",
        "crashed",
        "engine_crash",
        "exit code 0",
        what="forks itself into a session of its own and lets its first process end",
        sees="`crashed` with exit code 0",
    ),
    failing(
        "wrong_content_type",
        "refused",
        "unusable_answers",
        "answered with text/html instead of text/event-stream",
        what="answers with a page instead of a stream",
        sees="`unusable_answers` with the content type",
    ),
    failing(
        "wrong_length",
        "refused",
        "unusable_answers",
        "ClientPayloadError",
        what="promises more bytes than it sends",
        sees="`unusable_answers`: the answer is incomplete",
    ),
    failing(
        "truncated_stream",
        "refused",
        "unusable_answers",
        "the first: Client",
        what="breaks connections off in the middle of an answer",
        sees="`unusable_answers`: the connection broke",
    ),
    failing(
        "half_event",
        "refused",
        "unusable_answers",
        "the stream ended before [DONE]",
        what="ends a stream within an event, without [DONE]",
        sees="`unusable_answers`: the stream ended before [DONE]",
    ),
    failing(
        "usage_missing",
        "refused",
        "unusable_answers",
        "the answer has no usage",
        what="sends answers without usage",
        sees="`unusable_answers`: the answer has no usage",
    ),
    failing(
        "metrics_missing",
        "invalid",
        "",
        "answers /metrics with HTTP 404",
        what="has no /metrics",
        sees="`invalid`: without counters nothing can be checked",
    ),
    failing(
        "metrics_garbage",
        "invalid",
        "",
        "/metrics cannot be read",
        what="has garbage on /metrics",
        sees="`invalid`: /metrics cannot be read",
    ),
    failing(
        "speculation_off",
        "speculation_inactive",
        "",
        "does not speculate",
        what="answers, with speculation switched off",
        sees="`speculation_inactive`: look in its log for the line that says why",
    ),
]
CASES: list[Case] = [param.values[0] for param in FAILING]
# These are measured; what they did wrong bars them from winning. Fault, and words of the bar.
BARRED = [
    pytest.param(
        "http_error",
        {"status": 503, "after_requests": LOAD},
        "75.0% of its requests failed, 0.0% of the baseline's",
        marks=fault(
            Group.ENGINE,
            "answers some requests with HTTP 503",
            sees="`cannot win`: the share of its requests that failed, beside the baseline's",
            keeps=OTHERS,
        ),
    ),
    pytest.param(
        "counters_backwards",
        {"after_requests": LOAD},
        "the engine counted 4 finished requests, 8 were answered",
        marks=fault(
            Group.ENGINE,
            "lets its counters go backwards",
            sees="`cannot win`: what the engine counted, and what was answered; the repeat is left out",
            keeps=OTHERS,
        ),
    ),
    pytest.param(
        "counters_contradict",
        {"after_requests": LOAD},
        "accepted tokens by position sum to",
        marks=fault(
            Group.ENGINE,
            "has counters that break their identities",
            sees="`cannot win`: the identity that does not hold; the repeat is left out",
            keeps=OTHERS,
        ),
    ),
]
# None of the user's business: they are measured like the good one.
HARMLESS = [
    pytest.param(
        "ignore_term",
        {},
        marks=fault(
            Group.ENGINE,
            "ignores TERM in a whole sweep",
            sees="the trial takes 8 s longer to stop",
            keeps="everything measured; it is killed",
        ),
    ),
    pytest.param(
        "stubborn_child",
        {},
        marks=fault(
            Group.ENGINE,
            "leaves a daemon in a session of its own that ignores TERM",
            sees="nothing",
            keeps="everything measured; the daemon is killed too",
        ),
    ),
    pytest.param(
        "log_flood",
        {"size_mib": 48},
        marks=fault(
            Group.ENGINE,
            "floods its log in a whole sweep",
            sees="nothing",
            keeps="32 MiB of the log: beginning and end",
        ),
    ),
    pytest.param(
        "token_ids_missing",
        {},
        marks=fault(
            Group.ENGINE,
            "sends no token ids",
            sees="its outputs are not compared; it is measured",
            keeps="everything measured",
        ),
    ),
]


def injected(params: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the faults of BARRED or HARMLESS by the draft that has them."""
    return {param.values[0]: {"kind": param.values[0], **param.values[1]} for param in params}


def write(place: Place, faults: dict[str, dict[str, Any]]) -> None:
    """Write a space of one good draft and one draft for each fault; the others accept less, so that it wins."""
    names = dict.fromkeys(("good", *(name for name in faults if name != "none")))
    drafts = [{"name": name, "method": "draft_model", "model": name, "k": [2]} for name in names]
    profile = {
        "targets": [{"match": "*", "step_s": 0.004}],
        "drafts": [
            {"match": "good", "step_s": 0.0002, "acceptance": [0.95]},
            {"match": "*", "step_s": 0.0004, "acceptance": [0.3]},
        ],
        "faults": [{"draft": name, **injected} for name, injected in faults.items()],
    }
    (place.path / "space.yaml").write_text(yaml.safe_dump({**SPACE, "drafts": drafts}))
    (place.path / "sim.yaml").write_text(yaml.safe_dump(profile))


def swept(place: Place, faults: dict[str, dict[str, Any]], *options: str, sampler: str = "grid") -> Swept:
    """Run `tuner sweep` over them, to its end."""
    write(place, faults)
    driver = place.paste(" ".join((place.command(), f"--sampler {sampler} --no-registry --quiet", *options)))
    exit_code = driver.process.wait(WAIT_S)
    last_line = json.loads(driver.out.splitlines()[-1])
    records: dict[str, list[TrialRecord]] = {}
    for trial in read_run(place.run)[1]:
        spec = trial.record.candidate.speculation
        records.setdefault(spec.draft_name if spec else "none", []).append(trial.record)
    return Swept(place, exit_code, last_line, records)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    faults = {case.name: case.injected for case in CASES} | injected(BARRED) | injected(HARMLESS)
    for _ in range(2):
        found = swept(Place(tmp_path_factory.mktemp("faults") / "place", lives=1), faults, "--max-workers", "2")
        # A baseline has no fault: if one fails, it was for what else this machine does.
        unlucky = [record.failure for record in found.records["none"] if record.failure]
        if not unlucky:
            break
        print("once more, as a baseline failed:", unlucky)
    return found


def test_the_sweep_ends_with_its_verdict_and_exit_code_0(sweep: Swept) -> None:
    assert sweep.exit_code == 0
    assert sweep.last_line["verdict"] == "speculate"
    assert sweep.last_line["best"]["draft"] == "good"
    # What a stranger on the port says is no answer to the question: the next call asks it again.
    again = [case.name for case in CASES if case.kind == "wrong_server"]
    assert (len(again), sweep.last_line["finished"]) == (2, False)
    assert sorted(one["candidate"] for one in sweep.last_line["failures"]) == sorted(f"{c.name} K=2" for c in CASES)
    assert sweep.last_line["failed"] == len(CASES)


@pytest.mark.parametrize("case", FAILING)
def test_a_fault_is_one_failed_trial_with_its_class_and_a_next_step(sweep: Swept, case: Case) -> None:
    record = sweep.only(case.name)
    failure = record.failure
    assert failure is not None
    assert (failure.kind.value, failure.code) == (case.kind, case.code), failure
    assert case.words in failure.message, failure
    assert failure.remedy
    assert record.loads == ()
    assert (sweep.place.run / "trials" / record.name / "engine.log").exists()


@pytest.mark.parametrize(("name", "injected", "words"), BARRED)
def test_a_fault_of_some_answers_bars_its_candidate_from_winning(
    sweep: Swept, name: str, injected: dict[str, Any], words: str
) -> None:
    assert sweep.only(name).failure is None
    bars = [line for line in sweep.last_line["warnings"] if line.startswith(f"{name} K=2 cannot win: ")]
    assert any(words in line for line in bars), sweep.last_line["warnings"]


@pytest.mark.parametrize(("name", "injected"), HARMLESS)
def test_a_fault_that_touches_no_figure_is_no_failure(sweep: Swept, name: str, injected: dict[str, Any]) -> None:
    record = sweep.only(name)
    assert record.failure is None
    assert [repeat.problems for load in record.loads for repeat in load.repeats] == [()]
    log = sweep.place.run / "trials" / record.name / "engine.log"
    assert log.stat().st_size < 2 * LOG_PART_BYTES + 100


def test_nothing_is_left_of_any_engine(sweep: Swept) -> None:
    assert sweep.place.left()[1] == []
    assert list(sweep.place.temporary.rglob("*")) == []
    assert list(sweep.place.run.rglob(".*.tmp")) == []
    for record in (record for records in sweep.records.values() for record in records):
        assert record.engine is not None
        port = int(record.engine.command[record.engine.command.index("--port") + 1])
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))


def test_what_failed_is_not_tried_again_by_itself(sweep: Swept) -> None:
    assert {name: len(records) for name, records in sweep.records.items() if len(records) > 1} == {"none": 4}


@fault(
    Group.ENGINE,
    "fails for every candidate, but not for the baseline",
    sees="exit code 0, verdict `inconclusive`: do not speculate; each failure with its class",
    keeps="the baseline; `serve.yaml` has no speculation",
)
def test_where_every_candidate_fails_the_answer_is_to_serve_without_speculation(tmp_path: Path) -> None:
    everywhere = {"good": {"kind": "crash_at_start"}, "other": {"kind": "speculation_off"}}
    result = swept(Place(tmp_path / "place", lives=1), everywhere)
    assert (result.exit_code, result.last_line["failed"]) == (0, 2)
    assert result.last_line["verdict"] == "inconclusive"
    assert result.last_line["answers"][0]["why"] == "No speculative candidate gave a measurement."
    assert "speculative-config" not in yaml.safe_load((result.place.run / "serve.yaml").read_text())
    assert result.place.left()[1] == []


@fault(
    Group.ENGINE,
    "fails for the baseline",
    sees="exit code 3 and one message with the baseline's failure; no candidate is started",
    keeps="the next call of the command tries the baseline again",
)
def test_where_the_baseline_fails_nothing_else_is_started(tmp_path: Path) -> None:
    broken = {"none": {"kind": "crash_at_start", "message": "ValueError: too large"}}
    result = swept(Place(tmp_path / "place", lives=1), broken, sampler="guided")
    assert (result.exit_code, result.last_line["exit_code"]) == (3, 3)
    assert "ValueError: too large" in result.last_line["error"]
    assert result.last_line["next_step"]
    started = [record for records in result.records.values() for record in records if record.engine]
    assert [record.role for record in started] == [Role.BASELINE]
    assert result.place.left()[1] == []
