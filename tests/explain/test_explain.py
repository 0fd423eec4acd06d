"""Explanations: golden texts in both languages, and that nothing is said that a run does not hold."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.explain.examples import GOLDEN, LANGUAGES, LOADS, RECORDED, ROOT, runs, simulated_manifest, texts, tpot
from tuner.analysis.diagnoses.rules import RULES
from tuner.errors import NothingMeasured, OutputError
from tuner.explain import explained, explained_json, explained_text, read_facts
from tuner.explain.facts import Why
from tuner.explain.figures import COUNTED
from tuner.explain.lines import placeholders
from tuner.explain.telling import LANGUAGES as SPOKEN
from tuner.records import Confidence, Effect, Limit, LoadPoint, Metric, Sampling, Trial, Verdict
from tuner.report import manifest_json
from tuner.store import RunStore

Make = Callable[..., Trial]
MESSAGES = {name: language.messages for name, language in SPOKEN.items()}
FIGURE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?x?")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Return every example's explanation by name and language."""
    return {name: texts(run) for name, run in runs(tmp_path_factory.mktemp("runs")).items()}


def explain(path: Path, trials: list[Trial], *, finished: bool = True, **manifest: object) -> str:
    """Return the explanation of a run of these trials, in English."""
    of = replace(simulated_manifest(trials), **manifest)  # type: ignore[arg-type]
    with RunStore.open(path, {"a": 1}, manifest_json(of)) as store:
        for trial in trials:
            store.save(trial)
        if finished:
            store.finish({"verdict": "x"})
    for language in LANGUAGES:
        assert explained_text(explained(read_facts(path)), language)
    return " ".join(explained_text(explained(read_facts(path)), "en").split())


