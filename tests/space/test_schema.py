from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.errors import InputError, SpaceError
from tuner.records import LoadPoint, Protocol, Sampling
from tuner.space.schema import DraftSpec, SearchSpace, find_space, load_space
from tuner.space.search_space import SAMPLERS

BASE = """\
target: models/target
k: [1, 3]
drafts:
  - method: ngram
load_points:
  - eval_set: chat
"""
Load = Callable[..., SearchSpace]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a search space and load it."""

    def write_and_load(text: str, **how: object) -> SearchSpace:
        path = tmp_path / "space.yaml"
        path.write_text(text)
        return load_space(str(path), **how)  # type: ignore[arg-type]

    return write_and_load


def refused(load: Load, text: str, **how: object) -> SpaceError:
    with pytest.raises(SpaceError) as caught:
        load(text, **how)
    assert isinstance(caught.value, InputError)
    assert caught.value.next_step
    return caught.value


def test_the_least_file_gets_the_defaults(load: Load) -> None:
    space = load(BASE)
    assert space.name == "space"
    assert space.source == BASE
    assert space.target == "models/target"
    assert space.drafts == (DraftSpec("ngram", "ngram", None, {}, (1, 3)),)
    assert space.load_points == (LoadPoint("chat"),)
    assert space.protocol == Protocol(max_repeats=9, lives=4, max_lives=15, losslessness=True, schedule=True)
    assert (space.engine_args, space.choices, space.env) == ({}, {}, {})
    assert space.objective.inflection_threshold == 0.01
    assert space.limits.max_engine_starts is None


def test_everything_that_is_written_arrives(load: Load) -> None:
    space = load(
        """\
description: all of it
target: t
engine_args: {max_model_len: 4096, enforce_eager: true, dtype: null}
unchecked_engine_args: {brand_new_flag: 3}
choices: {gpu_memory_utilization: [0.8, 0.9]}
env: {VLLM_CPU_KVCACHE_SPACE: 4, TOKENIZERS_PARALLELISM: "false"}
k: {min: 1, max: 7, step: 2}
drafts:
  - {name: big, method: draft_model, model: org/Draft-1B, options: {draft_tensor_parallel_size: 1}, k: 5}
  - {method: draft_model, model: "demo:good"}
  - {method: mtp}
load_points:
  - {eval_set: chat, temperature: [0, 0.7], concurrency: [8, 1], max_tokens: 64, top_p: 0.9, top_k: 20, seed: 7,
     ignore_eos: true, num_prompts: 12, weight: 2}
  - eval_set: [code, maths]
