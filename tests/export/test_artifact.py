"""The artifact as a whole: it is read back as it was written, and holds nothing that belongs to the run alone."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.built_artifact import Built
from tuner.artifact import dump_best_config, parse_best_config
from tuner.artifact.schema import published_schema
from tuner.export.artifact_text import Cleaner
from tuner.records import (
    Bar,
    BarKind,
    Barred,
    Candidate,
    Failure,
    FailureKind,
    Findings,
    LoadPoint,
    Speculation,
    Trial,
    Verdict,
)

Make = Callable[..., Trial]

LOADS = (LoadPoint("chat", 1, 33), LoadPoint("chat", 16, 33))
FORBIDDEN = {
    "a scratch path": re.compile(r"/tmp\b|/var/folders|/dev/shm"),
    "a trial's name": re.compile(r"trial-\d|\d{4}-(baseline|candidate|final|same_runner|draft_alone|schedule)"),
    "a port": re.compile(r"(localhost|127\.0\.0\.1|0\.0\.0\.0):\d|\bport\W+\d", re.IGNORECASE),
    "a test-only setting": re.compile(r"\W{1,3}synthetic\b|synthetic_acceptance"),
}
NASTY = (
    "/tmp/tuner-x1/engine.log: No space left",
    f"see {tempfile.gettempdir()}/abc",
    "/var/folders/zz/T/tuner",
    "trials/0003-candidate-good-k8-fb22feb6/engine.log",
    "0003-candidate_again-good-k4-fb22feb6",
    "0012-same_runner-none-k0-44136fa3 was slower",
    "http://127.0.0.1:41233/v1/models answered 404",
    "localhost:8000 refused",
    "0.0.0.0:8000: address already in use",
    "[::1]:8123 refused",
    "port 41233 is in use",
    "--port=8000",
    "rejection_sample_method: synthetic accepts tokens by chance, whatever the target says",
    '"rejection_sample_method": "synthetic"',
    "synthetic_acceptance_length",
)


def faster_alone(make: Make, **facts: object) -> list[Trial]:
    def tpot(load: LoadPoint, prompt: int, repeat: int) -> float:
        return 0.02 * (1 / 1.9 if load.concurrency == 1 else 1.1) * (1 + 0.002 * prompt)

    plain = make(0, loads=LOADS, tpot=lambda load, i, r: 0.02 * (1 + 0.002 * i))
    return [plain, make(1, k=4, loads=LOADS, tpot=tpot, **facts)]


def failed(make: Make, message: str) -> Trial:
    failure = Failure(FailureKind.CRASHED, message, cause=message)
    return make(2, k=8, loads=LOADS, failure=failure)


@given(st.lists(st.sampled_from(NASTY), min_size=1), st.sampled_from([" ", ", ", "\n", "; (", "'", "]"]))
def test_no_text_keeps_anything_of_the_run(parts: list[str], between: str) -> None:
    cleaned = Cleaner({"0003-candidate-good-k8-fb22feb6": "good K=8"}, ("/models/x",)).text(between.join(parts))
    for what, pattern in FORBIDDEN.items():
        assert pattern.search(cleaned) is None, f"{what}: {cleaned}"


@given(st.text())
def test_other_text_stays(text: str) -> None:
    if not re.search(r"\d|tmp|synthetic|/var|/dev|/private|:", text):
        assert Cleaner({}, ("/models/x",)).text(text) == text


@pytest.mark.parametrize("between", [" ", "\n"])
def test_nothing_of_the_run_gets_in(make_trial: Make, between: str) -> None:
    text = between.join(NASTY)

    def change(found: Findings) -> Findings:
        spec = Speculation("draft_model", 4, "chance", "/models/x", {"rejection_sample_method": "synthetic"})
        barred = Barred(Candidate({}, spec), 0.0, Bar(BarKind.UNDEPLOYABLE, text))
        (answer,) = found.answers
        return replace(found, warnings=(text,), barred=(barred,), answers=(replace(answer, why=text),))

    trials = [*faster_alone(make_trial, changed_settings=(text,)), failed(make_trial, text)]
    built = Built(trials, LOADS, change=change)
    assert built.config.failed[0].candidate == "good K=8"
    for name, written in built.files.items():
        for what, pattern in FORBIDDEN.items():
            found = pattern.search(written)
            assert found is None, f"{what} in {name}: {found and written[found.start() - 40 : found.end() + 40]}"


@pytest.mark.parametrize("nasty", NASTY)
def test_each_of_these_would_be_seen(nasty: str) -> None:
    assert any(pattern.search(nasty) for pattern in FORBIDDEN.values()) or "[::1]" in nasty


def test_models_stay_where_the_user_has_them(make_trial: Make) -> None:
    target = "/tmp/models/target"
    trials = [*faster_alone(make_trial), failed(make_trial, f"{target}/config.json is broken, see /tmp/x/log")]
    built = Built(trials, LOADS, target=target)
    assert built.config.target == built.config.identity.target.id == target
    assert yaml.safe_load(built.files["serve.yaml"])["model"] == target
    assert built.config.failed[0].why.startswith(f"{target}/config.json is broken, see a scratch path")


def test_what_is_written_is_read_back_and_meets_the_published_schema(make_trial: Make) -> None:
    built = Built(faster_alone(make_trial), LOADS)
    text = built.files["best_config.yaml"]
    assert parse_best_config(text, "x") == built.config
    assert dump_best_config(built.config) == text
    validator = jsonschema.Draft202012Validator(json.loads(published_schema()))
    document = yaml.safe_load(text)
    assert list(validator.iter_errors(document)) == []
    document["answers"][0]["surprise"] = 1
    assert [error.validator for error in validator.iter_errors(document)] == ["additionalProperties"]


def test_equal_findings_have_equal_texts(make_trial: Make) -> None:
    assert Built(faster_alone(make_trial), LOADS).files == Built(faster_alone(make_trial), LOADS).files


def test_what_is_measured_of_the_baseline_is_there_too(make_trial: Make) -> None:
    (answer,) = Built(faster_alone(make_trial), LOADS).config.answers
    assert answer.verdict is Verdict.SPECULATE_BELOW
    plain, fast = answer.measured.baseline_load_points[0], answer.measured.load_points[0]
    assert plain.figures["tpot_s"].value == pytest.approx(1.9 * (fast.figures["tpot_s"].value or 0), rel=1e-4)
    assert [load.load_point.concurrency for load in answer.measured.baseline_load_points] == [1, 16]


def test_models_are_named_by_id_content_and_revision(make_trial: Make) -> None:
    known = {"hash": "ab", "of": "content", "scheme": 2, "parts": {"config": "c"}, "weight_bytes": 5, "more": 1}
    built = Built(
        faster_alone(make_trial),
        LOADS,
        fingerprint={"target": known, "drafts": {"good": {"hash": "cd", "of": "name"}}},
        target_revision="r1",
        draft_revisions={"good": "r2"},
    )
    target, draft = built.config.identity.target, built.config.identity.drafts["good"]
    assert (target.id, target.hash, target.scheme, target.parts) == ("org/target", "ab", 2, {"config": "c"})
    assert (target.weight_bytes, target.revision) == (5, "r1")
    assert (draft.id, draft.hash, draft.of, draft.revision) == ("/models/good", "cd", "name", "r2")
