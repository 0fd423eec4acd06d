from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import candidate
from tuner.engine.help import EngineHelp, NoHelp, engine_help, parse_help
from tuner.engine.resolve import Engine
from tuner.records import Candidate
from tuner.space.engine_flags import MANAGED, ONE_WAY, SWITCHES, VALUES, engine_arg_unavailable, known_engine_args
from tuner.space.methods import METHODS

RECORDED = Path(__file__).parent / "recorded" / "help-0.32.0.txt"
NEW = Engine("vllm", sys.executable, "0.40.0", "cuda")


@pytest.fixture(scope="module")
def recorded() -> EngineHelp:
    found = parse_help(RECORDED.read_text(encoding="utf-8"))
    assert found is not None
    return found


def test_the_flags_of_a_real_engine_are_read(recorded: EngineHelp) -> None:
    expected = {
        "--model",
        "--max-model-len",
        "--no-enable-prefix-caching",
        "--speculative-config",
        "--tensor-parallel-size",
    }
    assert expected <= recorded.flags
    assert {"draft_model", "ngram", "suffix", "mtp"} <= recorded.methods
    assert "None" not in recorded.methods


def test_what_descriptions_mention_is_no_flag(recorded: EngineHelp) -> None:
    text = RECORDED.read_text(encoding="utf-8")
    assert "--json-arg" in text
    assert not [flag for flag in recorded.flags if flag.startswith("--json-arg")]


def test_the_tables_have_the_flags_of_a_real_engine(recorded: EngineHelp) -> None:
    there = {flag[2:].replace("-", "_") for flag in recorded.flags} - {"help"}
    known = known_engine_args() | set(MANAGED)
    assert {name for name in there if name not in known and name.removeprefix("no_") not in known} == set()
    ours = {name for name in SWITCHES | VALUES | ONE_WAY if engine_arg_unavailable({name: 1}, "0.32.0") is None}
    assert ours - there == set()
    assert {f"no_{name}" for name in ours & SWITCHES} - there == set()


def test_the_methods_of_a_real_engine_are_in_the_table(recorded: EngineHelp) -> None:
    named = {name for name in recorded.methods if not name.endswith("_mtp")} - {"extract_hidden_states"}
    assert named == set(METHODS)


names = st.from_regex(r"[a-z][a-z0-9]{0,7}(-[a-z0-9]{1,8}){0,3}", fullmatch=True).filter(
    lambda name: not name.startswith("no-") and name not in ("help", "model")
)


@given(
    st.dictionaries(names, st.sampled_from(["value", "switch", "choice", "list"]), max_size=25), st.integers(40, 200)
)
def test_every_flag_of_a_parser_is_found_and_no_other(kinds: dict[str, str], width: int) -> None:
    parser = argparse.ArgumentParser(
        prog="api_server.py",
        description="Serves, see --not-a-flag.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=width),
    )
    parser.add_argument("--model", "-m", help="like --another-program has")
    for name, kind in kinds.items():
        if kind == "switch":
            parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction)
        elif kind == "choice":
            parser.add_argument(f"--{name}", choices=["one", "two-three"], help="not --this-one")
        else:
            parser.add_argument(f"--{name}", nargs="+" if kind == "list" else None)
    found = parse_help(parser.format_help())
    assert found is not None
    expected = {f"--{name}" for name in kinds} | {f"--no-{name}" for name, kind in kinds.items() if kind == "switch"}
    assert found.flags == expected | {"--model", "--help"}


@pytest.mark.parametrize("text", ["", "Traceback (most recent call last):", "usage: other.py [-h] [--port PORT]\n"])
def test_what_is_no_help_of_an_engine(text: str) -> None:
    assert parse_help(text) is None


@pytest.mark.parametrize(
    ("args", "method", "words"),
    [
        ({"max_model_len": 4096, "enable_prefix_caching": False}, "ngram", None),
        ({"brand_new": 3}, "ngram", "does not have --brand-new"),
        ({"enforce_eager": False}, None, "does not have --no-enforce-eager"),
        ({"brand_new": None}, None, None),
        ({}, "draft_model", "does not have draft_model among"),
    ],
)
def test_a_candidate_is_held_against_the_help(args: dict[str, object], method: str | None, words: str | None) -> None:
    flags = {"--model", "--max-model-len", "--no-enable-prefix-caching", "--enforce-eager", "--speculative-config"}
    asked: Candidate = candidate(3 if method else 0, method=method or "", args=args)  # type: ignore[arg-type]
    reason = EngineHelp(frozenset(flags), frozenset({"ngram"})).refusal(asked)
    assert reason is None if words is None else words in (reason or "")


def test_an_engine_without_the_short_form_is_not_judged_by_method() -> None:
    assert EngineHelp(frozenset({"--speculative-config"})).refusal(candidate(3)) is None
    assert "--speculative-config" in (EngineHelp(frozenset({"--model"})).refusal(candidate(3)) or "")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that the fake engine's entry point runs; each run adds a line to `calls` beside it."""
    package = tmp_path / "site" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    module = package / "api_server.py"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path / "cache"))
    for folder in (package, package.parent, package.parents[1]):
        (folder / "__init__.py").touch()
    prints(module, "usage: api_server.py [-h] [--model MODEL] [--new NEW]")
    return module


def prints(module: Path, text: str, code: int = 0) -> None:
    calls = module.with_name("calls")
    module.write_text(
        textwrap.dedent(
            f"""
            import sys
            open({str(calls)!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
            print({text!r})
            print("cannot do it", file=sys.stderr)
            sys.exit({code})
            """
        )
    )


def calls(module: Path) -> list[str]:
    return module.with_name("calls").read_text().splitlines()


def test_an_engine_is_asked_once(fake: Path) -> None:
    found = engine_help(NEW)
    assert found.flags == {"--model", "--new"}
    assert engine_help(NEW) == found
    assert calls(fake) == ["--help=all"]


def test_it_is_asked_again_when_told_to_or_when_it_is_another(fake: Path) -> None:
    engine_help(NEW)
    prints(fake, "usage: api_server.py [--model MODEL] [--newer NEWER]")
    assert "--new" in engine_help(NEW).flags
    assert "--newer" in engine_help(NEW, fresh=True).flags
    engine_help(Engine("vllm", sys.executable, "0.10.2", "cuda"))
    assert calls(fake) == ["--help=all", "--help=all", "--help"]


def test_a_broken_cache_is_no_obstacle(fake: Path, tmp_path: Path) -> None:
    engine_help(NEW)
    (kept,) = (tmp_path / "cache" / "engine-help").iterdir()
    kept.write_text("{")
    assert "--new" in engine_help(NEW).flags


def test_a_cache_that_cannot_be_written_is_none(fake: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert "--new" in engine_help(NEW).flags


def test_an_engine_that_prints_no_help_says_how_to_look(fake: Path) -> None:
    prints(fake, "usage: api_server.py [--model MODEL]", code=1)
    with pytest.raises(NoHelp, match="does not print its help: cannot do it") as caught:
        engine_help(NEW)
    assert "-m vllm.entrypoints.openai.api_server --help=all" in caught.value.next_step


def test_an_engine_that_hangs_is_given_up(fake: Path) -> None:
    fake.write_text("import time; time.sleep(30)")
    with pytest.raises(NoHelp, match="longer than 1 s"):
        engine_help(NEW, timeout_s=1.0)