@pytest.mark.parametrize("name", ["simulated", *RECORDED])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_texts_are_as_agreed(name: str, language: str, told: dict[str, dict[str, str]]) -> None:
    """After a change of words: `python -m tests.explain.examples`, then read what it wrote."""
    assert told[name][language] == (GOLDEN / f"{name}.{language}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["simulated", *RECORDED])
def test_both_languages_hold_the_same_figures(name: str, told: dict[str, dict[str, str]]) -> None:
    english, chinese = (Counter(FIGURE.findall(told[name][language])) for language in LANGUAGES)
    extra = {"1.00x", "1.8", "1x", "5x", "10x", "0", "1"}  # in the words themselves
    assert {figure: english[figure] for figure in english if figure not in extra} == {
        figure: chinese[figure] for figure in chinese if figure not in extra
    }


def test_both_languages_have_the_same_messages_with_the_same_placeholders() -> None:
    english, chinese = MESSAGES["en"], MESSAGES["zh"]
    assert list(english) == list(chinese)
    assert {key: placeholders(text) for key, text in english.items()} == {
        key: placeholders(text) for key, text in chinese.items()
    }
    sentences = {key: re.sub("{.*?}", "", text) for key, text in english.items() if not key.startswith("clauses.")}
    worded = [key for key, text in sentences.items() if re.search("[a-z]{3}", text)]
    assert [key for key in worded if not re.search("[\u4e00-\u9fff]", chinese[key])] == []


def made_keys() -> set[str]:
    """Return the keys that are put together from an enumeration."""
    codes = {code for rule in RULES for code in rule.codes}
    return {
        *(f"{part}.{code}" for code in codes for part in ("cause", "next")),
        *(f"doubt.{limit.value}" for limit in Limit),
        *(f"needed.{limit.value}" for limit in Limit if limit is not Limit.DRIFT),
        *(f"answer.{verdict.value}" for verdict in Verdict),
        *(f"effect.{effect.value}" for effect in Effect),
        *(f"load.{effect.value}_at" for effect in Effect),
        *(f"metric.{metric.value}" for metric in Metric),
        *(f"missing.{why.value}" for why in Why),
        *(f"sure.{sure.value}" for sure in Confidence),
        *(f"n.{of}" for of in COUNTED),
        *(f"why.{verdict}" for verdict in ("faster", "faster_here", "slower", "slower_here", "open")),
        *(f"{how}.{part}" for how in ("list", "clauses") for part in ("comma", "last")),
    }


def test_every_kind_has_its_message() -> None:
    assert made_keys() <= MESSAGES["en"].keys()


def test_no_message_is_left_that_nothing_says() -> None:
    package = Path(__file__).parents[2] / "tuner" / "explain"
    source = "".join(path.read_text() for path in package.glob("*.py") if not path.name.startswith("messages"))
    named = set(re.findall(r'"([a-z_]+(?:\.[a-z_]+)?)"', source))
    assert MESSAGES["en"].keys() - named - made_keys() == set()


def test_the_run_is_left_as_it_is(tmp_path: Path) -> None:
    run = runs(tmp_path)["simulated"]
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    explained_text(explained(read_facts(run)), "zh")
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_scripts_get_every_line_with_its_key_and_values(tmp_path: Path) -> None:
    found = explained(read_facts(runs(tmp_path)["simulated"]))
    told = json.loads(json.dumps(explained_json(found, "zh")))
    sections = {section["name"]: section for section in told["sections"]}
    first = sections["answer"]["lines"][0]
    assert first["key"] == "answer.speculate_below"
    assert first["values"] == {"draft": "good", "k": "4", "up_to": "8", "below": "32"}
    assert {"command": f"tuner check {tmp_path / 'simulated'}"} in sections["deploy"]["lines"]


def test_where_nothing_pays(tmp_path: Path, make_trial: Make) -> None:
    slow = {"acceptance": [0.3, 0.09], "loads": LOADS}
    trials = [
        make_trial(0, loads=LOADS, tpot=tpot(0, 0.0)),
        make_trial(1, k=2, tpot=lambda load, prompt, repeat: 0.03 * (1 + 0.001 * prompt + 0.0001 * repeat), **slow),
    ]
    text = explain(tmp_path / "run", trials)
    assert "Do not speculate: nothing that was tried pays here." in text
    assert "All of it lies below 1.00x" in text
    assert "Start vLLM without speculation" in text and "serve.speculate.yaml" not in text
    assert "alerts.yaml" not in text  # there is nothing to watch


def test_it_is_started_with_the_python_that_it_was_measured_with(tmp_path: Path, make_trial: Make) -> None:
    command = ("/of mine/bin/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m")
    trials = [make_trial(0, loads=LOADS), make_trial(1, k=2, loads=LOADS, tpot=tpot(2, 0.8))]
    assert trials[0].record.engine is not None
    engine = replace(trials[0].record.engine, command=command)
    trials[0] = replace(trials[0], record=replace(trials[0].record, engine=engine))
    run = tmp_path / "a run"
    text = explain(run, trials, engine_build="cpu")
    assert f"'/of mine/bin/python' -m vllm.entrypoints.openai.api_server --config '{run}/serve" in text


def test_where_nothing_that_speculates_has_figures(tmp_path: Path, make_trial: Make) -> None:
    text = explain(tmp_path / "run", [make_trial(0, loads=LOADS), make_trial(1, k=2, failure="it died")])
    assert "No setting with speculation has figures to compare." in text
    assert "good K=2 failed: it died" in text


def test_each_temperature_has_its_answer(tmp_path: Path, make_trial: Make) -> None:
    loads = (LOADS[0], replace(LOADS[0], sampling=Sampling(temperature=1.0)))

    def seconds(load: LoadPoint, prompt: int, repeat: int) -> float:
        return (0.01 if load.sampling.temperature == 0 else 0.03) * (1 + 0.001 * prompt + 0.0001 * repeat)

    trials = [
        make_trial(0, loads=loads, tpot=lambda load, prompt, repeat: 0.02 * (1 + 0.001 * prompt + 0.0001 * repeat)),
        make_trial(1, k=2, loads=loads, tpot=seconds),
    ]
    text = explain(tmp_path / "run", trials, load_points=loads)
    assert "# Temperature 0 " in text and "# Temperature 1 " in text
    cold, hot = text.split("# Temperature 1 ")
    assert "Speculate, with draft good and K = 2." in cold and "Do not speculate" in hot
    assert "Only concurrency 1 was measured." in cold
    assert text.count("## What was not measured") == 1
    assert "with what won" in cold and "/serve.yaml" in cold and "serve-t1.yaml" not in cold
    assert "without speculation" in hot and "/serve-t1.yaml" in hot and "/serve.yaml" not in hot


def test_an_unfinished_sweep_predicts_nothing_of_what_is_open(tmp_path: Path, make_trial: Make) -> None:
    trials = [make_trial(0, loads=LOADS), make_trial(1, k=4, loads=LOADS, tpot=tpot(4, 0.8))]
    text = explain(tmp_path / "run", trials, finished=False)
    assert "The sweep is not finished" in text
    assert "K = 1-3, 6, 8: the sweep is not finished." in text
    assert "predicted" not in text.split("## What was not measured")[1].split("##")[0]


def test_a_smaller_k_that_is_not_in_the_space_is_not_called_missing(tmp_path: Path, make_trial: Make) -> None:
    trials = [make_trial(0, loads=LOADS), make_trial(1, k=4, loads=LOADS, tpot=tpot(4, 0.8))]
    text = explain(tmp_path / "run", trials, draft_ks={"good": (4,)}, candidates=())
    assert "The search space has no smaller K." in text
    assert "K = 4 is the largest in the search space" in text
    assert "Nothing is missing" in text


def test_a_k_between_two_measured_ones_is_said_without_calling_either_the_nearest(
    tmp_path: Path, make_trial: Make
) -> None:
    """K = 2 is as far from 1 as from 3."""
    trials = [make_trial(0, loads=LOADS)]
    trials += [make_trial(k, k=k, loads=LOADS, tpot=tpot(k, 0.8 if k == 3 else 0.1)) for k in (1, 3)]
    text = explain(tmp_path / "run", trials, draft_ks={"good": (1, 3)}, candidates=())
    assert "Not in the search space: K = 2. So it is compared with K = 1." in text


def test_what_cannot_be_explained_is_said(tmp_path: Path, make_trial: Make) -> None:
    with pytest.raises(OutputError, match="not a run of tuner"):
        read_facts(tmp_path)
    trials = [make_trial(0, failure="no GPU")]
    with pytest.raises(NothingMeasured):
        explain(tmp_path / "run", trials)


def test_a_draft_that_changes_answers_is_named_once(tmp_path: Path) -> None:
    text = explained_text(explained(read_facts(ROOT / "tests" / "data" / "h200-14b")), "en")
    assert text.count("good K=3 may not win") == 1 and "the first of 4 reasons" in text
    assert "is at most 8. At 64 it is slower" in " ".join(text.split())  # 32 was measured, and nothing is claimed of it
