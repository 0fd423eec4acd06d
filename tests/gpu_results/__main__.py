"""Write docs/gpu-results.md and its pictures from the recorded runs: `python -m tests.gpu_results`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image

from tests.gpu_results.page import IMAGES, Run, page, plots, results
from tuner.plots import save_plots
from tuner.report import Analysed

PAGE = IMAGES.parent / "gpu-results.md"
WIDTH, COLOURS = 1400, 64


def draw(run: Run, found: Analysed) -> None:
    """Draw a run's curves and heat map; one temperature, so one picture of each."""
    with tempfile.TemporaryDirectory() as scratch:
        save_plots(found.findings, Path(scratch), subtitle=f"{run.name}, vLLM {found.manifest.engine_version}")
        for kind, name in plots(run).items():
            drawn = Path(scratch) / f"{kind}-t0.png"
            if drawn.is_file():
                _copy_smaller(drawn, IMAGES / name)


def _copy_smaller(drawn: Path, kept: Path) -> None:
    """A page in a repository needs no more pixels than a screen has, nor more colours than a chart."""
    with Image.open(drawn) as image:
        width = min(image.width, WIDTH)
        resized = image.convert("RGB").resize((width, round(image.height * width / image.width)))
        resized.quantize(COLOURS).save(kept, optimize=True)


if __name__ == "__main__":
    found = results()
    for run, of_run in found:
        draw(run, of_run)
    PAGE.write_text(page(found), encoding="utf-8")
