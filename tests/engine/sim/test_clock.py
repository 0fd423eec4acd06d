from __future__ import annotations

import asyncio
import socket

from tuner.engine.sim.clock import exact_event_loop


def test_waits_are_not_rounded_up_to_milliseconds() -> None:
    async def lateness_s() -> float:
        now = asyncio.get_running_loop().time
        late = []
        for _ in range(40):
            due = now() + 0.0013
            await asyncio.sleep(due - now())
            late.append(now() - due)
        return min(late)  # on a busy machine others wait for their turn on a core; rounding delays each

    with asyncio.Runner(loop_factory=exact_event_loop) as runner:
        assert runner.run(lateness_s()) < 0.0004


def test_sockets_wake_the_loop() -> None:
    async def read() -> bytes:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.call_later(0.01, theirs.send, b"x")
        try:
            return await asyncio.wait_for(loop.sock_recv(ours, 1), timeout=120.0)
        finally:
            ours.close()
            theirs.close()

    with asyncio.Runner(loop_factory=exact_event_loop) as runner:
        assert runner.run(read()) == b"x"
