"""Write docs/gpu-results.md and its pictures from the recorded runs: `python -m tests.gpu_results`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image

from tests.gpu_results.page import DATA, RUNS, page, plots
from tuner.plots import save_plots
from tuner.report import analysed

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "gpu-results.md"
WIDTH, COLOURS = 1400, 64


def draw() -> None:
    """Draw each run's curves and heat map; one temperature, so one picture of each."""
    for run in RUNS:
        found = analysed(DATA / run.name, finished=False)
        with tempfile.TemporaryDirectory() as scratch:
            drawn = save_plots(
                found.findings, Path(scratch), subtitle=f"{run.name}, vLLM {found.manifest.engine_version}"
            )
            for name in plots(run):
                kind = name.removesuffix(".png").rsplit("-", 1)[-1]
                for path in drawn:
                    if path.name == f"{kind}-t0.png":
                        _copy_smaller(path, DOCS / "img" / name)


def _copy_smaller(drawn: Path, kept: Path) -> None:
    """A page in a repository needs no more pixels than a screen has, nor more colours than a chart."""
    with Image.open(drawn) as image:
        width = min(image.width, WIDTH)
        resized = image.convert("RGB").resize((width, round(image.height * width / image.width)))
        resized.quantize(COLOURS).save(kept, optimize=True)


if __name__ == "__main__":
    draw()
    PAGE.write_text(page(), encoding="utf-8")
