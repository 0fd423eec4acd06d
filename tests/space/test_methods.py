from collections.abc import Mapping

import pytest

from tuner.records import Json, Speculation
from tuner.space.methods import METHODS, option_problem, speculative_config, undeployable
from tuner.space.options import Kind, Option
from tuner.space.versions import release


def spec(method: str, k: int = 3, **options: Json) -> Speculation:
    return Speculation(method, k, method, None, options)


def test_the_config_has_method_k_model_and_options() -> None:
    config = speculative_config(Speculation("draft_model", 4, "good", "a/b", {"quantization": "fp8"}))
    assert config == {"method": "draft_model", "num_speculative_tokens": 4, "model": "a/b", "quantization": "fp8"}
    assert "model" not in speculative_config(Speculation("ngram", 4, "ngram"))


@pytest.mark.parametrize(
    ("method", "options", "ks", "at_fault"),
    [
        ("ngram", {"prompt_lookup_min": 3, "prompt_lookup_max": 2}, [1], "prompt_lookup_min"),
        ("ngram", {"prompt_lookup_min": 2, "prompt_lookup_max": 2}, [1], None),
        ("ngram_gpu", {"prompt_lookup_max": 0}, [1], "prompt_lookup_max"),
        (
            "draft_model",
            {"use_heterogeneous_vocab": True, "draft_sample_method": "probabilistic"},
            [1],
            "draft_sample_m",
        ),
        ("draft_model", {"use_heterogeneous_vocab": True, "use_local_argmax_reduction": True}, [1], "use_local_argmax"),
        ("draft_model", {"use_heterogeneous_vocab": True, "draft_sample_method": "greedy"}, [1], None),
        ("draft_model", {"use_heterogeneous_vocab": False, "draft_sample_method": "probabilistic"}, [1], None),
        ("ngram", {"rejection_sample_method": "synthetic"}, [1], "rejection_sample_method"),
        ("ngram", {"synthetic_acceptance_length": 2}, [1], "synthetic_acceptance_length"),
        ("ngram", {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2}, [1, 3], None),
        (
            "ngram",
            {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2.1},
            [1, 3],
            "synthetic_acc",
        ),
        ("ngram", {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.9, 0.5]}, [2], None),
        ("ngram", {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.9, 0.5]}, [2, 3], "synth"),
        ("ngram", {"rejection_sample_method": "fly"}, [1, 3], "rejection_sample_method"),
        ("ngram", {"rejection_sample_method": "fly"}, [2, 3], None),
        ("ngram", {"rejection_sample_method": "sometimes"}, [2], "rejection_sample_method"),
        ("ngram", {"rejection_sample_method": "fly", "fly_window_size": 2}, [2, 3], "fly_window_size"),
        ("ngram", {"rejection_sample_method": "fly", "fly_window_size": 1}, [2, 3], None),
        ("ngram", {"fly_entropy_threshold": 0.3}, [2], "fly_entropy_threshold"),
        (
            "eagle",
            {"rejection_sample_method": "fly", "use_local_argmax_reduction": True},
            [2],
            "use_local_argmax_reduction",
        ),
        ("ngram", {"posterior_alpha": 0.3}, [1], "posterior_alpha"),
        ("ngram", {"posterior_alpha": 0.3, "acceptance_method": "typical_acceptance_sampler"}, [1], None),
        ("suffix", {"suffix_decoding_min_token_prob": 1.5}, [2], "suffix_decoding_min_token_prob"),
        ("suffix", {"suffix_decoding_max_cached_requests": 0}, [2], None),
    ],
)
def test_options_are_checked(method: str, options: Mapping[str, Json], ks: list[int], at_fault: str | None) -> None:
    found = option_problem(METHODS[method], options, ks)
    assert found is None if at_fault is None else (found or ("",))[0].startswith(at_fault)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Kind.INT, [1, -3], [True, 1.0, "1", None]),
        (Kind.FLOAT, [1, 0.5], [True, "1", None]),
        (Kind.BOOL, [True, False], [1, "true", None]),
        (Kind.TEXT, ["x"], ["", " ", 1, None]),
        (Kind.RATES, [[1, 0.5, 0.5, 0]], [[], [0.5, 0.6], [1.5], [True], 0.5, ["a"]]),
        (Kind.SCHEDULE, [[[1, 4, 3], [5, 8, 0]]], [[], [[2, 4, 3]], [[1, 4, 3], [4, 8, 1]], [[1, 4, -1]], [[1, 4]], 3]),
        (Kind.MAPPING, [{}], [[], None, "x"]),
    ],
)
def test_kinds_of_values(kind: Kind, good: list[Json], bad: list[Json]) -> None:
    assert [Option(kind).problem(value) for value in good] == [None] * len(good)
    assert None not in [Option(kind).problem(value) for value in bad]


def test_settings_that_must_not_be_deployed_are_known() -> None:
    assert undeployable(spec("ngram", rejection_sample_method="synthetic"))
    assert undeployable(spec("ngram", rejection_sample_method="fly"))
    assert undeployable(spec("ngram", acceptance_method="typical_acceptance_sampler"))
    assert undeployable(spec("ngram", rejection_sample_method="block")) is None


def test_suffix_decoding_learns_nothing_unless_told_to_and_then_is_not_deployed() -> None:
    cache = "suffix_decoding_max_cached_requests"
    assert speculative_config(spec("suffix"))[cache] == 0
    assert undeployable(spec("suffix")) is None
    assert undeployable(spec("suffix", suffix_decoding_max_cached_requests=0)) is None
    learning = spec("suffix", suffix_decoding_max_cached_requests=100)
    assert speculative_config(learning)[cache] == 100
    assert "learns the measured prompts" in (undeployable(learning) or "")
    assert cache not in speculative_config(spec("ngram"))


def test_acceptance_at_smaller_k_follows_for_chain_drafters_only() -> None:
    assert {name for name, method in METHODS.items() if method.chain_drafter} == {
        "draft_model",
        "eagle",
        "eagle3",
        "mtp",
    }


@pytest.mark.parametrize("name", METHODS)
def test_rows_agree_with_themselves(name: str) -> None:
    method = METHODS[name]
    assert method.last is None or release(method.first) <= release(method.last)
    assert not {"method", "model", "num_speculative_tokens"} & set(method.options)
    for option in method.options.values():
        assert option.until is None or release(option.since) <= release(option.until)
