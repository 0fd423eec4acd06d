"""Each format read back as its own reader reads it, in one shape."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML

from tuner.space.command_line import engine_flags

_FAKE = """#!/bin/sh
printf '%s\\0' "$0" "$@" > "$OUT/words"
env -0 > "$OUT/env"
"""


@dataclass(frozen=True)
class Read:
    """What an engine would be started with.

    words: arguments after the model, None where the format carries none.  speculation: --speculative-config as it
    arrives.  document: the whole, where it is YAML.
    """

    env: Mapping[str, str] | None = None
    model: str | None = None
    words: tuple[str, ...] | None = None
    speculation: Any = None
    document: Any = None
    commented: str = field(default="", compare=False)


def _document(text: str) -> Any:
    """Return the YAML as PyYAML (1.1) and ruamel (1.2, as Go's parsers) both have it."""
    found = list(yaml.safe_load_all(text))
    assert found == list(YAML(typ="safe", pure=True).load_all(text)), "readers of YAML differ"
    return found[0] if len(found) == 1 else found


def _read(env: Mapping[str, str] | None, words: list[str], document: Any = None) -> Read:
    """words: from the model on."""
    assert all(isinstance(word, str) for word in words), words
    rest = list(words[1:])
    config = None
    if "--speculative-config" in rest:
        at = rest.index("--speculative-config")
        config = json.loads(rest[at + 1])
        del rest[at : at + 2]
    return Read(env, words[0], tuple(rest), config, document)


def vllm(text: str) -> Read:
    """As FlexibleArgumentParser.load_config_file reads it; the real one is asked in test_formats_real."""
    words = []
    document = yaml.safe_load(text)
    for key, value in document.items():
        assert value is not False and value is not None and not isinstance(value, dict), key
        items = value if isinstance(value, list) else [] if value is True else [value]
        words += [f"--{key}", *map(str, items)]
    assert words[0] == "--model"
    return _read(None, words[1:], document)


def command(text: str) -> Read:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        for program in ("vllm", "python"):
            (out / program).write_text(_FAKE)
            (out / program).chmod(stat.S_IRWXU)
        clean = {"PATH": f"{out}:{os.environ['PATH']}", "OUT": name}
        (out / "serve.sh").write_text(text, encoding="utf-8")
        subprocess.run(["/bin/sh", str(out / "serve.sh")], env=clean, check=True, capture_output=True)
        words = (out / "words").read_bytes().decode().split("\0")[1:-1]
        env = _variables((out / "env").read_bytes(), {*clean, "PWD", "_", "SHLVL", "OLDPWD"})
    start = 3 if words[0] == "-m" else 1
    return _read(env, words[start:])


def env(text: str) -> Read:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        script = f"set -a; . {file.name}; set +a; env -0"
        done = subprocess.run(
            ["/bin/sh", "-c", script], env={"PATH": os.environ["PATH"]}, check=True, capture_output=True
        )
    return Read(_variables(done.stdout, {"PATH", "PWD", "_", "SHLVL", "OLDPWD"}))


def docker_env(text: str) -> Read:
    """As Docker's CLI reads it: a line is cut at its first =, nothing is unquoted, # comments out whole lines alone."""
    found = {}
    for line in text.split("\n"):
        line = line.removesuffix("\r").lstrip()
        if line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals and not re.search(r"\s", name), line
            found[name] = value
    return Read(found)


def python(text: str) -> Read:
    tree = ast.parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    (call,) = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "LLM"]
    kwargs = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    variables = {
        ast.literal_eval(node.targets[0].slice): ast.literal_eval(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    }
    model, config = kwargs.pop("model"), kwargs.pop("speculative_config", None)
    return Read(variables, model, engine_flags(kwargs), config, kwargs)


def compose(text: str) -> Read:
    document = _document(text)
    (service,) = document["services"].values()
    variables = {
        name: _interpolated(value) for name, value in service.get("environment", {}).items() if value is not None
    }
    return _read(variables, [_interpolated(word) for word in service["command"]], document)


def kubernetes(text: str) -> Read:
    manifest, service = _document(text)
    return _pod(manifest["spec"]["template"]["spec"], [manifest, service])


def kserve(text: str) -> Read:
    document = _document(text)
    return _pod(document["spec"]["predictor"], document)


def production_stack(text: str) -> Read:
    """As the chart builds its command: vllm serve MODEL, its own switches, then extraArgs."""
    document = _document(text)
    (spec,) = document["servingEngineSpec"]["modelSpec"]
    config = spec["vllmConfig"]
    own = ["--enable-prefix-caching" if config["enablePrefixCaching"] else "--no-enable-prefix-caching"]
    own += ["--tensor-parallel-size", str(config["tensorParallelSize"])] if "tensorParallelSize" in config else []
    words = [spec["modelURL"], *own, *config["extraArgs"]]
    return _read(_container_env(spec["env"]), [*map(_expanded, words)], document)


def llm_d(text: str) -> Read:
    document = _document(text)
    (container,) = document["decode"]["containers"]
    filled_in = json.loads(json.dumps(container["env"]).replace("{{ `{{` }}", "{{")) if container.get("env") else []
    return _read(_container_env(filled_in), [*map(_expanded, container["args"])], document)


def ray_serve(text: str) -> Read:
    document = _document(text)
    (application,) = document["applications"]
    (llm,) = application["args"]["llm_configs"]
    kwargs = dict(llm["engine_kwargs"])
    config = kwargs.pop("speculative_config", None)
    variables = llm.get("runtime_env", {}).get("env_vars", {})
    return Read(variables, llm["model_loading_config"]["model_source"], engine_flags(kwargs), config, document)


READERS: Mapping[str, Callable[[str], Read]] = {
    "vllm": vllm,
    "command": command,
    "env": env,
    "docker-env": docker_env,
    "python": python,
    "compose": compose,
    "kubernetes": kubernetes,
    "kserve": kserve,
    "production-stack": production_stack,
    "llm-d": llm_d,
    "ray-serve": ray_serve,
}


def _pod(pod: Any, document: Any) -> Read:
    (container,) = pod["containers"]
    return _read(_container_env(container.get("env", [])), [*map(_expanded, container["args"])], document)


def _container_env(variables: list[Any]) -> dict[str, str]:
    return {one["name"]: _expanded(one["value"]) for one in variables if "value" in one}


def _expanded(text: str) -> str:
    """As Kubernetes expands arguments and variables where no variable is defined: $$ is $, an unknown $(X) stays."""
    assert isinstance(text, str), text
    assert re.search(r"(?<!\$)(?:\$\$)*\$\(", text) is None, f"would be expanded: {text}"
    return text.replace("$$", "$")


def _interpolated(text: str) -> str:
    """As Compose fills in variables: $$ is $, any other $ begins a variable or is an error."""
    assert isinstance(text, str), text
    assert "$" not in text.replace("$$", ""), f"would be filled in: {text}"
    return text.replace("$$", "$")


def _variables(printed: bytes, without: set[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in printed.decode().split("\0") if one]
    return {name: value for name, _, value in pairs if name not in without}
