from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.engine.environment import engine_env, recorded_env, redacted_command, shaping_env


def test_own_variables_win_over_inherited_and_fixed_ones() -> None:
    env = engine_env({"A": "1", "OMP_NUM_THREADS": "1"}, {"A": "2", "HF_HUB_OFFLINE": "0", "OMP_NUM_THREADS": "8"}, "k")
    assert (env["A"], env["HF_HUB_OFFLINE"], env["OMP_NUM_THREADS"]) == ("2", "0", "8")
    assert recorded_env(env, {"A": "2"}) == {
        "A": "2",
        "HF_HUB_OFFLINE": "0",
        "OMP_NUM_THREADS": "8",
        "VLLM_NO_USAGE_STATS": "1",
    }


def test_what_shapes_an_engine_is_told_from_devices_paths_and_logs() -> None:
    shaping = {
        "VLLM_USE_V2_MODEL_RUNNER": "0",
        "LD_PRELOAD": "/lib/x.so",
        "NCCL_P2P_DISABLE": "1",
        "KMP_BLOCKTIME": "1",
    }
    other = dict.fromkeys(
        """CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_HOME HF_HUB_OFFLINE VLLM_CACHE_ROOT VLLM_LOGGING_LEVEL
        VLLM_HOST_IP NCCL_SOCKET_IFNAME NCCL_DEBUG NCCL_VERSION VLLM_NO_USAGE_STATS VLLM_API_KEY TRITON_CACHE_DIR
        VLLM_PORT PATH OMP_NUM_THREADS TORCHINDUCTOR_CACHE_DIR""".split(),  # noqa: SIM905
        "x",
    )
    assert shaping_env({**shaping, **other}, {}) == shaping
    own = {"LD_PRELOAD": "", "VLLM_LOGGING_LEVEL": "DEBUG", "A": "1"}
    assert shaping_env({**shaping, **other}, own) == {**shaping, **own}


@settings(deadline=None)  # Times of a loaded machine say nothing.
@given(st.lists(st.sampled_from(["--api-key", "KEY9", "--api-key=KEY9", "--hf-token", "--port", "xKEY9x"])))
def test_a_key_never_shows_in_a_command(words: list[str]) -> None:
    shown = redacted_command(tuple(words), "KEY9")
    assert len(shown) == len(words)
    assert "KEY9" not in " ".join(shown)


def test_a_foreign_key_and_token_are_hidden_too() -> None:
    command = ("--api-key", "other", "--hf-token=hf_x", "--port", "80")
    assert redacted_command(command, "mine") == ("--api-key", "***", "--hf-token=***", "--port", "80")
