"""docs/scale.md, made from the result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
REAL_TRIAL_S = 120.0
"""A short trial on an H200: an engine start of 71 to 111 s, and its load."""
PAPER = 1000
WHOLE = 1900
Result = Mapping[str, Any]


def write_page(result: Result, page: Path = PAGE) -> None:
    """Write the page."""
    page.write_text("\n".join(lines(result)) + "\n", encoding="utf-8")


def lines(found: Result) -> list[str]:
    """Return the page's lines."""
    answer, load = found["answer"], " to ".join(f"{one:g}" for one in found["machine_load"])
    return [
        "# How large a sweep can be",
        "",
        "`make bench-scale` runs the product's own loop, store, Optuna study in SQLite and scheduler with simulated",
        "engines in process. Trials take virtual time; all the driver does is charged to it second by second.",
        "`ARGS=--keep` writes [scale.json](scale.json) and this page.",
        "",
        f"Commit {found['commit']}, {found['cores']} cores with a load of {load} from other work, {found['wall_s']} s.",
        *_short_of(found),
        "",
        "| | |",
        "|---|---:|",
        f"| workers, trials, requests | {found['workers']}, {found['trials']:,}, {found['requests']:,} |",
        f"| a trial takes (virtual) | {found['trial_s']:g} s |",
        f"| workers busy until the search ends | {100 * found['utilisation']:.1f} % |",
        f"| the same if a step took its CPU time alone | {100 * found['utilisation_by_cpu']:.1f} % |",
        f"| the driver's step for a trial, near the end: CPU | {found['step_ms_p50']:g} ms |",
        f"| the same by the clock, with that load | {found['step_wall_ms_p50']:g} ms |",
        f"| memory of the driver at the end | {found['rss_mb']} MB |",
        f"| its growth from a quarter of the trials on | {found['rss_kb_per_trial']:g} kB a trial |",
        f"| times that all trials were read while searching | {found['reads_of_all_trials']} |",
        "",
        "Medians of CPU: "
        + ", ".join(f"{name} {value:g} ms" for name, value in found["parts_ms_p50"].items() if value)
        + ". CPU of a step after so many trials: "
        + ", ".join(f"{trials}: {value:g} ms" for trials, value in found["step_ms_at"].items())
        + ".",
        "",
        f"Smaller sweeps with answers, {answer['workers']} workers: the report of {answer['trials'][0]} trials takes",
        f"{answer['report_s'][0]:g} s of CPU, that of {answer['trials'][1]} trials {answer['report_s'][1]:g} s:"
        f" {answer['report_ms_per_trial']:g} ms for each further trial.",
        f"Each adds {answer['fresh_life_ms_per_trial']:g} ms to planning a fresh life.",
        "",
        "Every request is in Parquet; the driver keeps records, and of each device and set of engine arguments the",
        "requests of the last baseline. Memory grows with trials, not with requests.",
        "",
        f"## {PAPER:,} workers, on paper",
        "",
        *_paper(found),
    ]


def _short_of(found: Result) -> list[str]:
    """Return what keeps these figures from being those of a quiet machine and a whole run."""
    missed = [name for name, met in found["bars"].items() if not met]
    said = []
    if max(found["machine_load"]) > found["cores"]:
        said.append(
            "Other work shared the cores: figures by the clock, and how busy workers were, are far worse by that."
        )
    if found["trials"] < WHOLE:
        said.append(f"This run has fewer than {WHOLE:,} trials; its last, half-empty round weighs more.")
    return said + ([f"Bars missed in it: {', '.join(missed)}. Run it on a quiet machine."] if missed else [])


def _paper(found: Result) -> list[str]:
    answer, half = found["answer"], REAL_TRIAL_S / 2 / (found["step_ms_p50"] / 1e3)
    report_ms, fresh_ms = answer["report_ms_per_trial"], answer["fresh_life_ms_per_trial"]
    trials = PAPER * found["trials"] // found["workers"]
    return [
        f"Not measured: worked out from the figures above, for trials of {REAL_TRIAL_S:g} s and {trials:,} of them.",
        "",
        f"1. **The driver's loop**: half busy at {half:,.0f} workers, if a step costs what it does here. Nothing in it"
        " reads what runs or all requests; most of it is the analysis of the one trial, and the small transactions in"
        " which Optuna keeps a trial's attributes one by one.",
        f"2. **The report**: about {report_ms * trials / 6e4:.0f} minutes for {trials:,} trials,"
        f" {report_ms * 2000 / 6e4:.1f} for 2,000, and it holds all their requests in memory. To do: figures of single"
        " lives kept beside the records, so that a report reads only the finalists' requests.",
        f"3. **Planning a fresh life**: {fresh_ms * trials / 1e3:.0f} s at {trials:,} trials. To do: the same kept"
        " figures.",
        "4. **SQLite**: one writer is enough, since only the driver writes; its part is within the loop's. With several"
        " drivers `--storage postgresql://...`.",
        "5. **Baselines**: each device measures its own for each set of engine arguments, so that with"
        f" {PAPER:,} devices a set costs {PAPER:,} engine starts before its first figure. To do: a few devices a set.",
        "6. **Ray's head** and **record files**: a job and a small result a trial, a directory a trial; neither was"
        " measured at this size.",
    ]
