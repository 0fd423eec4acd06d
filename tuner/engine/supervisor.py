"""The small process that owns an engine's processes, so that none outlives the tuner, however the tuner ends.

Run as a script, with the standard library alone:  python -I -S supervisor.py < request

    owner (tuner, or a Ray worker) ── guard ── keeper ── engine ── EngineCore ── workers ...

The keeper is a child subreaper: whatever the engine starts, in whatever session, becomes its child when its own parent
dies, so "no child left" means that nothing is left. It stops the engine when told to, when its standard input ends
(the owner is gone: nobody else holds the other end) or when the engine ends by itself. The guard does the same for
the keeper: should the keeper be killed, the engine's processes fall to the guard; should the guard be killed, the
keeper hears of it by signal. It takes the death of both at one moment to leave an orphan.

The engine writes its log into the file itself, so nothing that reads it can hold the engine up. Of a log that grows
without end the keeper gives the middle back to the disk, and takes it out of the file when the engine is gone.

Standard input: one line of JSON {"command", "env", "sockets", "log_path", "grace_s", "owner"}, then nothing; its end
is the order to stop. "sockets" is a directory that goes with the engine.
Standard output: lines of JSON, {"event": "started", "pid"}, {"event": "failed", "error"}, {"event": "exited", "code"}
(negative: minus the signal), {"event": "lost"} (the keeper was killed) and {"event": "gone"} (nothing is left).
Its end means that guard and keeper are gone as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.5
LEAVE_S = 2.0
"""How long children may take to leave by themselves after the engine's main process ended on request."""
FALLOC_FL_KEEP_SIZE = 1
FALLOC_FL_PUNCH_HOLE = 2
LOG_PART_BYTES = 16 * 2**20
"""What is kept of a log's beginning, and of its end; a multiple of any file system's block."""
COPY_BYTES = 2**20
MEETING_FILE = re.compile(rb"distributed_init_method=file://(/\S+/vllm_dist_[0-9a-f]{32})\b")
"""Where vLLM's processes find each other, in the temporary directory; it stays there when they are killed."""


class Watch:
    """Waits for a child, a signal or the end of a file, whichever comes first. A TERM is remembered."""

    def __init__(self, fd: int | None = None) -> None:
        self.terminated = False
        self.ended = False
        self._fd = fd
        self._wake, wake_end = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        # Handlers, not SIG_IGN: an ignored signal stays ignored in the engine, a handled one is reset by exec.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGTERM, self._terminate)

    def _terminate(self, *_: object) -> None:
        self.terminated = True

    def wait(self, timeout_s: float) -> None:
        """Return when something happened, or after `timeout_s`."""
        fds = [self._wake] + ([self._fd] if self._fd is not None and not self.ended else [])
        ready, _, _ = select.select(fds, [], [], timeout_s)
        if self._wake in ready:
            os.read(self._wake, 4096)
        if self._fd in ready and not os.read(self._fd, 4096):
            self.ended = True


