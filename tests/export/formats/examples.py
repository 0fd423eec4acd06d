"""The exports in golden files and in docs/deploying.md: python -m tests.export.formats.examples writes both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.exported_artifact import GOOD, artifact
from tuner.artifact import BestConfig
from tuner.export.formats import FORMATS, Choices, deployment
from tuner.records import Verdict

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "export"
PAGE = ROOT / "docs" / "deploying.md"
_EXAMPLE = re.compile(r"(<!-- (?P<name>[\w-]+) -->\n```(?P<language>\w*)\n)(?P<text>.*?)(```\n)", re.DOTALL)


def example() -> BestConfig:
    """Return the artifact of the page: a hub id and a directory, two GPUs, a variable."""
    return artifact(
        target="Qwen/Qwen3-14B",
        speculation=GOOD.model_copy(update={"draft": "/models/Qwen3-0.6B"}),
        engine_args={"tensor_parallel_size": 2, "max_model_len": 8192, "enable_prefix_caching": False},
        env={"VLLM_ATTENTION_BACKEND": "FLASH_ATTN"},
        devices=("2 x NVIDIA H200",),
        why="Qwen3-0.6B K=4 runs at 1.62x of no speculation (TPOT, 95 % 1.55-1.69, 40 prompts, 4 engine lives).",
    )


def nasty() -> BestConfig:
    """Return an artifact whose texts readers could misunderstand."""
    return artifact(
        Verdict.SPECULATE_BELOW,
        target="/models/it's $HOME/模型",
        speculation=GOOD.model_copy(update={"options": {"note": None, "on": True}}),
        engine_args={
            "gpu_memory_utilization": 0.9,
            "served_model_name": ["a", "b"],
            "dtype": "on",
            "chat_template": "-{{ x }}",
            "hf_overrides": {"a": {"b": [1, None, "null"]}},
            "allowed_origins": ["*"],
            "enforce_eager": True,
            "enable_chunked_prefill": False,
            "quantization": None,
        },
        env={"VLLM_A": "1e3", "VLLM_B": 'it\'s "$HOME" {{ x }}', "HF_TOKEN": "hf_x"},
        engine={"version": "0.32.0", "build": "cpu"},
        temperature=0.7,
    )


def golden() -> Mapping[str, str]:
    """Return file name -> text."""
    files = {}
    for name, row in FORMATS.items():
        for kind, config in (("plain", example()), ("nasty", nasty())):
            files[f"{name}.{kind}{Path(row.suggested).suffix}"] = row.write(deployment(config, Choices()))
    return files


def page(text: str) -> str:
    """Return the page with its examples as they are now: without the comments that all begin with."""

    def current(found: re.Match[str]) -> str:
        exported = FORMATS[found["name"]].write(deployment(example(), Choices()))
        shown = exported if found["name"] == "vllm" else "".join(_without_header(exported))
        return f"{found[1]}{shown}{found[5]}"

    return _EXAMPLE.sub(current, text)


def _without_header(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return lines[first:]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in golden().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
