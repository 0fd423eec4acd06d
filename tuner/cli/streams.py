"""Standard streams that outlast their reader: no sweep of hours ends because a pager, a pipe or a terminal did."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

_READER_GONE = frozenset({errno.EPIPE, errno.EIO})


class _Lasting(io.FileIO):
    """A descriptor to write to. Once nobody reads it any more, it leads to nowhere, for whoever else writes there too.

    optional: what goes there may also be lost for want of space.
    """

    def __init__(self, descriptor: int, *, optional: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._optional = optional

    def write(self, data: Buffer) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno in _READER_GONE:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.fileno())
                os.close(nowhere)
            elif not (self._optional and error.errno in (errno.ENOSPC, errno.EDQUOT)):
                raise
            return memoryview(data).nbytes


def outlast_readers() -> None:
    """Make standard output and standard error of this process last; what is no descriptor is left as it is."""
    if (out := _lasting(sys.stdout, optional=False)) is not None:
        sys.stdout = out
    if (err := _lasting(sys.stderr, optional=True)) is not None:
        sys.stderr = err


def _lasting(stream: TextIO | None, *, optional: bool) -> TextIO | None:
    if not isinstance(stream, io.TextIOWrapper):
        return None
    try:
        descriptor = stream.fileno()
        stream.flush()
    except OSError:
        return None
    raw = _Lasting(descriptor, optional=optional)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=True)
