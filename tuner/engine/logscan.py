"""What an engine's log says: why it ended, which settings it changed by itself, how large its KV cache is.

The last line of a failed start is rarely the cause: an API server reports that "Engine core initialization failed"
and the cause stands hundreds of lines above, in the traceback of a child.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

HEAD_BYTES = 512 * 1024
TAIL_BYTES = 512 * 1024
QUIET = ("DEBUG", "INFO", "WARNING", "NOTE")
"""Levels of lines that never tell why an engine ended."""
MAX_CAUSE = 500
"""Characters of a cause that are kept."""
MAX_LINE = 8000
"""Characters of a line that are looked at: a dumped request may fill megabytes, and patterns cost more than that."""
MAX_TAIL_LINE = 2000

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIX = re.compile(r"\((?P<source>[^()\n]*?\b(?:pid|rank)=\d+[^()\n]*)\) ?")
_LEVEL = re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? \[[^\]]*\] ?")
_NOTE = re.compile(r"(?:\[rank\d+\]:)?\[[IW]\d{4} |\S+:\d+: \w*Warning: |(?:DEBUG|INFO|WARNING):\s")
"""Lines of C++, of Python's warnings and of uvicorn: none of them ends an engine."""
_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(
    r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Failure|Warning|Timeout|NotFound\w*)\b|[a-z_]\w*(\.\w+)+:"
)
_ORDINARY_SOURCE = "APIServer"
_WRAPPERS = re.compile(
    r"root cause|Engine core (?:proc\S* )?(?:initialization )?(?:failed|died)|EngineCore failed|EngineDeadError|"
    r"Engine process failed|WorkerProc initialization failed|^asyncio\.\S*CancelledError|^KeyboardInterrupt|"
    r"^SystemExit",
    re.IGNORECASE,
)
_FATAL = re.compile(
    r"(?:^|\s)error: \S|out of memory|CUDA error|Fatal Python error|Segmentation fault|terminate called|"
    r"Address already in use|No space left|^Killed\b|^Aborted\b|core dumped|: No module named ",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\boverrid(?:ing|den)\b|\bdisabling\b|\bwill be (?:disabled|ignored)\b|\bscheduling is disabled\b|\breducing\b|"
    r"\btruncating\b|\bdoes not (?:yet )?support\b|^(?>.*?\busing\b).*\binstead\b|\bfalling back\b|\bclamping\b|"
    r"\bcapping\b|^(?>.*?\bis set to\b).*\bbased on\b|^reset\b|\bsetting cudagraph_mode=",
    re.IGNORECASE,
)
_NOT_A_CHANGE = re.compile(r"^(?:non-default args|Initializing a\b)|^\[shutdown\]")
_KV_CACHE = re.compile(r"KV cache size: ([\d,]{1,20}) tokens")


@dataclass(frozen=True)
class Line:
    """One line of a log.

    source: the prefix that names a process, "" without one.  level: "" without one, "NOTE" for what libraries remark in
    forms of their own.
    """

    source: str
    level: str
    text: str


