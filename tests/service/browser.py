"""One headless Chromium, driven over its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE_S = 120.0
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0")


class Browser:
    """A tab.  complaints: what console and policy said since the last look."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._loaded = False
        self.complaints: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            message = await self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])

    async def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._socket.receive_json(timeout=PATIENCE_S)
        name, told = message.get("method", ""), message.get("params", {})
        if name == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif name == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]["text"]))
        elif name == "Runtime.consoleAPICalled":
            self.complaints.append(str(told["args"]))
        self._loaded = self._loaded or name == "Page.loadEventFired"
        return message

    async def look(self, url: str, *, theme: str, width: int, token: str = "") -> None:
        """Open a page and wait until it is there.  theme: what the system prefers, "light" or "dark"."""
        self.complaints, self._loaded = [], False
        for domain in ("Page", "Log", "Runtime", "Network"):
            await self.call(f"{domain}.enable")
        basic = base64.b64encode(f"reader:{token}".encode()).decode()
        await self.call("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {basic}"} if token else {})
        prefers = [{"name": "prefers-color-scheme", "value": theme}]
        await self.call("Emulation.setEmulatedMedia", features=prefers)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        await self.call("Page.navigate", url=url)
        while not self._loaded:
            await self._message()

    async def evaluate(self, expression: str) -> Any:
        """Return what an expression is in the page."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    async def screenshot(self, path: Path) -> None:
        """Keep the whole page as a picture."""
        found = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))


@asynccontextmanager
async def browsing(program: str, profile: Path) -> AsyncIterator[Browser]:
    """Start a browser for the length of the block."""
    process = subprocess.Popen(
        [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                (tab,) = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Browser(socket)
    finally:
        # Debian's is a script that starts the browser: the whole group has to go.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)


async def _port(file: Path) -> int:
    end_s = time.monotonic() + PATIENCE_S
    while not file.is_file() or not file.read_text().strip():
        assert time.monotonic() < end_s, "the browser did not start"
        await asyncio.sleep(0.1)
    return int(file.read_text().splitlines()[0])
