"""What was found, and the command that deploys it."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.metrics import worst_category
from tuner.analysis.wording import effect_words
from tuner.export.artifact_recommended import files_of, limit_advice, served, speculating
from tuner.page.given import Given
from tuner.page.view import Block, Code, Details, Points, Text, Tile
from tuner.page.view import Verdict as Card
from tuner.records import Answer, Verdict
from tuner.report_sections.schedule import schedule_headline
from tuner.report_sections.starting import ANY_PYTHON, measured_python, start_command
from tuner.words import full_label, times, verdict_words

TONES = {
    Verdict.SPECULATE: "yes",
    Verdict.SPECULATE_BELOW: "partly",
    Verdict.DO_NOT: "no",
    Verdict.INCONCLUSIVE: "open",
}
ENV = "serve.env"


def answer_blocks(given: Given) -> Iterator[Block]:
    """Yield a card for each temperature."""
    if not given.findings.finished:
        yield Text(given.words("not_finished"), banner=True)
    for answer in given.findings.answers:
        yield _card(given, answer)
    for step in given.next_steps:
        yield Code(step.what, step.command) if step.command else Text(f"{step.what}.")


def _card(given: Given, answer: Answer) -> Card:
    words = given.words
    notes = [line for line in schedule_headline(given.findings, answer.temperature) if line]
    worst = [(found[1].value or 0.0, load, *found) for load in answer.loads if (found := worst_category(load))]
    if worst:
        _, load, name, figure = min(worst, key=lambda one: one[0])
        notes.append(words("worst_category", load=load.load_point.label, name=name, speedup=times(figure), n=figure.n))
    return Card(
        tone=TONES[answer.verdict],
        headline=_capital(verdict_words(answer)),
        where=words("at_temperature", temperature=f"{answer.temperature:g}"),
        why=answer.why,
        tiles=tuple(_tiles(given, answer)),
        notes=tuple(note.replace("`", "") for note in notes),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tiles(given: Given, answer: Answer) -> Iterator[Tile]:
    words, objective = given.words, answer.objective
    if answer.best.speculation is not None and objective.value is not None:
        interval = ""
        if objective.low is not None and objective.high is not None:
            interval = words("interval", low=f"{objective.low:.2f}", high=f"{objective.high:.2f}")
        label = words("tile_speedup") if answer.up_to is None else words("tile_speedup_up_to", up_to=answer.up_to)
        yield Tile(label, f"{objective.value:.2f}x", interval)
        yield Tile(words("tile_draft"), answer.best.draft_name, answer.best.speculation.method)
        yield Tile(words("tile_k"), str(answer.best.k), words("tile_k_detail"))
    if answer.up_to is not None:
        below = "" if answer.below is None else words("tile_below", below=answer.below)
        yield Tile(words("tile_up_to"), str(answer.up_to), below)
    runner = answer.runner_up
    if runner is not None and runner.speculation is not None:
        yield Tile(words("tile_runner_up" if answer.best.k else "tile_nearest"), full_label(runner, given.names))
    yield Tile(words("tile_lives"), str(answer.lives), words("tile_one_life" if answer.lives == 1 else "tile_fresh"))
    if answer.resolution is not None:
        yield Tile(words("tile_smallest"), effect_words(answer.resolution.smallest_effect), words("tile_nine_of_ten"))


def deploy_blocks(given: Given) -> Iterator[Block]:
    """Yield the command for each temperature, and the files that it reads."""
    several = len(given.findings.answers) > 1
    yield Text(given.words("deploy_where"))
    for answer in given.findings.answers:
        files = files_of(given.findings, answer)
        best, _ = served(given.findings, answer)
        what = full_label(best, given.names)
        at = f" ({given.words('at_temperature', temperature=f'{answer.temperature:g}')})" if several else ""
        yield Code(given.words("deploy_command", what=what) + at, command(given, files.serve))
        shown = [files.serve]
        if answer.verdict is Verdict.SPECULATE_BELOW:
            yield Points(limit_advice(given.findings, answer))
            if best != answer.best:
                pays = full_label(answer.best, given.names)
                label = given.words("deploy_limited", what=pays, up_to=answer.up_to)
                yield Code(label + at, command(given, files.speculate))
            shown.append(files.speculate)
        if speculating(given.findings, answer) is not None:
            yield Code(given.words("deploy_back") + at, command(given, files.baseline))
        texts = [Code(name, given.files[name]) for name in (*shown, ENV) if given.files.get(name)]
        yield Details(given.words("deploy_files") + at, tuple(texts))


def command(given: Given, config: str, *, here: bool = True) -> str:
    """Return the shell command that starts an engine with a file of the run directory.

    here: whether it is read on the machine that measured.
    """
    python = measured_python(trial.record for trial in given.trials) if here else ANY_PYTHON
    start = start_command(given.manifest, config, python)
    return f"set -a; . ./{ENV}; set +a\n{start}" if given.manifest.env else start
