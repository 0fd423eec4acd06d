"""Where the files that come with this package are: package data in a wheel, the repository's folders in a checkout."""

from __future__ import annotations

from pathlib import Path


def shipped_dir(kind: str) -> Path:
    """Return the folder of shipped files of one kind, "eval_sets" or "search_spaces"."""
    package = Path(__file__).parents[1]
    packaged = package / "data" / kind
    return packaged if packaged.is_dir() else package.parent / kind


def shipped_names(kind: str, suffix: str) -> tuple[str, ...]:
    """Return the names, without `suffix`, of the shipped files of one kind, sorted."""
    return tuple(sorted(path.stem for path in shipped_dir(kind).glob(f"*{suffix}")))