def read_log(path: Path, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> str:
    """Return a log's text, of a large one only its beginning and its end; "" if there is none.

    An engine's settings stand at the beginning, its end at the end, and a log may grow to gigabytes.
    """
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        size = path.stat().st_size
        if size <= head_bytes + tail_bytes:
            return file.read(head_bytes + tail_bytes).decode(errors="replace")
        head = file.read(head_bytes)
        file.seek(size - tail_bytes)
        tail = file.read(tail_bytes)
    return f"{head.decode(errors='replace')}\n...\n{tail.decode(errors='replace')}"


def printable(text: str) -> str:
    """Return a text that a terminal or a page may show: what is no visible character becomes "?"."""
    return "".join(char if char.isprintable() or char in "\n\t" else "?" for char in text)


def last_lines(log: str, count: int = 40) -> tuple[str, ...]:
    """Return the last `count` lines that are not empty, without colours."""
    lines = [line.rstrip()[:MAX_TAIL_LINE] for line in _ANSI.sub("", log).splitlines() if line.strip()]
    return tuple(map(printable, lines[-count:]))


def first_cause(log: str) -> str:
    """Return the line that most likely says why an engine ended; "" if nothing in the log does.

    In this order: the first exception of a child process, of the API server or of the interpreter that is not a mere
    report of another process' failure; a line known to be fatal; the first error line; such a report.
    """
    lines = parse_log(log)
    exceptions = list(_exceptions(lines))
    real = [e for e in exceptions if not _WRAPPERS.search(e.text)]
    fatal = [line for line in lines if line.level in ("", "ERROR", "CRITICAL") and _FATAL.search(line.text)]
    said = [line for line in lines if line.level in ("ERROR", "CRITICAL") and _says_something(line.text)]
    errors = [line for line in said if not _WRAPPERS.search(line.text)]
    of_children = [e for e in real if e.source and not e.source.startswith(_ORDINARY_SOURCE)]
    for found in (of_children, real, fatal, errors, exceptions, said):
        if found:
            return printable(found[0].text.strip()[:MAX_CAUSE])
    return ""


def changed_settings(log: str) -> tuple[str, ...]:
    """Return the messages in which the engine says that it changed a setting, each once, in order, without prefix."""
    found = (
        line.text.strip()
        for line in parse_log(log)
        if line.level in ("INFO", "WARNING") and _CHANGED.search(line.text) and not _NOT_A_CHANGE.search(line.text)
    )
    return tuple(dict.fromkeys(found))


def kv_cache_tokens(log: str) -> int | None:
    """Return how many tokens the KV cache holds, None if the log does not say; the smallest of several engines'."""
    sizes = [int(digits.replace(",", "")) for digits in _KV_CACHE.findall(log) if digits.strip(",")]
    return min(sizes, default=None)


def parse_log(log: str) -> list[Line]:
    """Return the lines of a log, without colours and prefixes."""
    return [_parse_line(line[:MAX_LINE]) for line in _ANSI.sub("", log).splitlines()]


def _parse_line(line: str) -> Line:
    prefix = _PREFIX.match(line)
    rest = line[prefix.end() :] if prefix else line
    level = _LEVEL.match(rest)
    unnamed = "NOTE" if _NOTE.match(rest) else ""
    return Line(
        source=prefix["source"] if prefix else "",
        level=level["level"] if level else unnamed,
        text=rest[level.end() :] if level else rest,
    )


def _says_something(text: str) -> bool:
    return bool(text.strip()) and not text.startswith(" ") and _TRACEBACK not in text


def _exceptions(lines: list[Line]) -> Iterator[Line]:
    """Yield the last line of each traceback, in order. Lines of several processes may be mixed."""
    texts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    heads: list[tuple[Line, int]] = []
    for line in lines:
        of_process = texts[line.source, line.level]
        of_process.append(line.text)
        if line.text.strip() == _TRACEBACK and line.level not in QUIET:
            heads.append((line, len(of_process)))
    for line, begin in heads:
        of_process = texts[line.source, line.level]
        if (found := _exception_of(of_process[i] for i in range(begin, len(of_process)))) is not None:
            yield Line(line.source, line.level, found)


def _exception_of(rest: Iterator[str]) -> str | None:
    """Return the exception below a traceback's head; `rest`: the following lines of the same process."""
    for text in rest:
        if text.strip() == _TRACEBACK:
            return None
        if text[:1].strip() and _EXCEPTION.match(text):
            return _with_detail(text, list(islice(rest, 2)))
    return None


def _with_detail(exception: str, following: list[str]) -> str:
    """Return a pydantic error as one line: the message without its input, after the name of what was validated."""
    if "validation error" not in exception:
        return exception
    what = exception.rpartition(" for ")[2]
    details: list[str] = []
    for text in following:
        details.append(re.sub(r"\s*\[type=.*", "", text).strip())
        if "[type=" in text:
            break
    return f"{what}: {': '.join(detail for detail in details if detail)}"
