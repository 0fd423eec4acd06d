"""An event loop whose timers are exact to tens of microseconds."""

from __future__ import annotations

import asyncio
import select
import selectors


class ExactSelector(selectors.EpollSelector):
    """Waits with select on the epoll descriptor itself: epoll alone rounds every wait up to whole milliseconds."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, after at most `timeout` seconds (None: for ever)."""
        if timeout is not None and timeout > 0:
            select.select([self.fileno()], [], [], timeout)
            timeout = 0
        return super().select(timeout)


def exact_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop with exact timers."""
    return asyncio.SelectorEventLoop(ExactSelector())
