"""What deployments read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.registry.conftest import build_config, keep_config
from tests.service.conftest import BOTH, QWEN, READ, SLUG, Served
from tuner.artifact import load_best_config
from tuner.registry import Registry
from tuner.service.answers import Answers
from tuner.service.holding import Holding

BEST = f"/v1/targets/{SLUG}/best-config"
YAML = {"Accept": "application/yaml"}


def test_each_target_is_listed_with_its_newest_verdict(served: Served) -> None:
    (target,) = served.ask("GET", "/v1/targets", READ).json()["targets"]
    assert (target["slug"], target["target"], target["sweeps"]) == (SLUG, QWEN, 2)
    assert (target["verdict"], target["stamp"]) == ("inconclusive", "20261202T000000Z")
    assert target["freshness"]["state"] == "unknown"
    assert served.ask("GET", "/v1/targets", params={"name": QWEN}).json()["targets"] == [target]
    assert served.ask("GET", "/v1/targets", params={"name": "other"}).json()["targets"] == []


def test_the_yaml_is_an_artifact_that_tuner_reads(served: Served, tmp_path: Path) -> None:
    answer = served.ask("GET", BEST, READ, headers=YAML)
    assert answer.headers["content-type"] == "application/yaml"
    (tmp_path / "best_config.yaml").write_bytes(answer.content)
    assert load_best_config(tmp_path).measured_on.engine.version == "0.26.0"
    assert answer.text.startswith(f"# target: {QWEN}\n# stamp: 20261202T000000Z\n# freshness: unknown\n")


def test_the_json_says_the_same(served: Served) -> None:
    answer = served.ask("GET", BEST, READ)
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert document["best_config"] == yaml.safe_load(served.ask("GET", BEST, headers=YAML).text)
    assert document["freshness"]["state"] == answer.headers["tuner-freshness"] == "unknown"


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", None])
def test_who_has_it_gets_no_body_again(served: Served, accept: str | None) -> None:
    headers = {"Accept": accept} if accept else {}
    first = served.ask("GET", BEST, headers=headers)
    again = served.ask("GET", BEST, headers={**headers, "If-None-Match": f'"x", {first.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert again.headers["tuner-freshness"] == "unknown"
    assert served.ask("GET", BEST, headers={**headers, "If-None-Match": '"x"'}).status_code == 200


def test_the_two_forms_have_two_tags(served: Served) -> None:
    tags = {served.ask("GET", BEST, headers={"Accept": form}).headers["etag"] for form in ("*/*", *YAML.values())}
    assert len(tags) == 2


def test_what_nobody_can_read_is_refused(served: Served) -> None:
    answer = served.ask("GET", BEST, headers={"Accept": "image/png"})
    assert (answer.status_code, answer.json()["type"]) == (406, "urn:tuner:not-acceptable")


def test_a_new_sweep_is_another_answer_with_another_tag(served: Served, setup: dict[str, Any]) -> None:
    tag = served.ask("GET", BEST).headers["etag"]
    keep_config(Registry(setup["registry"]), build_config("0.27.0", target=QWEN), 3)
    answer = served.ask("GET", BEST, headers={"If-None-Match": tag})
    assert (answer.status_code, answer.headers["tuner-stamp"]) == (200, "20261203T000000Z")


def test_head_is_get_without_the_body(served: Served) -> None:
    get, head = served.ask("GET", BEST), served.ask("HEAD", BEST)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == get.headers["etag"]
    assert head.headers["content-length"] == str(len(get.content))


def test_a_header_that_comes_in_several_lines_is_one_list(served: Served) -> None:
    tag = served.ask("GET", BEST).headers["etag"]
    token = ("Authorization", f"Bearer {BOTH}")
    again = served.http.get(BEST, headers=[token, ("If-None-Match", '"x"'), ("If-None-Match", tag)])
    assert again.status_code == 304
    answer = served.http.get(BEST, headers=[token, ("Accept", "image/png"), ("Accept", "application/yaml")])
    assert answer.headers["content-type"] == "application/yaml"


def test_a_target_of_which_nothing_can_be_read_is_named(serve: Callable[..., Served], setup: dict[str, Any]) -> None:
    for stamp in ("20261201T000000Z", "20261202T000000Z"):
        (Path(setup["registry"]) / SLUG / stamp / "entry.json").write_text("{")
    served = serve(setup)
    found = served.ask("GET", "/v1/targets").json()
    assert [one["target"] for one in found["targets"] if one["slug"] == SLUG] == []
    assert len([line for line in found["broken"] if SLUG in line]) == 2
    assert SLUG in served.ask("GET", "/").text


def test_the_history_has_every_sweep_and_what_changed(served: Served) -> None:
    found = served.ask("GET", f"/v1/targets/{SLUG}/history").json()
    assert [sweep["engine"]["version"] for sweep in found["sweeps"]] == ["0.25.0", "0.26.0"]
    assert found["sweeps"][0]["changed"] is None
    assert [change["field"] for change in found["sweeps"][1]["changed"]] == ["engine.version"]
    assert "url" not in found["sweeps"][0]  # a path of the server


def test_a_stale_answer_says_so_in_header_body_and_comments(
    serve: Callable[..., Served], setup: dict[str, Any]
) -> None:
    served = serve(setup, compare=True, engine="sim")
    answer = served.ask("GET", BEST, headers=YAML)
    assert answer.headers["tuner-freshness"] == "stale"
    assert "# freshness: stale\n" in answer.text and "# stale:\n# - 'engine.version: 0.26.0 -> " in answer.text
    freshness = served.ask("GET", BEST).json()["freshness"]
    assert (freshness["state"], freshness["reason"]) == ("stale", "the sweep behind it was not finished")
    assert {"engine.version", "engine.build"} <= {one["field"] for one in freshness["differences"]}


def test_without_an_engine_here_it_is_not_known(serve: Callable[..., Served], setup: dict[str, Any]) -> None:
    served = serve(setup, compare=True, engine="/nowhere")
    freshness = served.ask("GET", BEST).json()["freshness"]
    assert freshness["state"] == "unknown" and "/nowhere" in freshness["reason"]


def test_a_broken_newest_entry_is_named_and_the_one_before_is_served(served: Served, setup: dict[str, Any]) -> None:
    file = Path(setup["registry"]) / SLUG / "20261202T000000Z" / "best_config.yaml"
    file.write_text(file.read_text().replace("0.26.0", "9.9.9"))
    found = served.ask("GET", "/v1/targets").json()
    assert found["targets"][0]["stamp"] == "20261201T000000Z"
    assert "20261202T000000Z" in found["broken"][0]
    assert served.ask("GET", BEST).headers["tuner-stamp"] == "20261201T000000Z"


def test_nothing_that_can_be_read_is_no_artifact(served: Served, setup: dict[str, Any]) -> None:
    for file in (Path(setup["registry"]) / SLUG).glob("*/best_config.yaml"):
        file.unlink()
    assert served.ask("GET", BEST).json()["type"] == "urn:tuner:no-artifact"
    assert json.loads(served.ask("GET", "/v1/targets").text)["targets"] == []


def test_a_name_cannot_end_the_comments_of_the_yaml(serve: Callable[..., Served], setup: dict[str, Any]) -> None:
    name = "org/x\ntarget: evil\u2028#y"
    keep_config(Registry(setup["registry"]), build_config(target=name), 5)
    served = serve(setup)
    (slug,) = [one["slug"] for one in served.ask("GET", "/v1/targets").json()["targets"] if one["target"] == name]
    text = served.ask("GET", f"/v1/targets/{slug}/best-config", headers=YAML).text
    comments = text[: text.index("\nschema_version")]
    assert all(line.startswith("# ") for line in comments.splitlines())
    assert yaml.safe_load(text)["target"] == name


def test_a_sweep_that_this_server_saw_end_is_told_at_once(tmp_path: Path) -> None:
    registry, done = Registry(str(tmp_path)), [0]
    answers = Answers(registry, Holding(None, compare=False), clock=lambda: 0.0, sweeps_done=lambda: done[0])
    assert answers.targets().targets == ()
    keep_config(registry, build_config("0.26.0", target=QWEN), 1)
    assert answers.targets().targets == ()  # of somebody else's sweep it hears later
    done[0] += 1
    assert [target.target for target in answers.targets().targets] == [QWEN]
