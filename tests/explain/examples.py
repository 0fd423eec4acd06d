"""The runs whose explanations are golden files.  `python -m tests.explain.examples` writes the files again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.conftest import build_trial
from tuner.explain import explained, explained_text, read_facts
from tuner.records import LoadPoint, Protocol, Role, RunManifest, Trial
from tuner.report import manifest_json
from tuner.store import RunStore

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parents[1] / "golden" / "explain"
RECORDED = ("h200-14b-grid", "h200-7b-lives")
LANGUAGES = ("en", "zh")
ONE, EIGHT, BUSY = (LoadPoint(eval_set="chat", concurrency=c, max_tokens=33) for c in (1, 8, 32))
LOADS = (ONE, EIGHT, BUSY)


def step(k: int, load: LoadPoint) -> float:
    """Return the length of a step of K tokens, in plain steps."""
    return 1 + k * (0.12 + 0.02 * (load.concurrency - 1)) if k else 1.0


def tpot(k: int, accepted: float, life: int = 0) -> Callable[[LoadPoint, int, int], float]:
    """Return TPOT in seconds of a draft whose every token is accepted with probability `accepted`."""
    tokens = sum(accepted**i for i in range(k + 1))
    return lambda load, prompt, repeat: (
        0.02 * step(k, load) / tokens * (1 + 0.004 * prompt * (k + 1) + 0.001 * repeat + 0.003 * (life % 3))
    )


def simulated_trials() -> list[Trial]:
    """Return a sweep of a good draft that pays up to 8 requests, a weak one, a K that failed, and fresh lives."""
    good: dict[int, dict[str, Any]] = {
        k: {"tpot": tpot(k, 0.8), "acceptance": [0.8 ** (i + 1) for i in range(k)]} for k in (1, 3, 4, 8)
    }
    single = [
        build_trial(0, tpot=tpot(0, 0.0), loads=LOADS, kv_cache_tokens=90_000),
        build_trial(1, k=8, loads=LOADS, kv_cache_tokens=70_000, **good[8]),
        build_trial(2, k=3, loads=LOADS, kv_cache_tokens=75_000, **good[3]),
        build_trial(3, k=4, loads=LOADS, kv_cache_tokens=75_000, **good[4]),
        build_trial(4, k=3, draft="weak", loads=LOADS, tpot=tpot(3, 0.3), acceptance=[0.3, 0.09, 0.027]),
        build_trial(5, k=5, draft="weak", loads=LOADS, failure="EngineCrashed: out of memory"),
        build_trial(6, tpot=tpot(0, 0.0, 1), loads=LOADS, role=Role.BASELINE_AGAIN),
    ]
    arms: tuple[tuple[int, dict[str, Any]], ...] = ((0, {}), (3, good[3]), (4, good[4]))
    finals = [
        build_trial(
            7 + 3 * life + place,
            k=k,
            loads=LOADS,
            final_round=life,
            **{**facts, "tpot": tpot(k, 0.8 if k else 0.0, life + (k == 4))},
        )
        for life in range(4)
        for place, (k, facts) in enumerate(arms)
    ]
    return [*single, *finals]


def simulated_manifest(trials: list[Trial]) -> RunManifest:
    candidates = [build_trial(k=k).record.candidate.key for k in (0, 1, 2, 3, 4, 6, 8)]
    keys = dict.fromkeys([*candidates, *(trial.record.candidate.key for trial in trials)])
    return RunManifest(
        target="org/target",
        space="example",
        space_source="",
        engine_version="0.32.0",
        engine_build="sim",
        load_points=LOADS,
        protocol=Protocol(lives=4, max_lives=4),
        inflection_threshold=0.01,
        prompts={"chat": 6},
        tuner_version="1",
        candidates=tuple(keys),
        draft_ks={"good": (1, 2, 3, 4, 6, 8), "weak": (3, 5)},
        repeat_with=("tuner", "sweep", "org/target", "--engine", "sim"),
    )


def write_simulated(path: Path) -> Path:
    trials = simulated_trials()
    with RunStore.open(path, {"engine": {"version": "0.32.0"}}, manifest_json(simulated_manifest(trials))) as store:
        for trial in trials:
            store.save(trial)
        store.finish({"verdict": "as analysed"})
    return path


def runs(directory: Path) -> dict[str, Path]:
    """Return the runs by name; the simulated one is written into `directory`."""
    recorded = {name: ROOT / "tests" / "data" / name for name in RECORDED}
    return {"simulated": write_simulated(directory / "simulated"), **recorded}


def texts(run: Path) -> dict[str, str]:
    """Return the explanation in each language, with RUN in place of where the run lies: its length breaks lines."""
    found = explained(replace(read_facts(run), run=Path("RUN")))
    return {language: explained_text(found, language) for language in LANGUAGES}


def main() -> None:
    """Write the golden files."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for name, run in runs(Path(directory)).items():
            for language, text in texts(run).items():
                (GOLDEN / f"{name}.{language}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
