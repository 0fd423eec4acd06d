"""The supervisor and readiness against the installed vLLM, with a model of two tiny layers whose weights are random.

The model directory has no weights: --load-format dummy makes them. An engine start takes about half a minute.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import pytest

from tuner.engine.process import Launch, free_port, running_engine
from tuner.engine.resolve import resolve_engine
from tuner.errors import EngineCrashed

pytestmark = pytest.mark.real

OWNER = Path(__file__).with_name("fakes") / "owner.py"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 128,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
    "bos_token_id": 0,
    "eos_token_id": 1,
    "tie_word_embeddings": True,
}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {
        "type": "WordLevel",
        "vocab": {"<s>": 0, "</s>": 1, "<unk>": 2, **{f"word{i}": i for i in range(3, 128)}},
        "unk_token": "<unk>",
    },
}
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
}


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG))
    return path


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Yield a temporary directory with a short path; at the end nothing may be left in it but PyTorch's cache."""
    path = Path(tempfile.mkdtemp(prefix="engine-", dir="/tmp"))
    yield path
    left = sorted(one.name for one in path.iterdir() if not one.name.startswith("torchinductor_"))
    shutil.rmtree(path)
    assert left == []


@pytest.fixture
def launch(tiny_model: Path, tmp_path: Path, temporary: Path) -> Launch:
    engine = resolve_engine(None)
    port, name = free_port(), "trial-4711"
    flags = f"--host 127.0.0.1 --port {port} --served-model-name {name} --load-format dummy --enforce-eager"
    limits = "--max-model-len 512 --max-num-seqs 4 --gpu-memory-utilization 0.3"
    command = [engine.python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(tiny_model)]
    return Launch(
        command=(*command, *flags.split(), *limits.split()),
        env={"VLLM_CPU_KVCACHE_SPACE": "1", "TMPDIR": str(temporary)},
        log_path=tmp_path / "engine.log",
        port=port,
        served_name=name,
        api_key="sesame-4711",
        start_timeout_s=400,
        stall_timeout_s=300,
        version=engine.version,
    )


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those that still run; is_running compares start times, so a reused pid is not taken for them."""
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def wait_until(true: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not true() and time.monotonic() < deadline:
        time.sleep(0.1)
    return true()


def completion(base_url: str, name: str, key: str) -> dict[str, object]:
    body = json.dumps({"model": name, "prompt": "word5 word6", "max_tokens": 4, "temperature": 0, "ignore_eos": True})
    request = Request(f"{base_url}/v1/completions", body.encode(), {"Content-Type": "application/json"})
    request.add_header("Authorization", f"Bearer {key}")
    with urlopen(request, timeout=60) as response:
        answer: dict[str, object] = json.load(response)
    return answer


def test_serves_with_key_and_facts_and_leaves_nothing(launch: Launch) -> None:
    with running_engine(launch) as engine:
        processes = psutil.Process(engine.supervised.supervisor_pid).children(recursive=True)
        assert len(processes) >= 3  # keeper, API server, engine core
        usage = completion(engine.base_url, engine.served_name, engine.api_key)["usage"]
        assert isinstance(usage, dict)
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == (2, 4)
        with pytest.raises(OSError, match="401"):
            completion(engine.base_url, engine.served_name, "wrong")
        listening = {c.laddr.ip for p in processes for c in p.net_connections("tcp") if c.laddr.port == launch.port}
        assert listening == {"127.0.0.1"}
        engine.check_alive()
        stopping = time.monotonic()
    assert time.monotonic() - stopping < launch.stop_grace_s + 3
    assert alive(processes) == []
    facts = engine.facts
    assert facts.max_model_len == 512
    assert facts.kv_cache_tokens is not None and facts.kv_cache_tokens > 10_000
    assert any("V1 model runner" in line for line in facts.changed_settings)
    assert launch.api_key not in str(facts) + launch.log_path.read_text()


def test_a_killed_owner_leaves_nothing(launch: Launch) -> None:
    facts = json.dumps(asdict(launch), default=str)
    with subprocess.Popen([sys.executable, str(OWNER), facts, "0"], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        guard = int(owner.stdout.readline())
        processes = [psutil.Process(guard), *psutil.Process(guard).children(recursive=True)]
        assert len(processes) >= 4
        os.kill(owner.pid, signal.SIGKILL)
    assert wait_until(lambda: alive(processes) == [], launch.stop_grace_s + 5)


def test_a_killed_api_server_is_noticed_and_its_core_removed(launch: Launch) -> None:
    with running_engine(launch) as engine:
        guard = psutil.Process(engine.supervised.supervisor_pid)
        processes = guard.children(recursive=True)
        (server,) = [p for p in processes if p.cmdline()[:2] == list(launch.command[:2])]
        server.kill()
        killed = time.monotonic()

        def noticed() -> bool:
            try:
                engine.check_alive()
            except EngineCrashed:
                return True
            return False

        assert wait_until(noticed, 2)
        assert time.monotonic() - killed < 2
        assert wait_until(lambda: alive(processes) == [], 5)


@pytest.mark.parametrize(
    ("flags", "cause"),
    [
        (("--no-such-flag", "3"), "unrecognized arguments: --no-such-flag"),
        (
            ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3, "disable_by_batch_size": 8}'),
            "disable_by_batch_size: Unexpected keyword argument",
        ),
        (("--max-model-len", "99999"), "max_model_len"),
    ],
)
def test_a_bad_argument_is_a_crash_with_its_cause(launch: Launch, flags: tuple[str, str], cause: str) -> None:
    with (
        pytest.raises(EngineCrashed, match=cause),
        running_engine(replace(launch, command=launch.command + flags)),
    ):
        pass
