from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import SpaceError
from tuner.records import Json
from tuner.space.engine_flags import known_engine_args
from tuner.space.methods import METHODS
from tuner.space.old_flags import OLD_FLAGS, Place, new_form, new_method
from tuner.space.schema import load_space

Refused = Callable[[str], SpaceError]
LOADS = "load_points: [{eval_set: chat}]\n"


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    def load(text: str) -> SpaceError:
        path = tmp_path / "space.yaml"
        path.write_text(text)
        with pytest.raises(SpaceError) as caught:
            load_space(str(path))
        return caught.value

    return load


GUIDE = """\
engine_args:
  speculative-model: /models/Qwen3-0.6B
  --num-speculative-tokens: 5
  speculative_draft_tensor_parallel_size: 1
  speculative-disable-by-batch-size: 8
  use-v2-block-manager: true
  max_model_len: 4096
"""


def test_all_old_flags_of_a_guide_are_answered_at_once(refused: Refused) -> None:
    error = refused(GUIDE + LOADS)
    assert error.message.partition("space.yaml")[2] == (
        ":2: 'speculative-model', '--num-speculative-tokens', 'speculative_draft_tensor_parallel_size', "
        "'speculative-disable-by-batch-size', 'use-v2-block-manager' are flags of vLLM's command line, not keys here."
    )
    assert error.next_step == (
        "Write:\n"
        "  k: 5\n"
        "  drafts:\n"
        "  - method: draft_model\n"
        "    model: /models/Qwen3-0.6B\n"
        "    options: {draft_tensor_parallel_size: 1, disable_by_batch_size: 8}\n"
        "k may also be [1, 3, 5] or {min: 1, max: 8}: each of them can be measured.\n"
        "speculative_disable_by_batch_size: from 0.24.0 on a K schedule does this; the tuner derives one and measures "
        "it (`protocol: schedule`).\n"
        "disable_by_batch_size: the last release that has it is 0.16.0.\n"
        "use_v2_block_manager: leave it out: the engine has one block manager, and the flag does nothing."
    )


@pytest.mark.parametrize(
    ("flags", "drafts", "k"),
    [
        (
            {"speculative_model": "[ngram]", "ngram_prompt_lookup_max": 4},
            [("ngram", None, {"prompt_lookup_max": 4})],
            0,
        ),
        ({"speculative_model": ["ngram"], "num_speculative_tokens": 5}, [("ngram", None, {})], 5),
        ({"ngram-prompt-lookup-min": 1}, [("ngram", None, {"prompt_lookup_min": 1})], 0),
        ({"spec_model": "a/EAGLE3-x", "spec_tokens": 3}, [("eagle3", "a/EAGLE3-x", {})], 3),
        ({"spec_method": "deepseek_mtp"}, [("mtp", None, {})], 0),
        ({"speculative_model": ["a/b", "c/d"]}, [("draft_model", "a/b", {}), ("draft_model", "c/d", {})], 0),
        ({"num_speculative_tokens": [1, 3]}, None, [1, 3]),
        ({"-sc": {"method": "ngram", "num_speculative_tokens": 2}}, [("ngram", None, {})], 2),
        (
            {"speculative_config": '{"model": "a/b", "num_speculative_tokens": 2, "tensor_parallel_size": 1}'},
            [("draft_model", "a/b", {"draft_tensor_parallel_size": 1})],
            2,
        ),
        (
            {"speculative_config.method": "suffix", "speculative-config.num_speculative_tokens": 9},
            [("suffix", None, {})],
            9,
        ),
        (
            {"--spec-decoding-acceptance-method": "rejection_sampler"},
            [("METHOD", None, {"acceptance_method": "rejection_sampler"})],
            0,
        ),
    ],
)
def test_values_go_where_they_belong(
    flags: dict[str, Json], drafts: list[tuple[str, str | None, dict[str, Json]]] | None, k: Json
) -> None:
    form = yaml.safe_load(written(new_form(flags)))
    assert (form.get("k") or 0) == k
    found = [(draft["method"], draft.get("model"), draft.get("options", {})) for draft in form.get("drafts", [])]
    assert found == (drafts or [])


def written(form: str) -> str:
    """Return the YAML of a form, without the sentences around it."""
    return "\n".join(line[2:] for line in form.splitlines() if line.startswith("  "))


def test_a_configuration_that_is_no_json_is_said_to_be_none() -> None:
    assert "no JSON" in new_form({"speculative_config": "method=ngram"})


@pytest.mark.parametrize("name", [name for name, row in OLD_FLAGS.items() if row.place is Place.NOWHERE])
def test_what_has_no_place_says_why(name: str) -> None:
    assert new_form({name: True}).startswith(f"{name}: ")


DRAFT = "drafts:\n  - {{method: ngram, name: mine, k: 3, {} options: {{prompt_lookup_max: 4{}}}}}\n"


@pytest.mark.parametrize(
    ("beside", "inside", "line"),
    [
        ("ngram-prompt-lookup-min: 2,", "", "options: {prompt_lookup_max: 4, prompt_lookup_min: 2}"),
        ("", ", --ngram-prompt-lookup-min: 2", "options: {prompt_lookup_max: 4, prompt_lookup_min: 2}"),
        ("num-speculative-tokens: 5,", "", "k: 5"),
    ],
)
def test_in_a_draft_the_whole_draft_is_shown(refused: Refused, beside: str, inside: str, line: str) -> None:
    error = refused(DRAFT.format(beside, inside) + LOADS)
    assert "flag of vLLM's command line" in error.message
    (draft,) = yaml.safe_load(written(error.next_step))["drafts"]
    assert line in error.next_step
    assert (draft["method"], draft["name"]) == ("ngram", "mine")


@pytest.mark.parametrize(
    ("draft", "words", "method"),
    [
        ("{method: deepseek_mtp}", "old name of the method mtp", "mtp"),
        ("{method: '[ngram]'}", "old name of the method ngram", "ngram"),
        ("{method: draft_model, model: '[ngram]'}", "stood for the method ngram", "ngram"),
        ("{method: draft_model, model: org/EAGLE3-Llama}", "as method eagle3", "eagle3"),
        ("{method: draft_model, model: org/eagle-llama/}", "as method eagle", "eagle"),
    ],
)
def test_methods_that_moved_are_shown_with_the_users_draft(
    refused: Refused, draft: str, words: str, method: str
) -> None:
    error = refused(f"k: 3\ndrafts: [{draft}]\n{LOADS}")
    assert words in error.message
    (shown,) = yaml.safe_load(written(error.next_step))["drafts"]
    assert shown["method"] == method


def test_a_folder_above_the_draft_does_not_say_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(f"k: 3\ndrafts: [{{method: draft_model, model: /eagle-team/small}}]\n{LOADS}")
    assert load_space(str(path)).drafts[0].model == "/eagle-team/small"


def test_names_of_today_are_no_old_names() -> None:
    assert [name for name in METHODS if new_method(name)] == []
    assert not set(OLD_FLAGS) & known_engine_args()


@given(
    st.dictionaries(st.sampled_from(sorted(OLD_FLAGS)), st.one_of(st.integers(1, 9), st.text(max_size=8), st.none()))
)
def test_any_mixture_gives_yaml(flags: dict[str, Json]) -> None:
    form = yaml.safe_load(written(new_form(flags)) or "{}")
    assert set(form) <= {"k", "drafts"}


def test_every_option_that_a_flag_became_is_one() -> None:
    options = {name for method in METHODS.values() for name in method.options}
    assert {row.key for row in OLD_FLAGS.values() if row.place is Place.OPTION} <= options
