"""Names of files are text in UTF-8, whatever the locale says."""

from __future__ import annotations

import os
import sys

_UTF8 = {"PYTHONUTF8": "1"}


def in_utf8() -> None:
    """Start this process anew in Python's UTF-8 mode where its locale has another encoding (PEP 540).

    There a path with other letters than English ones is no text that a record, a page or a URL could hold.
    """
    if sys.getfilesystemencoding() != "utf-8" and not _UTF8.items() <= os.environ.items():
        again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execve(again[0], again, {**os.environ, **_UTF8})  # noqa: S606 - no shell is wanted