protocol: {repeats: 5, lives: {min: 4, max: 9}, warmup_requests: 0, start_timeout_s: 60}
objective: {inflection_threshold: 0.02}
limits: {max_trials: 9, max_minutes: 12.5, max_engine_starts: 20}
"""
    )
    assert space.engine_args == {"max_model_len": 4096, "enforce_eager": True, "dtype": None, "brand_new_flag": 3}
    assert space.choices == {"gpu_memory_utilization": (0.8, 0.9)}
    assert space.env == {"VLLM_CPU_KVCACHE_SPACE": "4", "TOKENIZERS_PARALLELISM": "false"}
    assert [(draft.name, draft.model, draft.ks) for draft in space.drafts] == [
        ("big", "org/Draft-1B", (5,)),
        ("good", "demo:good", (1, 3, 5, 7)),
        ("mtp", None, (1, 3, 5, 7)),
    ]
    first = LoadPoint("chat", 8, 64, Sampling(0.0, 0.9, 20, 7), ignore_eos=True, num_prompts=12, weight=2.0)
    assert space.load_points[0] == first
    chat = [(point.sampling.temperature, point.concurrency) for point in space.load_points[:4]]
    assert chat == [(0.0, 8), (0.0, 1), (0.7, 8), (0.7, 1)]
    assert [point.eval_set for point in space.load_points[4:]] == ["code", "maths"]
    assert space.protocol == Protocol(
        repeats=5,
        max_repeats=5,
        lives=4,
        max_lives=9,
        losslessness=True,
        schedule=True,
        warmup_requests=0,
        start_timeout_s=60.0,
    )
    assert (space.limits.max_trials, space.limits.max_minutes, space.limits.max_engine_starts) == (9, 12.5, 20)
    assert space.objective.inflection_threshold == 0.02
    assert space.description == "all of it"


def test_a_section_with_nothing_in_it_is_the_default(load: Load) -> None:
    sections = ("engine_args", "choices", "env", "protocol", "objective", "search", "limits")
    space = load(BASE + "".join(f"{name}:\n  # nothing\n" for name in sections))
    assert space == load(BASE).__class__(**{**load(BASE).__dict__, "source": space.source})


def test_the_command_line_overrides_target_and_eval_set(load: Load) -> None:
    text = BASE + "  - {eval_set: code}\n  - {eval_set: code, concurrency: 4}\n"
    space = load(text, target="other", eval_set="mine")
    assert space.target == "other"
    assert space.load_points == (LoadPoint("mine"), LoadPoint("mine", concurrency=4))


def test_drafts_named_on_the_command_line_come_after_the_files(load: Load) -> None:
    space = load(BASE, drafts=["a/draft", "b/draft", "demo:ngram"])
    named = [(draft.name, draft.method, draft.model, draft.ks) for draft in space.drafts[1:]]
    assert named == [
        ("draft", "draft_model", "a/draft", (1, 3)),
        ("draft-2", "draft_model", "b/draft", (1, 3)),
        ("ngram-2", "draft_model", "demo:ngram", (1, 3)),
    ]


def test_drafts_named_on_the_command_line_can_be_all_there_are(load: Load) -> None:
    assert len(load("k: 2\nload_points: [{eval_set: chat}]\n", drafts=["x"]).drafts) == 1


def test_the_same_draft_twice_is_refused(load: Load) -> None:
    assert "named twice" in refused(load, BASE, drafts=["x", "x"]).message


def test_a_head_named_on_the_command_line_is_no_draft_model(load: Load) -> None:
    error = refused(load, BASE, drafts=["org/EAGLE3-Llama"])
    assert "--draft org/EAGLE3-Llama" in error.message and "method eagle3" in error.message
    assert "- {method: eagle3, model: org/EAGLE3-Llama}" in error.next_step


def test_named_drafts_need_a_k(load: Load) -> None:
    text = "drafts: [{method: ngram, k: 1}]\nload_points: [{eval_set: chat}]\n"
    assert "no k" in refused(load, text, drafts=["x"]).message


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("{repeats: 1}", "1 instead of 3 repeats"),
        ("{baseline_again: false}", "not measured again"),
        ("{repeats: 1, reduced: Mine.}", "Mine."),
    ],
)
def test_a_protocol_that_proves_less_says_so(load: Load, protocol: str, words: str) -> None:
    assert words in load(BASE + f"protocol: {protocol}\n").protocol.reduced


@pytest.mark.parametrize(
    ("extra", "words", "step"),
    [
        ("limts: {}", "unknown key 'limts'; the nearest known key is 'limits'", "Known keys here: choices"),
        ("qqqq: 1", "unknown key 'qqqq'.", "Known keys here: choices"),
        (
            "temperature: 0",
            "'temperature' at the top of the file; the nearest known key is 'temperature' in load_p",
            "M",
        ),
        ("gpu_memory_utilization: 1", "is 'gpu_memory_utilization' in engine_args (or in choices", "Move it there"),
        ("prompt_lookup_max: 4", "is 'prompt_lookup_max' in the options of a draft", "Move it there"),
        ("protocol: {repeat: 1}", "'repeat' in protocol; the nearest known key is 'repeats'", "Known keys here: base"),
        ("engine_args: {max_modle_len: 3}", "the nearest known key is 'max_model_len'", "unchecked_engine_args"),
        ("engine_args: {max-model-len: 3}", "the nearest known key is 'max_model_len'", "unchecked_engine_args"),
        ("choices: {max_num_seq: [3]}", "the nearest known key is 'max_num_seqs'", "unchecked_engine_args"),
        ("speculative_model: a/b", "flag of vLLM's command line", "- {method: draft_model, model: a/b}"),
        ("--speculative-model: a/b", "flag of vLLM's command line", "- {method: draft_model, model: a/b}"),
        ("num_speculative_tokens: 5", "flag of vLLM's command line", "  k: 5"),
        ("ngram_prompt_lookup_max: 4", "flag of vLLM's command line", "options: {prompt_lookup_max: 4}"),
        ("engine_args: {speculative-config: {method: ngram}}", "flag of vLLM's command line", "- {method: ngram}"),
        ("engine_args: {port: 3}", "port cannot be set", "free port"),
        ("unchecked_engine_args: {api_key: x}", "api_key cannot be set", "key of its own"),
        ("choices: {disable_log_stats: [true]}", "disable_log_stats cannot be set", "counters"),
        ("engine_args: {enforce_eager: 1}", "engine_args.enforce_eager must be true or false, not 1", "Change"),
        ("engine_args: {max_model_len: true}", "needs a value", "Change"),
        ("engine_args: {gpu_memory_utilization: 92}", "above 0 and at most 1, not 92", "Change"),
        ("engine_args: {tensor_parallel_size: 0}", "an integer of 1 or more, not 0", "Change"),
        ("choices: {gpu_memory_utilization: [0.8, 1.8]}", "at most 1, not 1.8", "Change"),
        ("choices: {gpu_memory_utilization: 0.9}", "must be a list, not 0.9", "Change"),
        ("choices: {gpu_memory_utilization: []}", "is empty", "Change"),
        ("choices: {gpu_memory_utilization: [0.8, 0.80]}", "names a value twice", "Change"),
        ("choices: {tensor_parallel_size: [1, 2]}", "cannot be a choice", "sweep once per"),
        ("env: {HF_TOKEN: x}", "looks like a secret", "demo.yaml"),
        ("env: {my_api_key: x}", "looks like a secret", "demo.yaml"),
        ("env: {DB_PASSWORD: x}", "looks like a secret", "demo.yaml"),
        ("env: {VLLM_CPU_KVCACHE_SPACE: 1GB}", "must be a whole number of GiB, not '1GB'", "demo.yaml"),
        ("env: {VLLM_CPU_KVCACHE_SPACE: '0.5'}", "must be a whole number of GiB", "demo.yaml"),
        ("env: {A: true}", "env.A must be text", "Change"),
        ("env: {A: 1.5}", "env.A must be text", "Change"),
        ("env: {A B: x}", "no name of an environment variable", "demo.yaml"),
        ("env: {CUDA_VISIBLE_DEVICES: 0}", "set by the tuner", "demo.yaml"),
        ("protocol: {lives: 2}", "protocol.lives must be 3 or more; 1 leaves", "Change"),
        ("protocol: {lives: {min: 4, max: 3}}", "protocol.lives min 4 is above max 3", "Change"),
        ("protocol: {lives: {min: 4}}", "protocol.lives must be a number, or {min: 3, max: 6}", "Change"),
        ("protocol: {repeats: true}", "protocol.repeats must be a whole number, not True", "Change"),
        ("protocol: {repeats: 0}", "protocol.repeats must be greater than or equal to 1, not 0", "Change"),
        ("protocol: {baseline_again: no}", "must be true or false, not 'no'", "Change"),
        ("protocol: [1]", "protocol must be a mapping", "Change"),
        ("objective: {metric: ttft}", "must be 'tpot', 'e2e' or 'throughput', not 'ttft'", "Change"),
        ("search: {sampler: bayes}", "must be 'guided', 'grid', 'random', 'tpe' or 'gp', not 'bayes'", "Change"),
        ("limits: {max_engine_starts: 0}", "greater than or equal to 1", "Change"),
        ("limits: {max_minutes: '5'}", "must be a number, not '5'", "Change"),
        ("description: 5", "must be a string, not 5", "Change"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_next_step(load: Load, extra: str, words: str, step: str) -> None:
    error = refused(load, BASE + extra + "\n")
    assert "space.yaml:7: " in error.message
    assert words in error.message
    assert step in error.next_step


def test_one_argument_in_two_places_is_refused(load: Load) -> None:
    error = refused(load, BASE + "engine_args: {seed: 1}\nchoices:\n  seed: [1, 2]\n")
    assert "space.yaml:9: seed stands under engine_args and under choices" in error.message


@pytest.mark.parametrize(
    ("k", "words"),
    [
        ("0", "must be 1 or more, not 0; the baseline (K = 0) is always measured"),
        ("[3, 0]", "must be 1 or more, not 0"),
        ("-1", "must be 1 or more, not -1"),
        ("true", "must be a whole number, not True"),
        ("yes", "must be a whole number, not 'yes'"),
        ("1.5", "must be a whole number, not 1.5"),
        ("3.0", "must be a whole number, not 3.0"),
        ("'3'", "must be a whole number, not '3'"),
        ("[1, [2]]", "must be a whole number"),
        ("[]", "is empty"),
        ("[1, 1]", "names a K twice"),
        ("{min: 1}", "{min: 1, max: 8}"),
        ("{min: 1, max: 8, stop: 2}", "{min: 1, max: 8}"),
        ("{min: 3, max: 1}", "min 3 is above max 1"),
        ("{min: 0, max: 3}", "(min) must be 1 or more"),
        ("{min: 1, max: 8, step: 0}", "(step) must be 1 or more"),
        ("{min: 1, max: 1000000000}", "(max) must be at most 1024"),
    ],
)
@pytest.mark.parametrize("where", ["top", "draft"])
def test_a_bad_k_is_refused(load: Load, k: str, words: str, where: str) -> None:
    if where == "top":
        error = refused(load, BASE.replace("k: [1, 3]", f"k: {k}"))
        assert "space.yaml:2: k " in error.message
    else:
        error = refused(load, BASE.replace("method: ngram", f"method: ngram\n    k: {k}"))
        assert "space.yaml:5: drafts[0].k " in error.message
    assert words in error.message


@pytest.mark.parametrize(
    ("draft", "words", "step"),
    [
        ("{method: ngrm}", "unknown method 'ngrm'; the nearest known one is 'ngram'", "draft_model, ngram"),
        ("{method: zzzz}", "unknown method 'zzzz'.", "draft_model, ngram"),
        ("{method: deepseek_mtp}", "old name of the method mtp", "method: mtp"),
        ("{method: draft_model}", "method draft_model needs a model", "a model directory or hub id"),
        ("{method: eagle3}", "method eagle3 needs a model", "trained for this target"),
        ("{method: ngram, model: x}", "takes no model", "Leave `model:` out"),
        ("{method: draft_model, model: ''}", "drafts[0].model must not be empty", "Change"),
        ("{model: x}", "drafts[0].method is missing", "one of draft_model"),
        ("ngram", "drafts[0] must be a mapping, not 'ngram'", "Change"),
        ("{method: ngram, prompt_lookup_max: 3}", "'prompt_lookup_max' in that draft's options", "Move it there"),
        ("{method: draft_model, model: x, quantization: fp8}", "'quantization' in that draft's options", "Move"),
        ("{method: ngram, options: {prompt_lookup_mx: 3}}", "the nearest known key is 'prompt_lookup_max'", "Known"),
        ("{method: ngram, options: {quantization: fp8}}", "method ngram has no option 'quantization'", "Leave it out"),
        ("{method: ngram, options: {num_speculative_tokens: 3}}", "is no option of a draft", "Write it as `k:`"),
        ("{method: ngram, options: {prompt_lookup_max: 0}}", "must be at least 1, not 0", "Change"),
        ("{method: ngram, options: {prompt_lookup_max: true}}", "must be an integer, not True", "Change"),
        ("{method: ngram, options: {prompt_lookup_max: 2, prompt_lookup_min: 3}}", "3 must not be above", "Change"),
        ("{method: ngram, options: {speculative_max_model_len: 9}}", "flag of vLLM's", "options: {max_model_len: 9}"),
        ("{method: ngram, name: none}", "stands for no draft", "letters"),
        ("{method: ngram, name: a/b}", "file name", "letters"),
        ("{method: eagle, model: a/b}\n  - {method: eagle, model: c/b}", "are both named 'b'", "`name:` of its own"),
        ("{method: ngram}\n  - {method: ngram, name: x, k: 2}", "is the same as drafts[0]", "Leave one"),
    ],
)
def test_a_bad_draft_is_refused(load: Load, draft: str, words: str, step: str) -> None:
    error = refused(load, BASE.replace("method: ngram", draft))
    assert f"space.yaml:{4 + draft.count(chr(10))}: " in error.message
    assert words in error.message
    assert step in error.next_step


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("{}", "load_points[0].eval_set is missing"),
        ("{eval_set: ''}", "load_points[0].eval_set[0] must not be empty"),
        ("{eval_set: chat, concurrency: 0}", "concurrency[0] must be greater than or equal to 1"),
        ("{eval_set: chat, concurrency: [1, true]}", "concurrency[1] must be an integer, not true"),
        ("{eval_set: chat, concurrency: []}", "concurrency is empty"),
        ("{eval_set: chat, concurrency: [1, 1]}", "names a value twice"),
        ("{eval_set: chat, temperature: -1}", "temperature[0] must be greater"),
        ("{eval_set: chat, temperature: [0, 0.0]}", "names a value twice"),
        ("{eval_set: chat, top_p: 0}", "top_p must be greater than 0"),
        ("{eval_set: chat, weight: 0}", "weight must be greater than 0"),
        ("{eval_set: chat, max_token: 3}", "the nearest known key is 'max_tokens'"),
        ("{eval_set: chat, k: 3}", "the nearest known key is 'k' at the top of the file"),
    ],
)
def test_a_bad_load_point_is_refused(load: Load, point: str, words: str) -> None:
    error = refused(load, BASE.replace("eval_set: chat", point))
    assert "space.yaml:6: " in error.message
    assert words in error.message


@pytest.mark.parametrize(
    "where",
    ["engine_args: {max_num_seqs: 8}", "choices: {max_num_seqs: [64, 8]}", "unchecked_engine_args: {max_num_seqs: 8}"],
)
def test_more_requests_than_a_batch_takes_are_refused(load: Load, where: str) -> None:
    points = f"{BASE}  - {{eval_set: code, concurrency: [1, 9]}}\n{where}\n"
    error = refused(load, points)
    assert "space.yaml:7: " in error.message
    assert "load_points[1] has concurrency 9, but max_num_seqs is 8" in error.message
    load(points.replace("9]", "8]"))


def test_a_batch_of_fewer_tokens_than_requests_is_refused(load: Load) -> None:
    text = f"{BASE}engine_args: {{max_num_seqs: 8, max_num_batched_tokens: 4}}\n"
    assert "max_num_batched_tokens 4 is below max_num_seqs 8" in refused(load, text).message
    load(text.replace("tokens: 4", "tokens: 8"))


def test_a_load_point_written_twice_is_refused(load: Load) -> None:
    assert "space.yaml:7: the load point" in refused(load, BASE + "  - eval_set: chat\n").message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("# only a comment\n", "is empty"),
        ("- a\n", "does not hold keys"),
        ("k: 1\ndrafts: [{method: ngram}]\n", "load_points is missing"),
        ("k: 1\ndrafts: [{method: ngram}]\nload_points: []\n", "load_points is empty"),
        ("k: 1\ndrafts: []\nload_points: [{eval_set: chat}]\n", "no drafts"),
        ("drafts: [{method: ngram}]\nload_points: [{eval_set: chat}]\n", "has no k"),
        ("k: 1\nk: 2\n", "'k' is written twice, first on line 1"),
    ],
)
def test_a_file_without_what_a_sweep_needs_is_refused(load: Load, text: str, words: str) -> None:
    assert words in refused(load, text).message


def test_of_several_mistakes_the_first_in_the_file_is_named(load: Load) -> None:
    error = refused(load, BASE.replace("k: [1, 3]", "k: 0") + "limts: {}\n")
    assert "space.yaml:2: " in error.message


def test_a_space_is_found_by_name_or_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_space("demo").name == "demo.yaml"
    (tmp_path / "mine.yaml").write_text(BASE)
    monkeypatch.chdir(tmp_path)
    assert find_space("mine.yaml") == Path("mine.yaml")
    with pytest.raises(SpaceError, match="nearest shipped one is 'demo'"):
        find_space("dmo")
    with pytest.raises(SpaceError, match="is a directory"):
        find_space(str(tmp_path))
    with pytest.raises(SpaceError) as caught:
        find_space("no/such.yaml")
    assert "default, demo, quick" in caught.value.next_step


def test_a_path_that_cannot_even_be_looked_at_is_refused() -> None:
    with pytest.raises(SpaceError, match="cannot be read"):
        find_space("x" * 5000)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_space_may_name_the_sampler(load: Load, sampler: str) -> None:
    assert load(f"{BASE}search: {{sampler: {sampler}}}\n").sampler == sampler


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("drafts: [{method: ngram, k: [2]}]\nloadpoints: [{eval_set: a}]\n", ":2: unknown key 'loadpoints'"),
        ("drafts: [{methd: ngram, k: [2]}]\nload_points: [{eval_set: a}]\n", ":1: unknown key 'methd' in drafts[0]"),
        ("drafts: [{k: [2]}]\nload_points: [{eval_set: a}]\nthings: 1\n", ":1: drafts[0].method is missing"),
    ],
)
def test_a_misspelt_key_comes_before_what_is_missing_for_it(load: Load, text: str, words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        load(text)
    assert words in caught.value.message
