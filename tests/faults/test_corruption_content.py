"""Files of a run that are whole and say nothing of use: sealed with another content, or nested without end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.faults import small_machine
from tests.faults.matrix import Group, fault
from tests.faults.small_machine import KEEPING, tuner
from tuner.records import Json
from tuner.store import read_run
from tuner.store.codec import seal, unseal
from tuner.store.lock import HOLDER_FILE, RunLock

recorded, workshop = small_machine.recorded, small_machine.workshop

FILES = ("run.json", "summary.json", "last_sweep.json", ".status.json", HOLDER_FILE, "record.json")
READERS = (("status", "run"), ("report", "run"), ("compare", "run", "run"))
NESTED = (b"[" * 200_000, b'{"pid": ' + b"[" * 50_000 + b"]" * 50_000 + b"}")
OTHER: Json = [{"b": None}]
"""In the place of a value: something that JSON has and no field of these files."""


def contents(data: bytes) -> Iterator[bytes]:
    """Yield a file's content with one value after the other replaced, and one in each; sealed where it was sealed."""
    sealed = b'"sha256"' in data
    body: dict[str, Json] = unseal(data) if sealed else json.loads(data)

    def written(changed: Mapping[str, Json]) -> bytes:
        return seal(changed) if sealed else json.dumps(changed).encode()

    yield from NESTED
    yield written({})
    for name, value in body.items():
        yield written({**body, name: 7})
        if isinstance(value, dict):
            within: dict[str, Json] = value
            yield from (written({**body, name: {**within, inner: OTHER}}) for inner in within)


@fault(
    Group.CORRUPTION,
    "a file of a run is whole, its checksum too, but holds something else than it should, or nests without end",
    sees="each command uses the rest, or says in one message which file it cannot do without",
    keeps="the trials; the next `tuner sweep` goes on",
)
@pytest.mark.parametrize("name", FILES)
def test_whole_files_that_say_nothing_of_use_give_a_message(workshop: Path, name: str) -> None:
    run = workshop / "run"
    RunLock.acquire(run, "tuner sweep")  # what it wrote of its holder stays, as after SIGKILL
    (path,) = list(run.rglob(name))[:1]
    for content in contents(path.read_bytes()):
        path.write_bytes(content)
        for arguments in READERS:
            code, said = tuner(*arguments)
            assert code in range(5)
            assert code not in (2, 3) or name in said, (content[:200], said)
    code, said = tuner(*KEEPING)
    assert code == 0, said
    assert read_run(run)[0].broken == ()
