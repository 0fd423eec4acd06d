import re
from pathlib import Path

import pytest
import yaml

from tuner.errors import SpaceError
from tuner.service.allowed import AllowList, Order, read_allowed
from tuner.service.problems import Refused

DOCS = Path(__file__).parents[2] / "docs" / "serving.md"
LEAST = "targets: {small: {model: any-name}}\nspaces: {tiny: tiny}\nengines: {sim: sim}\n"


def written(root: Path, text: str) -> Path:
    file = root / "allowed.yaml"
    file.write_text(text)
    return file


def test_an_order_becomes_arguments_of_the_server_alone(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("")
    (tmp_path / "models" / "target").mkdir(parents=True)
    (tmp_path / "chat.jsonl").write_text("")
    text = """\
targets: {small: {model: models/target, drafts: [org/draft, ./models/target]}}
spaces: {own: ./own.yaml}
eval_sets: {chat: chat.jsonl}
engines: {sim: "sim:steady"}
download: true
"""
    order = Order(target="small", space="own", engine="sim", eval_set="chat", if_stale=False)
    target = str(tmp_path / "models" / "target")
    assert read_allowed(written(tmp_path, text)).arguments(order) == (
        *("--space", str(tmp_path / "own.yaml"), "--engine", "sim:steady"),
        *("--eval-set", str(tmp_path / "chat.jsonl"), "--draft", "org/draft", "--draft", target),
        *("--download", "--", target),
    )


def test_an_order_without_more_measures_only_what_is_stale(tmp_path: Path) -> None:
    order = Order(target="small", space="tiny", engine="sim")
    arguments = read_allowed(written(tmp_path, LEAST)).arguments(order)
    assert arguments == ("--space", "tiny", "--engine", "sim", "--if-stale", "--", "any-name")


def test_a_name_that_looks_like_a_file_beside_it_is_still_a_name(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    assert read_allowed(written(tmp_path, LEAST)).spaces == {"tiny": "tiny"}


@pytest.mark.parametrize("part", ["target", "space", "engine", "eval_set"])
def test_a_name_that_is_not_there_is_refused(tmp_path: Path, part: str) -> None:
    allowed = read_allowed(written(tmp_path, LEAST))
    order = Order.model_validate({"target": "small", "space": "tiny", "engine": "sim", part: "other"})
    with pytest.raises(Refused) as refused:
        allowed.check(order)
    assert (refused.value.problem.status, f"no {part} 'other'" in refused.value.problem.detail) == (403, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "targets: Field required"),
        (f"{LEAST}trust_remote_code: true\n", "allowed.yaml:4: trust_remote_code"),
        ("targets: {small: {model: x, args: [a]}}\nspaces: {a: a}\nengines: {a: a}\n", "targets.small.args"),
        ("targets: {'../x': {model: x}}\nspaces: {a: a}\nengines: {a: a}\n", "targets.../x"),
        ("targets: {x: {model: x}}\nspaces: {a: --out}\nengines: {a: a}\n", "would be an option"),
        (f"{LEAST}download: 'yes'\n", "download"),
        ("targets: {x: {model: x}, x: {model: y}}\n", "twice"),
        ("[", "not valid YAML"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpaceError) as refused:
        read_allowed(written(tmp_path, text))
    assert words in refused.value.message


def test_the_file_in_the_docs_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert set(yaml.safe_load(block)) == set(AllowList.model_fields)
    read_allowed(written(tmp_path, block))