class Log:
    """The engine's log on the disk: its beginning and its end are kept, and never much more than that."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("r+b")
        self._freed = LOG_PART_BYTES

    def trim(self) -> None:
        """Give the blocks between beginning and end back; the file's length stays. Not every file system can (NFS)."""
        end = (os.fstat(self._file.fileno()).st_size // LOG_PART_BYTES - 1) * LOG_PART_BYTES
        if end > self._freed:
            libc = ctypes.CDLL(None, use_errno=True)
            begin, length = ctypes.c_int64(self._freed), ctypes.c_int64(end - self._freed)
            libc.fallocate(self._file.fileno(), FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, begin, length)
            self._freed = end

    def close(self) -> None:
        """Take the middle out, now that nobody writes any more. Whoever reads meanwhile has the old file or the new."""
        with self._file:
            left_out = os.fstat(self._file.fileno()).st_size - 2 * LOG_PART_BYTES
            if left_out <= 0:
                return
            temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
            try:
                with temporary.open("wb") as short:
                    self._copy(short, 0)
                    short.write(b"\n... %d bytes are left out here ...\n" % left_out)
                    self._copy(short, LOG_PART_BYTES + left_out)
                temporary.replace(self._path)
            except OSError:  # A full disk, say: the long file has the same two parts.
                temporary.unlink(missing_ok=True)

    def _copy(self, into: BinaryIO, begin: int) -> None:
        self._file.seek(begin)
        for done in range(0, LOG_PART_BYTES, COPY_BYTES):
            into.write(self._file.read(min(COPY_BYTES, LOG_PART_BYTES - done)))


def prctl(option: int, value: int) -> None:
    """Set a property of this process; raises OSError where Linux does not know it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) failed")


def report(event: str, **facts: object) -> None:
    """Tell the owner, if there still is one."""
    with contextlib.suppress(OSError):
        os.write(1, json.dumps({"event": event, **facts}).encode() + b"\n")


def reap(main: int) -> tuple[bool, int | None]:
    """Collect ended children: whether any child is left, and the status of `main` if it was among the ended."""
    status = None
    while True:
        try:
            pid, pid_status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, status
        if pid == 0:
            return True, status
        if pid == main:
            status = os.waitstatus_to_exitcode(pid_status)


def parents() -> dict[int, int]:
    """Return the parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name, in parentheses, may hold anything; state and parent follow the last one.
                found[int(entry.name)] = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
    return found


def descendants(root: int) -> list[int]:
    """Return every process below `root`."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def kill_all(watch: Watch) -> None:
    """Kill and collect until this process has no child left. What a dying process leaves becomes our child."""
    while reap(0)[0]:
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        watch.wait(0.05)


def stop(engine: int, grace_s: float, watch: Watch, log: Log) -> int | None:
    """Ask the engine's main process to end and give it time; return its exit code, None if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(engine, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    code = None
    while (left := deadline - time.monotonic()) > 0:
        some_left, status = reap(engine)
        if not some_left:
            return status if code is None else code
        if status is not None:
            code = status
            deadline = min(deadline, time.monotonic() + LEAVE_S)
        watch.wait(min(left, POLL_S))
        log.trim()
    return code


def keep(request: dict[str, object], guard: int) -> None:
    """Start the engine, wait until it ends or is to be stopped, and leave nothing of it."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    watch = Watch(fd=0)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != guard:
        return
    try:
        engine = start(request)
    except OSError as error:
        report("failed", error=str(error))
        return
    report("started", pid=engine)
    log = Log(Path(str(request["log_path"])))
    code = None
    while code is None and not (watch.ended or watch.terminated):
        watch.wait(POLL_S)
        log.trim()
        code = reap(engine)[1]
    if code is None:
        code = stop(engine, float(str(request["grace_s"])), watch, log)
    if code is not None:
        report("exited", code=code)
    kill_all(watch)
    log.close()
    report("gone")


def start(request: dict[str, object]) -> int:
    """Start the engine, its output into the log file; return its pid. A session of its own keeps group kills in it."""
    command, env = request["command"], request["env"]
    assert isinstance(command, list) and isinstance(env, dict)
    with Path(str(request["log_path"])).open("ab") as log:
        return subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        ).pid


def remove_files(request: dict[str, object]) -> None:
    """Remove what the engine has left elsewhere than in its log."""
    shutil.rmtree(str(request["sockets"]), ignore_errors=True)
    with contextlib.suppress(OSError), Path(str(request["log_path"])).open("rb") as log:
        for path in set(MEETING_FILE.findall(log.read(LOG_PART_BYTES))):
            Path(os.fsdecode(path)).unlink(missing_ok=True)


def guard(keeper: int, owner: int) -> None:
    """Wait for the keeper, tell it when the owner is gone, and finish its work if it was killed."""
    watch = Watch()
    status = None
    while status is None:
        # A pipe's end may have leaked into a forked child of the owner; the parent's pid tells the truth as well.
        if watch.terminated or os.getppid() != owner:
            with contextlib.suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGTERM)
        watch.wait(POLL_S)
        status = reap(keeper)[1]
    if status != 0:
        report("lost", code=status)
        kill_all(watch)
        report("gone")


def read_request() -> dict[str, object] | None:
    """Return the order on standard input, None if its writer died before it was complete."""
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(0, 65536)
        if not part:
            return None
        text += part
    request = json.loads(text)
    assert isinstance(request, dict)
    return request


def main() -> int:
    """Read the order, divide into guard and keeper."""
    request = read_request()
    if request is None:
        return 1
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    me = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        keep(request, me)
        remove_files(request)
        # Past this process' copy of the guard's frames: nothing of them is to run twice.
        os._exit(0)
    os.close(0)
    guard(keeper, int(str(request["owner"])))
    remove_files(request)  # for the case that the keeper was killed
    return 0


if __name__ == "__main__":
    sys.exit(main())
