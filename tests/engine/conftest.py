"""A small HTTP server whose every byte a test decides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serving = Callable[[Mapping[str, Handler]], AbstractAsyncContextManager[str]]


@asynccontextmanager
async def _serving(handlers: Mapping[str, Handler]) -> AsyncIterator[str]:
    app = web.Application()
    for path, handler in handlers.items():
        app.router.add_route("*", path, handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
def serving() -> Serving:
    """`async with serving({path: handler}) as base_url` in the test's own event loop."""
    return _serving
