"""The pages in Chinese: every sentence of the source is told, and a recorded run's pages have none in English."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import tuner
import tuner.report
from tests.page.reading_html import Element, read
from tuner.cli.report import report
from tuner.page.chinese import CHINESE, PHRASES, SAID
from tuner.page.english import ENGLISH
from tuner.space.schema import load_space

PACKAGE = Path(tuner.__file__).parent
RECORDED = Path(__file__).parents[1] / "data" / "h200-14b-grid"
REDUCED = (
    "1 instead of 3 fresh engine lives of the finalists; the baseline is not measured again at the end, so drift is "
    "unknown"
)
"""What the recorded run's own search space says of its protocol: the user's words."""
PATTERN = re.compile(r"\\|\(\?|\w\|\w|\.\*")
"""What only a regular expression has."""
SENTENCE = re.compile(r"(?<![/\w-])[A-Za-z']{2,}(?:[,;:]? [a-z']{2,}){2,}")
"""Three English words in a row."""
SHOWN = (
    "analysis/diagnoses/acceptance.py",
    "analysis/diagnoses/memory.py",
    "analysis/diagnoses/noise.py",
    "analysis/diagnoses/outputs.py",
    "analysis/diagnoses/phrases.py",
    "analysis/diagnoses/setup.py",
    "analysis/diagnoses/step_cost.py",
    "analysis/diagnoses/traffic.py",
    "analysis/diagnoses/vocabulary.py",
    "analysis/eligibility.py",
    "analysis/finals.py",
    "analysis/findings.py",
    "analysis/fresh.py",
    "analysis/k_schedule.py",
    "analysis/limit_words.py",
    "analysis/limits.py",
    "analysis/losslessness.py",
    "analysis/plausible.py",
    "analysis/rules.py",
    "analysis/sanity.py",
    "analysis/schedule_judged.py",
    "analysis/selection.py",
    "analysis/warnings.py",
    "analysis/wording.py",
    "compare/causes.py",
    "compare/changes.py",
    "compare/comparison.py",
    "compare/figures.py",
    "compare/from_records.py",
    "compare/judged.py",
    "compare/markdown.py",
    "compare/quantity.py",
    "compare/rows.py",
    "compare/rule.py",
    "compare/words.py",
    "engine/device/disturbances.py",
    "engine/failures/allocations.py",
    "engine/failures/inputs.py",
    "engine/failures/memory.py",
    "engine/failures/share.py",
    "engine/failures/system.py",
    "export/artifact_recommended.py",
    "preflight/memory.py",
    "preflight/memory_plan.py",
    "preflight/tensors.py",
    "report_page.py",
    "report_sections/apart.py",
    "report_sections/changed_settings.py",
    "report_sections/device.py",
    "report_sections/diagnoses.py",
    "report_sections/dragged.py",
    "report_sections/fixed.py",
    "report_sections/goal.py",
    "report_sections/lives.py",
    "report_sections/noise.py",
    "report_sections/sameness.py",
    "report_sections/schedule.py",
    "report_sections/surface.py",
    "search/left.py",
    "upgrade/begun.py",
    "words.py",
)
"""Modules whose sentences reach a page."""
TERMS = """
attention auth baseline breakeven CACHE cache chat CPU CUDA DEBUG dev diagnose dmesg drafts dtype EAGLE env
GB GiB GPU gram graph half head hf HTTP hub id INFO install instruct kernel KV KVCACHE lives login logits
losslessness ltnp max method metric MHz MODEL model MTP nat NCCL noise num nvidia object objective pip
prefill preflight probabilistic protocol Python Ray ray ROOT RUN runner safetensors salt seqs serve shm SIGKILL smi
SPACE ss store sweep TB template tmp token tokenizer toolkit torch torchaudio torchcodec torchvision TPOT
true TTFT tuner uninstall VLLM vLLM worker yaml
"""
"""Words that Chinese engineers use as they are, and names of commands, files and settings."""
KEPT = frozenset(TERMS.split())
NOT_SHOWN = (
    "out of memory|",
    "No available memory",
    "<!--",
    "tuner sweep {}",
    "--",
    "the two sweeps have no load point in common",
    "Sweep again with the eval sets",
    "mean over rounds of engine lives",
)
"""Beginnings of texts that reach no page: patterns, options, errors, names of estimators."""


def templates(path: Path) -> Iterator[str]:
    """Yield every text of a module, docstrings left out, with {} for what is filled in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    inner -= {id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare | inner:
            yield node.value


def sentences(path: Path) -> Iterator[str]:
    for text in templates(path):
        shown = " " in text and len(re.findall(r"[A-Za-z]{2,}", text)) >= 2
        if shown and not text.startswith(NOT_SHOWN) and not PATTERN.search(text):
            yield text


def english_left(text: str) -> list[str]:
    """Return the words that only an English sentence has."""
    plain = re.sub(r"`[^`]*`|--[a-z-]+|\b[a-z]+(?:_[a-z]+)+\b", "", text)
    return [word for word in re.findall(r"[A-Za-z]{2,}", plain) if word not in KEPT]


def filled(text: str, glued: str) -> str:
    """Return a text with 7 for everything that is filled in.  glued: for what follows a word without a space."""
    return re.sub(r"\{\w*\}", "7", re.sub(r"(?<=[a-z).])\{\w*\}|\{\w*\}(?=[a-z])", glued, text))


@pytest.mark.parametrize("module", SHOWN)
def test_every_sentence_of_the_source_is_in_the_phrasebook(module: str) -> None:
    left = {
        text: told
        for text in sentences(PACKAGE / module)
        for told in [CHINESE.told_markdown(filled(text, glued="7"))]
        if english_left(told) and english_left(CHINESE.told_markdown(filled(text, glued="")))
    }
    assert not left


def test_what_is_not_in_the_phrasebook_is_seen() -> None:
    assert english_left(CHINESE.told("the moon is made of 7 cheeses"))
    assert not english_left(CHINESE.told("7 of 7 requests failed over 7 fresh lives, 7 of 7 of the baseline's"))


def test_a_sentence_that_begins_with_a_name_is_told_by_itself() -> None:
    tie = "good K=5 was measured at 1.05x of it (95 % 0.98-1.10), which is not proven: the smaller K is taken."
    assert english_left(CHINESE.told(f"Between 1 and 8 nothing was measured. {tie}")) == ["good"]


def test_both_languages_have_the_same_sentences_with_the_same_places() -> None:
    assert list(CHINESE.sentences) == list(ENGLISH.sentences)
    for name, sentence in ENGLISH.sentences.items():
        assert places(CHINESE.sentences[name]) == places(sentence), name
        assert CHINESE.sentences[name].strip() or not sentence.strip(), name


def test_a_phrase_fills_what_it_takes() -> None:
    for source, text in PHRASES.items():
        assert places(text) <= places(source), source
        dropped = places(source) - places(text)
        assert dropped <= {"be", "lives", "p", "unit", "them"}, source


def test_no_text_has_two_translations() -> None:
    seen: dict[str, str] = {}
    for said in SAID:
        for source, text in said.items():
            assert seen.setdefault(source, text) == text, source


def places(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield what `tuner report --lang zh` writes of a recorded run, by file name."""
    run = shutil.copytree(RECORDED, tmp_path_factory.mktemp("zh") / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuner.report, "save_plots", lambda *_, **__: (run / "plots" / "speedup.png",))
        done = CliRunner().invoke(report, [str(run), "--lang", "zh"])
    assert done.exit_code == 0, done.output
    yield {"table": done.output, **{path.name: path.read_text(encoding="utf-8") for path in run.glob("*.[hm]*")}}


@pytest.mark.parametrize("name", ["report.html", "report.md", "pull_request.md", "table"])
def test_no_english_sentence_is_left_of_a_recorded_run(recorded: dict[str, str], name: str) -> None:
    written = recorded[name]
    said = list(page_texts(read(written))) if name.endswith("html") else [" ".join(written.split())]
    told = [re.sub(r"`[^`]*`", "", text.replace(REDUCED, "")) for text in said]
    left = [found[0] for text in told if (found := SENTENCE.search(text))]
    assert not left


def test_a_picture_with_english_labels_is_not_on_the_page(recorded: dict[str, str]) -> None:
    assert "图表见 `report.html`" in recorded["report.md"]
    assert "![" not in recorded["report.md"]
    assert "<img" not in recorded["report.html"]


def test_the_page_says_its_language(recorded: dict[str, str]) -> None:
    assert '<html lang="zh-CN">' in recorded["report.html"]
    assert "首 token 延迟" in recorded["report.html"]


def page_texts(element: Element) -> Iterator[str]:
    """Yield every text of a page and of its labels; code is for machines."""
    if element.tag not in ("style", "script", "code", "pre"):
        yield element.text
        yield from (element.attrs[name] for name in ("aria-label", "data-tip") if name in element.attrs)
        for child in element.children:
            yield from page_texts(child)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("good K=3", "good K=3"),
        ("12 prompts", "12 个提示词"),
        ("Do not speculate", "不要使用投机解码"),
        ("chat, concurrency 8, T=0, up to 96 tokens", "chat，并发 8，T=0，最多 96 个 token"),
        ("pays at 1, 8 and 32", "在并发 1、8、32 时划算"),
        (
            "a 1: 6 of 8 answers have the baseline's token ids (its own among themselves: 8 of 8)",
            "a 1：8 个回答里有 6 个与基线的 token 完全相同（基线自己各次之间：8 / 8）",
        ),
        (
            "reduced protocol: 2 instead of 3 repeats; the baseline is not measured again at the end, "
            "so drift is unknown.",
            "缩减的测量方案：只重复 2 次，而不是 3 次；结束时没有再测基线，所以漂移不知道。",
        ),
        ("", ""),
    ],
)
def test_parts_are_told_by_themselves(text: str, told: str) -> None:
    assert CHINESE.told(text) == told


@pytest.mark.parametrize("space", sorted((PACKAGE.parent / "search_spaces").glob("*.yaml")), ids=lambda path: path.name)
def test_what_a_shipped_space_says_of_its_protocol_is_told_as_a_whole(space: Path) -> None:
    reduced = load_space(str(space)).protocol.reduced
    assert not reduced or not english_left(CHINESE.told(f"reduced protocol: {reduced}"))


@pytest.mark.parametrize(
    "own",
    [
        "This is my demo: 6 prompts, short answers, 2 repeats and one engine life each",
        "6 prompts",
        "2 instead of 3 repeats; because the machine is lent",
        "Few prompts. The baseline drifts; noise is large (clear)",
    ],
)
def test_the_users_own_words_are_never_told_in_parts(own: str) -> None:
    told = CHINESE.told(f"reduced protocol: {own}")
    known = CHINESE.told(own)
    assert told.startswith("缩减的测量方案：")
    assert told.removeprefix("缩减的测量方案：") in (own, known)
    assert not (re.search("[\u4e00-\u9fff]", told.removeprefix("缩减的测量方案：")) and english_left(known))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("## Why", "## 原因"),
        ("| candidate | `a b` | 1.5x |", "| 候选配置 | `a b` | 1.5x |"),
        ("  - next: Take K = 3.", "  - 下一步：Take K = 3。"),
        ("![a plot](a.png)", "![a plot](a.png)"),
        ("|---|---:|", "|---|---:|"),
    ],
)
def test_marks_of_markdown_stay(line: str, told: str) -> None:
    assert CHINESE.told_markdown(line) == told
    assert ENGLISH.told_markdown(line) == line


@given(st.text(max_size=60))
def test_any_text_can_be_told_and_chinese_stays(text: str) -> None:
    assert isinstance(CHINESE.told(text), str)
    han = re.sub("[A-Za-z]", "字", text)
    assert CHINESE.told(han) == han


@given(st.from_regex(r"[a-z0-9-]{1,12}", fullmatch=True))
def test_names_stay_as_they_are(name: str) -> None:
    told = CHINESE.told(f"{name} has no speedup")
    assert told.startswith(CHINESE.told(name))
    assert told.endswith("没有加速比")
