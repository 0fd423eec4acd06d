"""What the operating system refused, told as people can use it: which file, and what to do."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from tuner.errors import OutputError

_AGAIN = "then call the same command again: what is measured is kept."
_HINTS = {
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): f"Free space there, {_AGAIN}",
    (errno.EACCES, errno.EPERM, errno.EROFS): f"Give yourself the right to it, or name another place, {_AGAIN}",
    (errno.EMFILE, errno.ENFILE): f"Allow more open files (ulimit -n 1024), {_AGAIN}",
    (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ESTALE): f"Put right what is there, {_AGAIN}",
    (errno.ENAMETOOLONG,): "Give a shorter path.",
    (errno.EIO, errno.ENOMEM, errno.ENXIO): f"Look after the machine (dmesg), {_AGAIN}",
}


def output_refused(error: OSError) -> bool:
    """Whether it was standard output that took no more; what is left for it then goes nowhere."""
    if error.filename is not None:
        return False
    with suppress(OSError, ValueError), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return True


def refused(error: OSError) -> OutputError | None:
    """Return what to tell; None where it is no refusal of a file, but a fault of ours that has to be seen."""
    hint = next((hint for numbers, hint in _HINTS.items() if error.errno in numbers), None)
    if hint is None or error.errno is None:
        return None
    where = "standard output" if error.filename is None else os.fsdecode(error.filename)
    return OutputError(f"{where}: {os.strerror(error.errno)}", hint)
