"""What to do where an answer is open: one step, with the command that does it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.records import Answer, Findings, Limit, RunManifest, Verdict

MOST = {Limit.LIVES: 32, Limit.REPEATS: 30, Limit.PROMPTS: 2000}
"""More than so many would take so long that another machine state is the better remedy."""
FEW_PROMPTS = 8
_QUIET = "Measure again in a new run directory when the machine is quiet"
_SPACE, _PROMPTS = "more.yaml", "more.jsonl"
"""Files that the reader is asked to write."""


@dataclass(frozen=True)
class NextStep:
    """what: in words, without a full stop.  command: for a shell, "" where the run does not tell how it was called."""

    what: str
    command: str = ""


def next_steps(findings: Findings, manifest: RunManifest, run: Path) -> tuple[NextStep, ...]:
    """Return the step for each answer that is open, each once."""
    found = (next_step(answer, findings, manifest, run) for answer in findings.answers)
    return tuple(dict.fromkeys(step for step in found if step is not None))


def next_words(step: NextStep) -> str:
    """Return the step in a line of Markdown."""
    return f"Next step: {step.what}: `{step.command}`" if step.command else f"Next step: {step.what}."


def next_step(answer: Answer, findings: Findings, manifest: RunManifest, run: Path) -> NextStep | None:
    """Return what would decide the answer, None where it is decided.

    run: its directory, as the command shall name it.
    """
    if answer.verdict is not Verdict.INCONCLUSIVE:
        return None
    called = _Called(manifest.repeat_with, run)
    if not findings.finished:
        return NextStep("Finish the sweep: what is measured is kept", called.line())
    fine = answer.resolution
    if fine is None and answer.runner_up is None and findings.failed:
        return NextStep("Mend what made the candidates fail and try them again", called.line("--retry-failed"))
    limit, needed = (Limit.PROMPTS, FEW_PROMPTS) if fine is None else (fine.limited_by, fine.needed)
    if limit is Limit.DRIFT or needed is None or needed > MOST[limit]:
        return NextStep(_QUIET, called.line(out=called.another))
    if limit is Limit.PROMPTS:
        return _more_prompts(answer, manifest, needed, called)
    most = {Limit.LIVES: ("max_lives", "lives"), Limit.REPEATS: ("max_repeats", "repeats")}[limit]
    now = max(getattr(manifest.protocol, name) for name in most)
    # Lives count in the run where they are missing; other repeats make other measurements, and another run.
    out = called.same if limit is Limit.LIVES else called.another
    return called.with_setting(manifest, f"protocol.{most[0]}: {max(needed, now + 1)}", out)


def _more_prompts(answer: Answer, manifest: RunManifest, needed: int, called: _Called) -> NextStep:
    points = [point for point in manifest.load_points if point.sampling.temperature == answer.temperature]
    there = min(manifest.prompts.get(point.eval_set, 0) for point in points)
    used = min(point.num_prompts or there for point in points)
    needed = max(needed, used + 1)
    if needed <= there:
        return called.with_setting(manifest, f"num_prompts: {needed}", called.another)
    what = f"Write an eval set of about {needed} prompts like yours to {_PROMPTS} and sweep with it"
    return NextStep(what, called.line("--eval-set", _PROMPTS, out=called.another))


@dataclass(frozen=True)
class _Called:
    """How the run was called.  command: () where that is not known."""

    command: Sequence[str]
    run: Path

    @property
    def same(self) -> str:
        """What --out has to be to go on in the run; with two engines each has a directory below it."""
        both = sum(word == "--engine" or word.startswith("--engine=") for word in self.command) > 1
        return _value(self.command, "--out") or str(self.run.parent if both else self.run)

    @property
    def another(self) -> str:
        """What --out may be for a new run beside it."""
        return f"{self.same.rstrip('/')}-2"

    def line(self, *more: str, out: str = "") -> str:
        """Return the command with other options in place of those that it had."""
        if not self.command:
            return ""
        options = [*more, "--out", out] if out else [*more]
        kept = list(self.command)
        for name in (word for word in options if word.startswith("--")):
            kept = _without(kept, name)
        return shlex.join([*kept, *options])

    def with_setting(self, manifest: RunManifest, setting: str, out: str) -> NextStep:
        """Return the step of measuring with another setting; a space that comes with the tuner is copied for it."""
        given = _value(self.command, "--space")
        if given.endswith((".yaml", ".yml")):
            return NextStep(f"Set {setting} in {given} and sweep again", self.line(out=out))
        copy = f"Copy the search space {manifest.space} from report.html to {_SPACE}"
        return NextStep(f"{copy}, set {setting} in it and sweep with it", self.line("--space", _SPACE, out=out))


def _value(command: Sequence[str], name: str) -> str:
    """Return what an option was given as last, "" where it was not given."""
    found = ""
    for word, after in zip(command, [*command, ""][1:], strict=True):
        if word == name:
            found = after
        elif word.startswith(f"{name}="):
            found = word.removeprefix(f"{name}=")
    return found


def _without(command: Sequence[str], name: str) -> list[str]:
    before = ["", *command]
    flag = name == "--retry-failed"
    return [
        word
        for previous, word in zip(before, command, strict=False)
        if word != name and not word.startswith(f"{name}=") and (flag or previous != name)
    ]
