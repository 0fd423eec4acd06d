"""Where the results of the long proofs are kept: a document with a part for each, and a page of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.measured_commit import measured_commit
from tuner.records import Json

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults-kills.json"
PAGE = DOCUMENT.with_suffix(".md")
_ABOUT = """# Sweeps that are killed and stopped

Written by `python -m tests.faults.kills --keep` and `python -m tests.faults.stops --keep` from
[faults-kills.json](faults-kills.json). A sweep is ended at random moments, each time in the session that goes on from
the time before, until it is left alone to end. After each kill no finished trial may be lost or measured again and no
process be left; at the end no file either, and the decisions must be those of a sweep that nobody disturbed.

Figures are by the wall clock of a machine that may be busy, with simulated engines too. Their steps are so long and the
drafts so different (three times as fast, half as fast) that this cannot turn a decision: a decision that differs is a
fault. Acceptance must be the same to the token. Of real engines, which see a few prompts in one life, verdicts are
compared where both sweeps come to one; candidates and acceptance always.

| | ended | sweeps | ran to its end | at which moments | wrong | all gone within | verdicts (undisturbed) | commit |
|---|---|---|---|---|---|---|---|---|
"""


def result_of(bench: str, wrong: Sequence[str], wall_s: float, ended: bool, /, **figures: Json) -> dict[str, Json]:
    """Return what each of the proofs says, with figures of its own.  ended: whether it ran to its end."""
    return {
        "bench": bench,
        "ok": not wrong,
        "ended_by_itself": ended,
        **figures,
        "wrong": list(wrong),
        "wall_s": round(wall_s),
        "commit": measured_commit(),
    }


def spread_of(times_s: Sequence[float]) -> dict[str, Json]:
    """Return median and longest, seconds; 0 where there is none."""
    ordered = sorted(times_s) or [0.0]
    return {"median": round(ordered[len(ordered) // 2], 1), "longest": round(ordered[-1], 1)}


def conclude(root: Path, result: dict[str, Json]) -> int:
    """Print the result and return the exit code; what was swept stays in `root` only if something of it is wrong."""
    if result["ok"]:
        shutil.rmtree(root)
    print(json.dumps(result))
    return 0 if result["ok"] else 1


def keep(part: str, result: dict[str, Json]) -> None:
    """Write one part; the others stay.  A result may have a `note`: why it did not run to its end."""
    kept = json.loads(DOCUMENT.read_text()) if DOCUMENT.exists() else {}
    kept[part] = result
    DOCUMENT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(as_page(kept))


def as_page(kept: dict[str, Any]) -> str:
    """Return the page of these parts."""
    return _ABOUT + "".join(f"{_row(part, result)}\n" for part, result in sorted(kept.items()))


def _row(part: str, result: dict[str, Any]) -> str:
    bench = result["bench"]
    gone_s = result["gone_within_s" if bench == "kills" else "ended_within_s"]
    cells = (
        part.replace("_", ", "),
        f"{result[bench]} of {result['asked']} {bench}",
        result["sweeps"],
        "yes" if result["ended_by_itself"] else result.get("note", "no"),
        _counted(result["moments"]),
        "; ".join(result["wrong"]) or "nothing",
        f"{gone_s['median']:g} s (median), {gone_s['longest']:g} s (longest)",
        f"{_counted(result['verdicts'])} ({_counted(result['verdicts_undisturbed'])})" if bench == "kills" else "",
        result["commit"],
    )
    return f"| {' | '.join(map(str, cells))} |"


def _counted(words: dict[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in words.items() if count)
